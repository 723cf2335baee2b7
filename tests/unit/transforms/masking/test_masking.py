import hashlib
import hmac
import json
from typing import Any

import pytest

from bifrost.config.kept_secret import KeptSecret
from bifrost.config.records.filter_configs import FilterConfig
from bifrost.records.codec.client_batch import read_columns
from bifrost.records.codec.columns import ColumnRecord
from bifrost.transforms.masking.masking import KIND
from bifrost.transforms.record_transform import Direction, Outcome, Rejected
from bifrost.transforms.transform_kind import Topic
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.records.record_columns import batch_of, only_batch, plenty

TOPIC = Topic("acme", "orders", physical_name("acme", "orders").encode())
KEY = b"k" * 32


def config_of(**config: Any) -> FilterConfig:
    return FilterConfig.model_validate(config)


def outcome_of(config: FilterConfig, *values: bytes | None) -> Outcome:
    records = [ColumnRecord(i, 0, b"k", value) for i, value in enumerate(values)]
    batch = only_batch(batch_of(records, base_offset=70))
    transform = KIND.make("gdpr", config, TOPIC)
    assert transform.name == "gdpr"
    return transform.transform(batch, read_columns(batch, plenty()), Direction.FETCH, {}, plenty())


def seen(given: Any, action: str, **more: Any) -> Any:
    """Return what is seen of a field."""
    config = config_of(fields=[{"path": "a", "action": action} | more], hash_key=KeptSecret(KEY))
    outcome = outcome_of(config, json.dumps({"a": given}).encode())
    assert not isinstance(outcome, Rejected)
    return json.loads(outcome.values[0])["a"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("4111111111111111", "****1111"),
        ("12345678", "****5678"),
        ("1234567", "****567"),
        ("12", "****2"),
        ("1", "****"),
        ("", "****"),
        ("Zoë 😀 Müller", "****ller"),
        ("x😀😀😀😀😀😀😀😀", "****😀😀😀😀"),
        (4111111111111111, "****1111"),
        ({"number": 1}, None),
        ([1], None),
        (True, None),
        (None, None),
    ],
)
def test_the_last_four_characters_are_at_most_half(value: Any, expected: Any) -> None:
    assert seen(value, "last_four") == expected


def test_a_hash_is_that_of_the_text_under_the_key() -> None:
    assert seen("a@é.c", "hash") == hmac.new(KEY, "a@é.c".encode(), hashlib.sha256).hexdigest()
    assert seen(17, "hash") == hmac.new(KEY, b"17", hashlib.sha256).hexdigest()
    assert seen("\ud800", "hash") == hmac.new(KEY, b"\xed\xa0\x80", hashlib.sha256).hexdigest()
    assert seen(None, "hash") is None


def test_a_constant_replaces_null_too() -> None:
    assert seen(None, "constant", value="hidden") == "hidden"
    assert seen({"x": 1}, "constant", value=0) == 0
    assert seen(3, "constant", value=False) is False
    assert seen([1], "set_null") is None


def test_a_value_that_is_no_json_is_null_or_an_error() -> None:
    fields = [{"path": "a", "action": "set_null"}]
    lenient = outcome_of(config_of(fields=fields), b'{"a":1}', None, b"plain")
    strict = outcome_of(config_of(fields=fields, unreadable="error"), b'{"a":1}', None, b"plain secret")

    assert [record.value for record in lenient.records()] == [b'{"a":null}', None, None]  # type: ignore[union-attr]
    assert strict == Rejected((), "gdpr: the value at offset 72 does not read", ErrorCode.CORRUPT_MESSAGE)
    assert outcome_of(config_of(fields=fields, unreadable="error"), b'{"b":1}', None).values[1] is None  # type: ignore[union-attr]


def test_it_is_for_consumers_other_than_those_that_may_see_all() -> None:
    config = config_of(fields=[], unmasked=["User:auditor"])

    assert KIND.directions == {Direction.FETCH}
    assert KIND.is_exempt(config, "User:auditor")
    assert not KIND.is_exempt(config, "User:reports")
