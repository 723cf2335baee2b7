from types import SimpleNamespace

import pytest

from bifrost.filters.quotas.quota_parts import (
    MAX_TEXT,
    entity_of,
    parts_of,
    read_parts,
    refuse_parts,
    shortened,
)
from bifrost.tenancy.quotas.quota_entity import DEFAULT, QuotaEntity


@pytest.mark.parametrize(
    ("entity", "parts"),
    [
        (QuotaEntity("alice"), {"user": "alice"}),
        (QuotaEntity(DEFAULT, "app"), {"user": None, "client-id": "app"}),
        (QuotaEntity(None, DEFAULT), {"client-id": None}),
    ],
)
def test_an_entity_has_a_part_for_each_name(entity: QuotaEntity, parts: dict[str, str | None]) -> None:
    assert parts_of(entity) == parts
    assert entity_of(parts) == entity
    assert refuse_parts(parts) is None


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ({}, "Invalid empty client quota entity"),
        ({"user": ""}, "Empty user not supported"),
        ({"ip": "10.0.0.1"}, "Unhandled client quota entity type: ip"),
        ({"user": "alice", "planet": "earth"}, "Unhandled client quota entity type: planet"),
    ],
)
def test_other_entities_are_refused(parts: dict[str, str | None], why: str) -> None:
    assert refuse_parts(parts) == why


def test_of_two_parts_of_a_type_the_last_counts() -> None:
    twice = [SimpleNamespace(entity_type="user", entity_name=name) for name in ("alice", "bob")]

    assert read_parts(twice) == {"user": "bob"}


def test_a_text_that_quotes_a_client_has_a_bound() -> None:
    assert shortened("x" * MAX_TEXT) == "x" * MAX_TEXT
    assert shortened("x" * 100_000) == "x" * MAX_TEXT + "..."
