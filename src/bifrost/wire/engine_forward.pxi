"""The hot path: a frame that needs no decision is sent on in one call. Part of engine.pyx.

Whatever is unusual about a frame is not judged here: then the answer is False, nothing has changed, and the caller
takes the long way, which knows every error.
"""

@cython.final
cdef class Passage:
    """How the messages of one API and version are sent on undecoded."""
    cdef Program request, response
    cdef bint request_flexible, response_flexible
    cdef object request_peek, response_peek

    def __init__(self, Program request, Program response, bint request_flexible, bint response_flexible,
                 request_peek, response_peek):
        self.request = request
        self.response = response
        self.request_flexible = request_flexible
        self.response_flexible = response_flexible
        self.request_peek = request_peek
        self.response_peek = response_peek


@cython.final
@cython.freelist(256)
cdef class Awaited:
    """A request that the broker will answer."""
    cdef readonly int32_t correlation_id
    cdef readonly object plan, exchange

    def __init__(self, int32_t correlation_id, plan, exchange):
        self.correlation_id = correlation_id
        self.plan = plan
        self.exchange = exchange

    def __eq__(self, other):
        return (isinstance(other, Awaited) and self.correlation_id == other.correlation_id
                and self.plan == other.plan and self.exchange == other.exchange)


def forward_request(dict plans not None, frame, Names names not None, queue not None, list out not None, admits):
    """Rewrite a request, put it into `out` and what is awaited into `queue`; False: it has to be looked at."""
    cdef Reader r
    open_frame(frame, 0, &r)
    try:
        return pass_request(plans, frame, &r, names, queue, out, admits) != 0
    finally:
        close_frame(&r)

cdef int pass_request(dict plans, object frame, Reader* r, Names names, object queue, list out, object admits) except -1:
    cdef PyObject* plan
    cdef Passage passage
    cdef Awaited awaited
    cdef list segments
    cdef Py_ssize_t start
    if r.end < 11:
        return 0
    plan = PyDict_GetItemWithError(plans, be32(r.data))
    if plan == NULL:
        return 0
    passage = <Passage?>(<object>plan).passage
    start = 10 + max(0, <int16_t>be16(r.data + 8))
    if passage.request is None or start >= r.end or passage.request_flexible and r.data[start] != 0:
        return 0
    start += passage.request_flexible
    if passage.request_peek is not None and not admits(<object>plan, passage.request_peek(frame, start)):
        return 0
    r.pos = start
    segments = rewrite_body(passage.request, frame, r, names, None, False)
    if segments is None:
        return 0
    out += segments
    awaited = Awaited.__new__(Awaited)
    awaited.correlation_id = <int32_t>be32(r.data + 4)
    awaited.plan = <object>plan
    queue.append(awaited)
    return 1


def forward_response(queue not None, frame, Names names not None, list out not None, admits):
    """Rewrite the response to what is first in `queue`, put it into `out` with what waited for it; False as above."""
    cdef Reader r
    open_frame(frame, 0, &r)
    try:
        return pass_response(queue, frame, &r, names, out, admits) != 0
    finally:
        close_frame(&r)

cdef int pass_response(object queue, object frame, Reader* r, Names names, list out, object admits) except -1:
    cdef Passage passage
    cdef Awaited awaited
    cdef list segments
    cdef Py_ssize_t start = 4
    if not queue or r.end < 5:
        return 0
    awaited = <Awaited?>queue[0]
    passage = <Passage?>awaited.plan.passage
    if passage.response is None or awaited.exchange is not None or <int32_t>be32(r.data) != awaited.correlation_id:
        return 0
    if passage.response_flexible:
        if r.data[4] != 0:
            return 0
        start = 5
    if passage.response_peek is not None and not admits(passage.response_peek(frame, start)):
        return 0
    r.pos = start
    segments = rewrite_body(passage.response, frame, r, names, None, False)
    if segments is None:
        return 0
    out += segments
    queue.popleft()
    while queue and PyBytes_CheckExact(queue[0]):
        out.append(queue.popleft())
    return 1
