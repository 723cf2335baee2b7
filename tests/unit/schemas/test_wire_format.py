from uuid import UUID

import pytest

from bifrost.schemas.wire_format import (
    NO_ID,
    TWO_IDS,
    VALUE_HEADER,
    Payload,
    Unreadable,
    read_indexes,
    read_payload,
    told,
)

GUID = UUID("89791762-2336-186f-9674-299b90a802e2")


def test_an_id_in_front_of_a_payload_is_read() -> None:
    assert read_payload(b"\0\0\0\0\x07rest", (), VALUE_HEADER) == Payload(7, b"rest")
    assert read_payload(b"\0\xff\xff\xff\xff", (), VALUE_HEADER) == Payload(2**32 - 1, b"")
    assert read_payload(b"\1" + GUID.bytes + b"rest", (), VALUE_HEADER) == Payload(GUID.bytes, b"rest")


@pytest.mark.parametrize("data", [b"", b"\0", b"\0\0\0\1", b"{}", b"\2\0\0\0\1", b"\1" + bytes(15)])
def test_bytes_that_name_no_schema_are_told_apart(data: bytes) -> None:
    assert read_payload(data, (), VALUE_HEADER).schema_id == NO_ID


def test_a_header_comes_before_the_bytes() -> None:
    own = ((VALUE_HEADER, b"\1" + GUID.bytes + b"\2\4"),)

    assert read_payload(b"\0\0\0\0\7", own, VALUE_HEADER) == Payload(GUID.bytes, b"\0\0\0\0\7", b"\2\4")
    assert read_payload(b"\0\0\0\0\7", own, b"__key_schema_id").schema_id == 7
    assert read_payload(b"\0\0\0\0\7", ((VALUE_HEADER, None),), VALUE_HEADER).schema_id == 7
    assert read_payload(b"\0\0\0\0\7", ((VALUE_HEADER, b""),), VALUE_HEADER).schema_id == NO_ID


def test_a_header_that_is_there_twice_names_no_schema() -> None:
    header = (VALUE_HEADER, b"\0\0\0\0\7")

    assert read_payload(b"", (header, header), VALUE_HEADER).schema_id == TWO_IDS


def test_indexes_of_a_message_are_read_from_both_places() -> None:
    assert read_indexes(Payload(1, b"\0rest")) == ((0,), b"rest")
    assert read_indexes(Payload(1, b"\4\2\0rest")) == ((1, 0), b"rest")
    assert read_indexes(Payload(1, b"rest", b"\2\x80\2")) == ((128,), b"rest")


@pytest.mark.parametrize("data", [b"", b"\4\2", b"\1", b"\x82\2", b"\2\1", b"\2\xff\xff\xff\xff\xff\x01"])
def test_indexes_that_are_not_possible_are_refused(data: bytes) -> None:
    with pytest.raises(Unreadable):
        read_indexes(Payload(1, data))


def test_bytes_behind_indexes_in_a_header_are_refused() -> None:
    with pytest.raises(Unreadable):
        read_indexes(Payload(1, b"rest", b"\0\0"))


def test_an_id_is_told_as_registries_write_it() -> None:
    assert told(7) == "7"
    assert told(GUID.bytes) == str(GUID)
