# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Finds the frames in what a session has written for a broker."""

from libc.stdint cimport uint8_t

from bifrost.wire.reader cimport be32


def cut_frames(list segments not None):
    cdef list frames = [], frame = []
    cdef Py_ssize_t left = 0, size, at, n
    cdef const uint8_t[::1] view
    for segment in segments:
        view = segment
        size, at = view.shape[0], 0
        while at < size:
            if not left:
                if size - at < 4:
                    raise ValueError("the length of a frame lies in two segments")
                left = 4 + <Py_ssize_t>be32(&view[at])
            n = min(left, size - at)
            frame.append(segment if n == size else memoryview(segment)[at:at + n])
            at += n
            left -= n
            if not left:
                frames.append(frame)
                frame = []
    if left:
        raise ValueError("the last frame is not whole")
    return frames
