"""The headers of one record: see first_headers.pyx."""

from bifrost.records.codec.memory import Memory

def has_header(
    section: bytes | memoryview | Memory, at: int, end: int, count: int, keys: tuple[bytes, ...]
) -> bool:
    """Whether one of the headers of a record has one of these keys; all of the headers before it are whole.

    Its time grows with the headers, some ten nanoseconds for each, and it pauses (wire/steps.pyx).

    Args:
        section: the records, unpacked.
        at: where the first header begins.
        end: where the record ends.
        count: how many headers the record says that it has.
        keys: what is looked for.
    Raises:
        CorruptBatch: a header before it is not whole.
    """
