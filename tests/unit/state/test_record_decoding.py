import json
from typing import Any

import pytest

from bifrost.state.record_decoding import decode
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import SCHEMA, FutureSchema, StateRecord, UnreadableState, encode

KEY = StateKey("alias", "acme/orders")
RECORD = StateRecord(
    KEY, 3, 1_700_000_000_000, "c0ffee", "gw-1/4711", "User:alice", {"b": [1, None], "a": "ü"}
)


@pytest.mark.parametrize("body", [None, {}, {"b": [1, {"z": 1, "a": 2.5}], "a": "ü"}])
def test_a_record_is_read_as_it_was_written(body: dict[str, Any] | None) -> None:
    record = StateRecord(KEY, 1, 0, "c", "w", None, body)

    assert decode(KEY.to_bytes(), encode(record), 0) == record


def changed(**fields: Any) -> bytes:
    return json.dumps(json.loads(encode(RECORD)) | fields).encode()


def test_a_future_schema_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(FutureSchema) as caught:
        decode(KEY.to_bytes(), changed(schema=SCHEMA + 1, body=7, more="x"), 42)

    assert str(caught.value) == (
        f"record alias:acme/orders at offset 42 of the state has schema version {SCHEMA + 1}, and this gateway knows "
        f"up to {SCHEMA}: run the version of the gateway that wrote it (writer gw-1/4711), or a newer one"
    )


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"[]",
        b"\xff",
        b"{}",
        b"[" * 100_000,
        changed(schema=0),
        changed(schema=True),
        changed(schema="1"),
        changed(version=0),
        changed(version=True),
        changed(at="now"),
        changed(body=[]),
        changed(writer=None),
        changed(more=1),
        encode(RECORD)[:-1] + b',"more":1}',
        encode(RECORD)[:-1] + b"}}",
        encode(RECORD).replace(b'"body":{', b'"body":{{'),
        encode(RECORD).replace(b"gw-1", b"gw\x01-1"),
        encode(RECORD).replace(b"gw-1", b"\xff"),
        encode(StateRecord(KEY, 1, 0, "c", "w", None, None)).replace(b'"body":null', b'"body":7'),
    ],
)
def test_anything_else_is_unreadable_and_says_where(value: bytes) -> None:
    with pytest.raises(
        UnreadableState, match=r"record 'alias:acme/orders' at offset 42 of the state cannot be read"
    ):
        decode(KEY.to_bytes(), value, 42)


def test_a_key_that_is_none_is_unreadable() -> None:
    with pytest.raises(UnreadableState, match="record '' at offset 1"):
        decode(None, encode(RECORD), 1)


@pytest.mark.parametrize("more", ["", " "])
def test_the_order_of_fields_and_spaces_do_not_matter(more: str) -> None:
    fields = dict(reversed(json.loads(encode(RECORD)).items()))

    assert (
        decode(KEY.to_bytes(), json.dumps(fields, separators=("," + more, ":" + more)).encode(), 0) == RECORD
    )


def test_a_lone_surrogate_is_read_as_json_has_it() -> None:
    value = encode(RECORD).replace("ü".encode(), b"\\ud800")

    assert decode(KEY.to_bytes(), value, 0).body == {"a": "\ud800", "b": [1, None]}
