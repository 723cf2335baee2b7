"""The monotonic clock: see clock.pyx."""

def monotonic_ns() -> int:
    """Return the clock's time that `Awaited` is told, in nanoseconds."""
