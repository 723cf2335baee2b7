"""How quotas are in the state."""

import pytest

from bifrost.state.state_key import StateKey
from bifrost.tenancy.quotas.quota_entity import DEFAULT, NAMESPACE, QuotaEntity
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.tenancy.quotas.quota_record import quota_body, quota_key, read_body, read_key

VALUES = {QuotaKey.PRODUCER_BYTE_RATE: 1024.0, QuotaKey.REQUEST_PERCENTAGE: 0.5}


@pytest.mark.parametrize(
    ("path", "entity", "key"),
    [
        ("acme", QuotaEntity("alice"), "quota:acme/users/alice"),
        ("acme:a", NAMESPACE, "quota:acme:a/namespace"),
        ("acme:a:b", QuotaEntity(DEFAULT, "x/y"), "quota:acme:a:b/users/<default>/clients/x%2Fy"),
    ],
)
def test_a_key_names_the_namespace_and_the_entity(path: str, entity: QuotaEntity, key: str) -> None:
    found = quota_key(path, entity)

    assert str(found) == key
    assert read_key(StateKey.from_bytes(key.encode())) == (path, entity)


def test_quotas_are_read_as_they_were_written() -> None:
    assert read_body(quota_body(VALUES)) == VALUES


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"values": []},
        {"values": {}, "more": 1},
        {"values": {"bandwidth": 1.0}},
        {"values": {"producer_byte_rate": "1"}},
        {"values": {"producer_byte_rate": True}},
        {"values": {"producer_byte_rate": -1}},
    ],
)
def test_what_another_version_has_written_is_an_error(body: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="run the version of the gateway that wrote it"):
        read_body(body)


def test_a_key_that_is_no_quotas_is_an_error() -> None:
    with pytest.raises(ValueError, match="entity"):
        read_key(StateKey("quota", "acme"))
