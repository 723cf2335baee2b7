# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The monotonic clock: the one clock that is read below `bifrost.gateway`, for each message that is forwarded.

To be told the time by the gateway would cost a call of Python code for each message.
"""

def monotonic_ns():
    return clock_ns()
