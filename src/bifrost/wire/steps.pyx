# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Long work in steps: every loop over a frame counts its rounds, and may be paused.

One request may name a hundred thousand things, and no other client is served while code walks over them. So loops
count their rounds, those over bytes in `Reader.steps`, and when a number of them is used up one of three things happens:

    on the hot path (`hot`)       the walk ends, as for any unusual frame: the session looks at it
    while `set_pause` is set      what was set is called; it may switch to other work and come back later
    else                          nothing: the caller waits for the result

A pause is only safe because the stack comes back unchanged (greenlet): nothing else keeps a pointer into it.

What a library does in one call has no loop of ours. If it does not hold Python's lock meanwhile, it is called in another
thread, and the work that needs its result pauses until it is there (`done_aside`).
"""

from libc.stdint cimport int64_t

cdef enum:
    PAUSE_STEPS = 64     # between two looks at the clock: some 10 us
    ITEM_ROUNDS = 4      # of an item in a loop of Python code, which takes some microseconds each

cdef object on_pause = None
cdef object begin_aside = None
cdef int64_t pause_steps = PAUSE_STEPS
cdef int64_t python_steps = PAUSE_STEPS

def set_pause(pause):
    global on_pause
    on_pause = pause

def set_aside(begin):
    global begin_aside
    begin_aside = begin

def set_pause_steps(int64_t steps=PAUSE_STEPS):
    global pause_steps, python_steps
    pause_steps = python_steps = steps

cdef int64_t steps_to_pause() noexcept:
    return pause_steps

cdef int pause() except -1:
    """Call what was set, if something was."""
    if on_pause is not None:
        on_pause()
    return 0

cdef int python_step(int64_t rounds=1) except -1:
    """One round of a loop that has no reader, or one that stands for several."""
    global python_steps
    python_steps -= rounds
    if python_steps < 0:
        python_steps = pause_steps
        pause()
    return 0

cdef object done_aside(object call):
    """What `call` returns. It has ended in any case, so it may use memory of the caller's."""
    cdef object begun
    if begin_aside is None or on_pause is None:
        return call()
    begun = begin_aside(call)
    try:
        while not begun.wait():
            pause()
    finally:
        begun.end()
    return begun.result()

def in_steps(items not None, int64_t rounds=ITEM_ROUNDS):
    cdef object item
    for item in items:
        python_step(rounds)
        yield item


def let_go(items not None):
    """Empty a list or a dict that nothing uses any more, item by item."""
    cdef list of_list
    if isinstance(items, list):
        of_list = <list>items
        while of_list:
            of_list.pop()
            python_step()
    else:
        while items:
            items.popitem()
            python_step()
