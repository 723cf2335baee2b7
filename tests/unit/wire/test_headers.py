import pytest

from bifrost.wire.errors import MalformedFrame
from bifrost.wire.headers import (
    RequestHeader,
    read_request_header,
    request_body_offset,
    response_body_offset,
    response_header,
)

FIXED = b"\x00\x03\x00\x0d\x00\x00\x00\x2a"
"""Metadata v13, correlation ID 42; the client ID follows."""
TAGS = b"\x02\x00\x01x\x80\x01\x02yz"
"""Two tagged fields: number 0 of one byte, number 128 of two."""


@pytest.mark.parametrize(
    ("client_id", "length"), [(b"\xff\xff", -1), (b"\x00\x00", 0), (b"\x00\x02me", 2), (b"\x7f\xff", 32_767)]
)
def test_the_fixed_part_is_read(client_id: bytes, length: int) -> None:
    assert read_request_header(FIXED + client_id) == RequestHeader(3, 13, 42, length)


def test_numbers_are_signed() -> None:
    header = read_request_header(b"\xff\xff\xff\xfe\xff\xff\xff\xfd\xff\xff")

    assert header == RequestHeader(-1, -2, -3, -1)


@pytest.mark.parametrize("size", range(10))
def test_a_frame_shorter_than_a_header_is_malformed(size: int) -> None:
    with pytest.raises(MalformedFrame) as caught:
        read_request_header((FIXED + b"\xff\xff")[:size])

    assert caught.value.offset == size


@pytest.mark.parametrize("length", [b"\xff\xfe", b"\x80\x00"])
def test_a_negative_length_of_the_client_id_is_malformed(length: bytes) -> None:
    with pytest.raises(MalformedFrame, match="client_id"):
        read_request_header(FIXED + length)


@pytest.mark.parametrize(
    ("client_id", "length", "end"), [(b"\xff\xff", -1, 10), (b"\x00\x00", 0, 10), (b"\x00\x02me", 2, 12)]
)
@pytest.mark.parametrize("kind", [bytes, memoryview])
def test_the_body_is_behind_the_client_id(client_id: bytes, length: int, end: int, kind: type) -> None:
    frame = kind(FIXED + client_id + b"\x00body")

    assert request_body_offset(frame, length, is_flexible=False) == (end, None)
    assert request_body_offset(frame, length, is_flexible=True) == (end + 1, None)


@pytest.mark.parametrize("kind", [bytes, memoryview])
def test_a_header_with_tagged_fields_is_replaced_by_one_without(kind: type) -> None:
    head = FIXED + b"\x00\x02me"

    offset, other = request_body_offset(kind(head + TAGS + b"body"), 2, is_flexible=True)

    assert offset == len(head + TAGS)
    assert other == head + b"\x00"


@pytest.mark.parametrize("kind", [bytes, memoryview])
@pytest.mark.parametrize(
    ("client_id", "length", "expected"),
    [
        (b"\xff\xff", -1, b"\x00\x03t1-"),  # Null is empty to a broker.
        (b"\x00\x00", 0, b"\x00\x03t1-"),
        (b"\x00\x02me", 2, b"\x00\x05t1-me"),
    ],
)
def test_a_client_id_gets_its_prefix(kind: type, client_id: bytes, length: int, expected: bytes) -> None:
    frame = kind(FIXED + client_id + b"\x00body")

    end = 10 + max(0, length)
    assert request_body_offset(frame, length, False, b"t1-") == (end, FIXED + expected)
    assert request_body_offset(frame, length, True, b"t1-") == (end + 1, FIXED + expected + b"\x00")


def test_tagged_fields_go_with_a_prefix_as_well() -> None:
    offset, head = request_body_offset(FIXED + b"\x00\x02me" + TAGS + b"body", 2, True, b"t1-")

    assert (offset, head) == (12 + len(TAGS), FIXED + b"\x00\x05t1-me\x00")


@pytest.mark.parametrize(("prefix", "expected"), [(b"t1-", b"\x00\x08t1-other"), (None, b"\x00\x05other")])
@pytest.mark.parametrize(("client_id", "length"), [(b"\x00\x02me", 2), (b"\xff\xff", -1)])
def test_another_client_id_stands_in_its_place(
    client_id: bytes, length: int, prefix: bytes | None, expected: bytes
) -> None:
    frame, end = FIXED + client_id + b"\x00body", 10 + max(0, length)

    assert request_body_offset(frame, length, False, prefix, b"other") == (end, FIXED + expected)
    assert request_body_offset(frame, length, True, prefix, b"other") == (end + 1, FIXED + expected + b"\x00")


def test_a_client_id_without_room_for_its_prefix_is_malformed() -> None:
    def headed(length: int) -> bytes | None:
        frame = FIXED + length.to_bytes(2, "big") + b"x" * length
        return request_body_offset(frame, length, False, b"t1-")[1]

    assert headed(32_764) == FIXED + b"\x7f\xfft1-" + b"x" * 32_764
    with pytest.raises(MalformedFrame, match="no room for the tenant's prefix"):
        headed(32_765)


def test_so_is_that_of_a_response() -> None:
    offset, other = response_body_offset(b"\x00\x00\x00\x07" + TAGS + b"body", is_flexible=True)

    assert (offset, other) == (4 + len(TAGS), b"\x00\x00\x00\x07\x00")


def test_a_response_without_tagged_fields_begins_at_once() -> None:
    assert response_body_offset(b"\x00\x00\x00\x07body", is_flexible=False) == (4, None)
    assert response_body_offset(b"\x00\x00\x00\x07\x00body", is_flexible=True) == (5, None)


@pytest.mark.parametrize("is_flexible", [False, True])
def test_a_client_id_beyond_the_frame_is_malformed(is_flexible: bool) -> None:
    with pytest.raises(MalformedFrame, match="ends beyond"):
        request_body_offset(FIXED + b"\x00\x09me", 9, is_flexible)


def test_a_flexible_header_without_its_tags_is_malformed() -> None:
    with pytest.raises(MalformedFrame, match="ends beyond"):
        request_body_offset(FIXED + b"\x00\x02me", 2, is_flexible=True)
    with pytest.raises(MalformedFrame, match="ends beyond"):
        response_body_offset(b"\x00\x00\x00\x07", is_flexible=True)


@pytest.mark.parametrize(
    "tags",
    [
        b"\x01",
        b"\x01\x00",
        b"\x01\x00\x05x",
        b"\x02\x00\x01x",
        b"\x80",
        b"\xff\xff\xff\xff\xff\x01",
        b"\x01\x00\xff\xff\xff\xff\x7f",
        b"\xff\xff\xff\xff\x0f" + bytes(100),
    ],
)
def test_tagged_fields_that_do_not_parse_are_malformed(tags: bytes) -> None:
    with pytest.raises(MalformedFrame):
        response_body_offset(b"\x00\x00\x00\x07" + tags, is_flexible=True)


@pytest.mark.parametrize(("number", "head"), [(7, b"\0\0\0\7"), (-1, b"\xff" * 4), (-(2**31), b"\x80\0\0\0")])
def test_the_header_of_a_response_is_written(number: int, head: bytes) -> None:
    assert response_header(number, is_flexible=False) == head
    assert response_header(number, is_flexible=True) == head + b"\0"


def test_a_header_has_a_bounded_number_of_tagged_fields() -> None:
    most = b"\x40" + b"\x01\x00" * 64
    one_more = b"\x41" + b"\x01\x00" * 65

    assert response_body_offset(b"\0\0\0\7" + most, is_flexible=True) == (4 + len(most), b"\0\0\0\7\0")
    with pytest.raises(MalformedFrame, match="a header has 65 tagged fields, more than 64"):
        response_body_offset(b"\0\0\0\7" + one_more, is_flexible=True)
