import pytest

from bifrost.records.batch_reader import LogRecord
from bifrost.state.record_decoding import decode, decode_usual
from bifrost.state.record_layout import put_new, split_fields
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


def log_of(*values: bytes | None, name: str = "k") -> list[LogRecord]:
    return [LogRecord(at, 0, f"alias:{name}{at}".encode(), value) for at, value in enumerate(values)]


KINDS = {b"alias": "alias"}


def test_records_of_known_kinds_are_decoded_as_each_alone() -> None:
    log = log_of(VALUE, VALUE.replace(b'{"a":"x\\"}"}', b"{}"), VALUE.replace(b'{"a":"x\\"}"}', b"null"))

    found = decode_usual(log, KINDS, 1_000)

    assert found == [decode(one.key, one.value or b"", one.offset) for one in log]
    assert all(type(one) is StateRecord and type(one.key) is StateKey for one in found)


def test_what_is_unusual_is_not_decoded() -> None:
    one = log_of(VALUE)[0]
    unusual = [
        one._replace(value=None),
        one._replace(key=None),
        one._replace(key=b"alias"),
        one._replace(key=b"alias:"),
        one._replace(key=b"other:k"),
        one._replace(key=b"alias:\xff"),
        one._replace(key=b"alias:" + b"k" * 2_000),
        one._replace(value=VALUE.replace(b'"schema":1', b'"schema":2')),
        one._replace(value=VALUE.replace(b'{"a":"x\\"}"}', b"{x}")),
        one._replace(value=VALUE.replace(b'"gw-1/4711"', b'"\\x"')),
    ]

    assert decode_usual(unusual, KINDS, 10_000) == [None] * len(unusual)
    assert decode_usual([one], KINDS, len(VALUE)) == [None]
    assert decode_usual([one], {}, 10_000) == [None]


def test_records_are_put_up_to_the_first_that_is_not_new() -> None:
    log = log_of(VALUE, VALUE, VALUE)
    read = decode_usual(log, KINDS, 1_000)
    for stops, known, last_read in (
        (3, {}, read[2]),
        (2, {b"k2": b"x"}, read[2]),
        (2, {}, None),
        (2, {}, read[2]._replace(body=None) if read[2] else None),
    ):
        values, last, changed, changes = {"alias": dict(known)}, {}, set[StateKey](), set[str]()

        found = put_new(log, [*read[:2], last_read], 0, values, last, 1, changed, changes)

        assert found == (stops, stops * (len(b"alias:k0") + len(VALUE)))
        assert values["alias"] == known | {b"k%d" % at: VALUE for at in range(stops)}
        assert last == {StateKey("alias", "k0"): read[0]}
        assert changed == {StateKey("alias", f"k{at}") for at in range(stops)}
        assert changes == {"c0ffee"}
    assert put_new(log, read, 0, {}, {}, 1, set(), set()) == (0, 0)


def test_records_are_put_from_any_of_them_on() -> None:
    log = log_of(VALUE, VALUE, VALUE)
    read = decode_usual(log, KINDS, 1_000)
    for start in range(4):
        values = {"alias": dict[bytes, bytes]()}
        put, _ = put_new(log, read, start, values, {}, 1, set(), set())
        assert put == 3 - start
        assert list(values["alias"]) == [b"k%d" % at for at in range(start, 3)]
    assert put_new(log, read, 9, values, {}, 1, set(), set()) == (0, 0)
    with pytest.raises(ValueError, match="first one"):
        put_new(log, read, -1, values, {}, 1, set(), set())
