"""CRC-32C: see crc32c.pyx."""

HAS_INSTRUCTION: bool
"""Whether this processor has an instruction for it."""

def crc32c(data: bytes | bytearray | memoryview, before: int = 0, *, by_table: bool = False) -> int:
    """Return the CRC-32C of some bytes.

    Args:
        data: contiguous bytes, which are not copied.
        before: the CRC-32C of the bytes before them, if they are not the first.
        by_table: do without the processor's instruction, as processors that have none.
    """

def crc32c_changed(crc: int, change: bytes, behind: int) -> int:
    """Return the CRC-32C of bytes of which a part was changed, without reading the others.

    Args:
        crc: of the bytes before the change. If it was wrong, the result is.
        change: the XOR of that part with what it was.
        behind: how many bytes follow that part.
    """
