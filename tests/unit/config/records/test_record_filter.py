from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.records.record_filter import RecordFilter, same_label

ADDS = {
    "name": "RecordHeaders",
    "config": {"add": [{"key": "region", "value": "eu"}]},
    "rules": [{"direction": "produce"}],
}
MASK = {"name": "Masking", "config": {"fields": [{"path": "a.b", "action": "set_null"}]}}
POLICY = {"name": "ProducePolicy", "config": {"require_key": True}}


def read(value: dict[str, Any]) -> RecordFilter:
    return RecordFilter.model_validate(value)


def test_a_filter_is_called_by_its_name_or_its_label() -> None:
    assert read(ADDS).shown_name == "RecordHeaders"
    assert read(ADDS | {"label": "edge"}).shown_name == "edge"
    assert same_label((read(ADDS), read(POLICY), read(ADDS | {"label": "edge"}))) is None
    assert same_label((read(ADDS), read(POLICY | {"label": "RecordHeaders"}))) == "RecordHeaders"


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (ADDS | {"config": {"require_key": True}}, "config.require_key is no key of RecordHeaders"),
        (POLICY | {"config": {"require_key": True, "add": []}}, "config.add is no key of ProducePolicy"),
        (ADDS | {"config": {"add": []}}, "asks for nothing"),
        (POLICY | {"config": {"require_key": False}}, "asks for nothing"),
        (ADDS | {"rules": []}, "needs a direction"),
        (ADDS | {"rules": [{"direction": "fetch"}, {"topics": ["a"]}]}, "needs a direction"),
        (POLICY | {"rules": [{"direction": "fetch"}]}, "for direction: produce only"),
        (POLICY | {"rules": [{"topics": ["a b"]}]}, "characters other than"),
        (POLICY | {"rules": [{"principals": ["Group:alice"]}]}, "is no principal"),
        (POLICY | {"rules": [{"namespace": "eu::"}]}, "is no namespace"),
        (POLICY | {"rules": [{"topics": []}]}, "at least 1"),
        (MASK | {"rules": [{"direction": "produce"}]}, "for direction: fetch only"),
        (MASK | {"config": {"unmasked": ["User:a"]}}, "Masking needs fields"),
        (MASK | {"config": {"fields": [{"path": "a", "action": "hash"}]}}, "hash needs hash_key_file"),
        (MASK | {"config": MASK["config"] | {"hash_key_file": "a"}}, "no other action does"),
        (MASK | {"config": MASK["config"] | {"format": "avro"}}, "'json'"),
        (
            MASK | {"config": MASK["config"] | {"require_key": True}},
            "is no key of Masking: it has .*format, fields",
        ),
        ({"name": "Other", "config": {}}, "RecordHeaders"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        read(wrong)
