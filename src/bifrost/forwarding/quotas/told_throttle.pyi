"""Writes into an answer how long its client is told to wait: see told_throttle.pyx."""

def put_throttle(segments: list[bytes | memoryview], at: int, throttle_ms: int) -> int:
    """Write the throttle time in an answer that was just rewritten, unless it tells a longer one.

    Args:
        segments: the frame for the client with its length; no other code has seen the first one, which is changed. The
            field is in that, or in it and the next one, which are replaced then.
        at: where the field begins, in bytes from the beginning of the frame.
        throttle_ms: how long to wait, in milliseconds.
    """
