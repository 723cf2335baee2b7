import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.records.codec.errors import CorruptBatch
from bifrost.tenancy.virtual_partitions.first_headers import has_header
from support.stage.counted_pauses import counted_pauses

KEYS = (b"mark", b"other")


def varint(value: int) -> bytes:
    left, made = (value << 1) ^ (value >> 63), bytearray()
    while left > 0x7F:
        made.append(left & 0x7F | 0x80)
        left >>= 7
    made.append(left)
    return bytes(made)


def field(value: bytes | None) -> bytes:
    return varint(-1) if value is None else varint(len(value)) + value


def found(headers: list[tuple[bytes | None, bytes | None]], count: int | None = None) -> bool:
    section = b"before" + b"".join(field(key) + field(value) for key, value in headers)
    return has_header(memoryview(section), 6, len(section), len(headers) if count is None else count, KEYS)


FIELDS = st.none() | st.binary(max_size=200) | st.sampled_from(KEYS)


@given(st.lists(st.tuples(FIELDS, FIELDS), max_size=8))
def test_a_key_is_found_among_keys_alone(headers: list[tuple[bytes | None, bytes | None]]) -> None:
    assert found(headers) == any(key in KEYS for key, _ in headers)


def test_headers_behind_those_that_are_counted_are_none() -> None:
    assert not found([(b"mine", b"1"), (b"mark", b"2")], 1)
    assert found([(b"mine", b"1"), (b"mark", b"2")], 2)


@pytest.mark.parametrize(
    "section",
    [b"", varint(1), varint(3) + b"abc", varint(2) + b"abc" + varint(9), b"\x80" * 9 + b"\x02", b"\xff" * 11],
    ids=bytes.hex,
)
def test_headers_that_are_not_whole_are_refused(section: bytes) -> None:
    with pytest.raises(CorruptBatch):
        has_header(section, 0, len(section), 2, KEYS)


def test_places_outside_of_the_section_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="not in the section"):
        has_header(b"abc", 0, 4, 1, KEYS)


def test_millions_of_headers_take_a_moment_with_pauses() -> None:
    count = 4_000_000
    section = bytes(2 * count)
    began = time.process_time()

    with counted_pauses() as pauses:
        assert not has_header(section, 0, len(section), count, KEYS)

    assert time.process_time() - began < 1.5  # It took 12 s in Python.
    assert pauses.count > 1000
