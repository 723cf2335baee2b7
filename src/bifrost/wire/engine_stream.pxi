"""Large frames that are forwarded while they still arrive. Part of engine.pyx.

A frame's length stands before it, so it can go out before it is whole once nothing that comes can change its size:
when what is left is one long field, the records of its last partition, and empty tagged fields behind. That is what
most large frames are: a Produce request or a Fetch response of one partition. All others are held until they are whole.

    head: rewritten, with the new length ──▶ the field, piece by piece ──▶ tail: as many zeros as tagged fields
"""

cdef Py_ssize_t tail_behind(Program program, int i, Level* level, Level* stack) noexcept:
    """How many bytes follow if all that follows is empty tagged fields; -1: more does, or may."""
    cdef Py_ssize_t tail = 0
    cdef Op* op
    while True:
        op = &program.ops[i]
        i += 1
        if op.kind == TAGS:
            tail += 1
        elif op.kind != END:
            return -1
        elif level == stack:
            return tail
        elif level.tags >= 0 or level.left > 1:
            return -1
        else:
            # The array's last element: its END is followed by what comes behind the array.
            level -= 1


def open_stream(Program program not None, frame, Py_ssize_t start, Py_ssize_t whole, Names names not None,
                list out not None):
    """Rewrite the head of a frame of `whole` bytes, of which `frame` is the beginning, into `out`.

    Returns the length of the zeros at its end; None, and nothing was done: the frame has to be whole first.
    """
    cdef Reader r
    cdef list segments
    open_frame(frame, start, &r)
    r.whole = whole
    try:
        segments = rewrite_head(program, frame, &r, names, None)
        if segments is None:
            return None
        out += segments
        return r.tail
    finally:
        close_frame(&r)


cdef list rewrite_head(Program program, object frame, Reader* r, Names names, bytes client_prefix):
    """As `rewrite_body`; r.tail says how many zeros end the frame."""
    cdef Output out
    cdef list segments = []
    cdef Py_ssize_t size
    open_output(&out)
    out.segments = <PyObject*>segments
    out.owner = <PyObject*>frame if r.own else NULL
    out.copied = out.sent = 0
    try:
        put_be(&out, 0, 4)
        try:
            if client_prefix is not None:
                put_client_id(r, &out, client_prefix)
            if walk(program, r, &out, names) != OPEN:
                return None
        except MalformedFrame:
            return None  # Perhaps only a part of it has arrived; else it fails again when it is complete.
        copy_run(r, &out, r.end)
        cut(&out)
        size = out.sent - 4 + r.whole - r.end
        if size > 0x7FFFFFFF:
            return None
        write_size(<uint8_t*>PyBytes_AS_STRING(segments[0]), size)
        return segments
    finally:
        Py_XDECREF(out.heap)


cdef bint stream_request(Forwarding session, object frame, Reader* r) except -1:
    """Begin to send a request on; False: it has to be whole first."""
    cdef Lane lane = admitted_lane(session._lanes, frame, r, session._client_id_prefix, session._admits_request)
    cdef Py_ssize_t start = r.pos
    cdef int64_t began_ns = clock_ns()
    cdef list segments
    if lane is None:
        return False
    segments = rewrite_head(lane.passage.request, frame, r, <Names?>session._to_physical, session._client_id_prefix)
    if segments is None:
        return False
    session.to_broker += segments
    session.passing_lane, session.request_bytes = lane, r.whole + 4
    session.passing_request = await_answer(lane, r, start, began_ns, clock_ns(), session._queue)
    return True

cdef Py_ssize_t stream_response(Forwarding session, object frame, Reader* r) except -1:
    """Begin to send the response to what is first awaited on; return its length, 0: it has to be whole first."""
    cdef Awaited awaited = admitted_answer(session._queue, frame, r, session._admits_response)
    cdef Py_ssize_t start = r.pos
    cdef list segments
    if awaited is None:
        return 0
    segments = rewrite_head(awaited.lane.passage.response, frame, r, <Names?>session._to_virtual, None)
    if segments is None:
        return 0
    session.to_client += segments
    if awaited.lane.usage is not None:
        r.pos = start
        session.passing_response = awaited.lane.usage.add_response(r, True)
    return 4 + <Py_ssize_t>be32(<const uint8_t*>PyBytes_AS_STRING(segments[0]))
