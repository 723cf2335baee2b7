# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Memory for an answer that is put together of several brokers' answers: it takes over the room that these have.

    answers of brokers, each with room ──▶ one block, with the room of all ──written──▶ the room is given back

So what a client does not read is counted in the tenant's room (`forwarding/room.pyx`) until its memory is free, and no
answer has to wait for room before it is put together: the memory of those that it is made of goes at the same time.
"""

from bifrost.wire.framer cimport Block, MemoryLimit
from bifrost.wire.window cimport owner_of


cdef Block memory_of(list frames, Py_ssize_t size, MemoryLimit room):
    cdef Block made = Block(size), block
    cdef Py_ssize_t inherited = 0
    for frame in frames:
        owner = owner_of(frame)
        if not isinstance(owner, Block):
            continue
        block = <Block>owner
        if block.room is not None and block.is_answer and (room is None or block.room is room):
            room, block.room = block.room, None
            inherited += block.size
    if room is not None:
        if inherited > size:
            room.give_back(inherited - size, True)
        else:
            room.hold(size - inherited, True)
        made.room, made.is_answer = room, True
    return made
