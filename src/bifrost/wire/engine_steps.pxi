"""Long work in steps: every loop over a frame counts its rounds here, and may be paused. Part of engine.pyx.

One request may name a hundred thousand things, and no other client is served while the engine walks over them. So loops
count their rounds in `Reader.steps`, and when a number of them is used up one of three things happens:

    on the hot path (`hot`)       the walk ends, as for any unusual frame: the session looks at it
    while `set_pause` is set      what was set is called; it may switch to other work and come back later
    else                          nothing: the caller waits for the result

A pause is only safe because the stack comes back unchanged (greenlet): nothing else keeps a pointer into it.
"""

cdef enum:
    HOT_STEPS = 8192     # of one frame: half a millisecond
    PAUSE_STEPS = 64     # between two looks at the clock: some 10 us, of Python code up to 100
    RELEASED = 16        # elements of a list that are freed at once
    MISS_STEPS = 64      # what a name costs that is in no table: Python code decides about it

cpdef enum:
    ITEM_NS = 1000       # what a broker takes for an item of a request, about

cdef object on_pause = None
cdef int64_t pause_steps = PAUSE_STEPS
cdef int64_t python_steps = PAUSE_STEPS

def set_pause(pause):
    """Make long work call `pause` regularly; None: it never pauses."""
    global on_pause
    on_pause = pause

def set_pause_steps(int64_t steps=PAUSE_STEPS):
    """Call so often: after that many rounds."""
    global pause_steps, python_steps
    pause_steps = python_steps = steps

cdef int out_of_steps(Reader* r) except -1:
    """Go on, after a pause where there may be one; 1: no further here."""
    if r.hot:
        return 1
    r.steps = pause_steps
    if on_pause is not None:
        on_pause()
    return 0

cdef inline int step(Reader* r) except -1:
    r.steps -= 1
    return out_of_steps(r) if r.steps < 0 else 0

cdef inline int python_step() except -1:
    """One round of a loop that has no reader."""
    global python_steps
    python_steps -= 1
    if python_steps < 0:
        python_steps = pause_steps
        if on_pause is not None:
            on_pause()
    return 0


def in_steps(items not None):
    """Yield the items of a list; the Python code that handles them may be paused between two items."""
    cdef object item
    for item in items:
        python_step()
        yield item
