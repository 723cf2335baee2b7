# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Unpacks gzip by zlib, as Java does, so that both refuse the same streams.

cramjam's inflate takes a reference to before the start of the data for zeros. zlib and Java refuse it (RFC 1951,
section 2), and a batch must not be read here in another way than by the consumers of a plain Kafka.

zlib gives new bytes for each call, which are copied to their place; the steps keep what stands in both small. There may
be a pause behind each (wire/steps.pyx): a batch of 16 KiB can hold 16 MiB, which take 60 ms.
"""

import zlib

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from bifrost.records.codec.errors import CorruptBatch

from bifrost.wire.steps cimport python_step

cdef enum:
    PACKED_STEP = 64 * 1024
    UNPACKED_STEP = 256 * 1024
    STEP_ROUNDS = 1000     # a step takes up to 1 ms
    # Clients write one. Each costs 1 µs or more of Python, and a request of 1 MiB has room for 58,000 empty ones.
    MOST_MEMBERS = 64

cdef object decompressobj = zlib.decompressobj
cdef object zlib_error = zlib.error
cdef int GZIP_BITS = 16 + zlib.MAX_WBITS

cdef int64_t inflate_into(object packed, uint8_t* out, Py_ssize_t size) except -1:
    """Unpack all members into `out` and return how many bytes they are; TOO_SMALL: more than `size`."""
    cdef object source = memoryview(packed), member = None, piece
    cdef bytes unpacked
    cdef Py_ssize_t pos = 0, end = len(source), done = 0, got
    cdef int members = 0
    try:
        while pos < end:
            if member is None:
                members += 1
                if members > MOST_MEMBERS:
                    raise CorruptBatch(f"gzip: more than {MOST_MEMBERS} members")
                member = decompressobj(GZIP_BITS)
            piece = source[pos : pos + PACKED_STEP]
            pos += len(piece)
            while len(piece):
                # One byte more than there is room for tells whether there are more. 0 would be no limit.
                unpacked = member.decompress(piece, min(size - done + 1, UNPACKED_STEP))
                got = PyBytes_GET_SIZE(unpacked)
                if got > size - done:
                    return TOO_SMALL
                memcpy(out + done, PyBytes_AS_STRING(unpacked), got)
                done += got
                python_step(STEP_ROUNDS)
                if member.eof:
                    pos -= len(member.unused_data)
                    member = None
                    break
                piece = member.unconsumed_tail
    except zlib_error:
        raise CorruptBatch("gzip: the compressed records are malformed") from None
    if member is not None:
        raise CorruptBatch("gzip: cut off")
    return done
