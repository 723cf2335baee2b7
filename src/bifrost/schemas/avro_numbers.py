"""Numbers of Avro in Python, for single fields: zigzag, seven bits in a byte, the lowest first.

Source: Avro 1.12 specification, "Binary Encoding".
"""


def long_of(number: int) -> bytes:
    """Return a number as Avro has it."""
    left, found = number << 1 if number >= 0 else (-number << 1) - 1, bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)


def read_long(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of a value that was checked, and where it ends."""
    found = shift = 0
    while True:
        byte = data[at]
        found |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at
