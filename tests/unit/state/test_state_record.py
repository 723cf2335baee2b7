import pytest

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord, encode

KEY = StateKey("alias", "acme/orders")
RECORD = StateRecord(
    KEY, 3, 1_700_000_000_000, "c0ffee", "gw-1/4711", "User:alice", {"b": [1, None], "a": "ü"}
)


def test_a_value_is_readable_and_the_same_for_equal_records() -> None:
    again = StateRecord(KEY, 3, RECORD.at_ms, "c0ffee", "gw-1/4711", "User:alice", {"a": "ü", "b": [1, None]})

    assert encode(RECORD) == encode(again)
    assert encode(RECORD).decode() == (
        '{"schema":1,"version":3,"at":1700000000000,"change":"c0ffee","writer":"gw-1/4711",'
        '"on_behalf_of":"User:alice","body":{"a":"ü","b":[1,null]}}'
    )


def test_a_body_that_is_no_json_is_refused() -> None:
    with pytest.raises(ValueError, match="Out of range float"):
        encode(StateRecord(KEY, 1, 0, "c", "w", None, {"x": float("nan")}))


def test_a_body_is_not_shown() -> None:
    assert "User:alice" in repr(RECORD)
    assert "body" not in f"{RECORD!r} {RECORD} {[RECORD]}"
