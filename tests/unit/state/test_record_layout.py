import pytest

from bifrost.state.record_layout import split_fields
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord, encode

KEY = StateKey("alias", "acme/orders")
VALUE = encode(StateRecord(KEY, 3, 1_700_000_000_000, "c0ffee", "gw-1/4711", "User:alice", {"a": 'x"}'}))


def test_the_fields_of_a_record_are_found() -> None:
    author = b'"writer":"gw-1/4711","on_behalf_of":"User:alice"'
    assert split_fields(VALUE) == (3, 1_700_000_000_000, "c0ffee", author, b'{"a":"x\\"}"}')


def test_quotes_in_strings_end_none() -> None:
    value = encode(StateRecord(KEY, 1, 0, "c", 'a"\\', 'User:","body":{}', None))

    assert split_fields(value) == (
        1,
        0,
        "c",
        b'"writer":"a\\"\\\\","on_behalf_of":"User:\\",\\"body\\":{}"',
        b"null",
    )


@pytest.mark.parametrize(
    "value",
    [
        b"",
        VALUE.replace(b'"schema":1', b'"schema":2'),
        VALUE.replace(b'"version":3', b'"version":0'),
        VALUE.replace(b'"version":3', b'"version":03'),
        VALUE.replace(b'"version":3', b'"version":-3'),
        VALUE.replace(b'"version":3', b'"version":3.0'),
        VALUE.replace(b'"version":3', b'"version":' + b"9" * 19),
        VALUE.replace(b"c0ffee", b"c0\\u0066fee"),
        VALUE.replace(b"c0ffee", "ü".encode()),
        VALUE.replace(b'"User:alice"', b"true"),
        VALUE.replace(b'"User:alice"', b"[]"),
        VALUE.replace(b",", b", "),
        VALUE + b" ",
        VALUE.replace(b'"body"', b'"more"'),
    ],
)
def test_another_layout_is_left_to_the_whole_decoder(value: bytes) -> None:
    assert split_fields(value) is None


def test_no_byte_behind_the_end_is_read() -> None:
    begin = VALUE.index(b'"body":') + len(b'"body":')
    for size in range(len(VALUE)):
        found = split_fields(VALUE[:size])
        assert found is None or (VALUE[size - 1 : size], found[4]) == (b"}", VALUE[begin : size - 1])
