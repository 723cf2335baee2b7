"""CRC-32C: see crc32c.pyx."""

HAS_INSTRUCTION: bool
"""Whether this processor has an instruction for it."""

def crc32c(data: bytes | bytearray | memoryview, *, by_table: bool = False) -> int:
    """Return the CRC-32C of some bytes.

    Args:
        data: contiguous bytes, which are not copied.
        by_table: do without the processor's instruction, as processors that have none.
    """
