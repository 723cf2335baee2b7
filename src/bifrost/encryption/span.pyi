"""A buffer that is another one for each value: see span.pyx."""

class Span:
    """Memory for one call of the library of ciphers; compiled code says which."""

    def __init__(self, *, is_writable: bool = False) -> None:
        """Begin without memory."""

    def __buffer__(self, flags: int, /) -> memoryview:
        """Give the memory that was set last.

        Raises:
            BufferError: none was.
        """

    def __len__(self) -> int:
        """Return its size, in bytes."""
