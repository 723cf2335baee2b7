from itertools import product
from typing import Any

import pytest

from bifrost.config.records.filter_order import misplaced, overlap
from bifrost.config.records.record_filter import RecordFilter
from bifrost.transforms.tenant_filters import _matches


def sealed(*rules: dict[str, Any], label: str = "sealed") -> RecordFilter:
    config = {"kms_provider": "Vault", "key_id": "payments"}
    return RecordFilter.model_validate(
        {"name": "EnvelopeEncryption", "label": label, "config": config, "rules": list(rules)}
    )


def policy(*rules: dict[str, Any]) -> RecordFilter:
    return RecordFilter.model_validate(
        {"name": "ProducePolicy", "label": "policy", "config": {"require_key": True}, "rules": list(rules)}
    )


def validator(*rules: dict[str, Any], quarantine: str = "bad") -> RecordFilter:
    config = {"registry_url": "http://registry", "quarantine_topic": quarantine}
    return RecordFilter.model_validate(
        {"name": "SchemaValidator", "label": "checks", "config": config, "rules": list(rules)}
    )


ORDERS, OTHERS = {"topics": ["orders*"]}, {"topics": ["clicks", "views-*"]}


def test_filters_before_one_that_seals_and_those_of_other_topics_are_in_order() -> None:
    assert misplaced(()) is None
    assert misplaced((policy(ORDERS), policy(), sealed(ORDERS))) is None
    assert misplaced((sealed(ORDERS), policy(OTHERS), sealed(OTHERS, label="more"))) is None
    assert (
        misplaced((sealed({"namespace": "eu", "topics": ["orders"]}), policy({"topics": ["orders"]}))) is None
    )


@pytest.mark.parametrize(
    ("filters", "why"),
    [
        ((sealed(ORDERS), policy()), "policy stands behind sealed, which seals the records of orders\\*"),
        ((sealed(), policy(OTHERS)), "policy stands behind sealed"),
        ((sealed(ORDERS), policy({"topics": ["orders-1"]})), "policy stands behind sealed"),
        ((sealed(ORDERS), sealed({"topics": ["*-eu"]}, label="more")), "sealed and more both seal records"),
        ((sealed({"namespace": "eu"}), policy({"topics": ["eu:orders"]})), "policy stands behind sealed"),
    ],
)
def test_a_filter_that_would_see_sealed_records_is_named(filters: tuple[RecordFilter, ...], why: str) -> None:
    found = misplaced(filters)

    assert found is not None
    assert why.replace("\\", "") in found


def test_the_separator_of_namespaces_is_that_of_the_tenant() -> None:
    filters = (sealed({"namespace": "eu", "topics": ["orders"]}), policy({"topics": ["eu.orders"]}))

    assert misplaced(filters) is None
    assert misplaced(filters, ".") is not None


def test_patterns_overlap_where_a_name_matches_both() -> None:
    """Compared with all names of up to five characters, for patterns of up to three."""
    names = ["".join(name) for size in range(6) for name in product("ab", repeat=size)]
    patterns = ["".join(one) for size in range(1, 4) for one in product("ab*", repeat=size)]
    matched = {pattern: {name for name in names if _matches(pattern, name)} for pattern in patterns}

    for one, other in product(patterns, repeat=2):
        assert overlap(one, other) == bool(matched[one] & matched[other]), (one, other)


@pytest.mark.parametrize(
    "filters",
    [
        (validator(ORDERS), sealed(ORDERS)),
        (validator(ORDERS), sealed({"topics": ["orders-1"]})),
        (validator(ORDERS), sealed({"topics": ["ba*"]})),
        (validator(ORDERS), sealed({"namespace": "eu", "topics": ["bad"]})),
    ],
)
def test_records_that_must_be_sealed_are_not_put_aside(filters: tuple[RecordFilter, ...]) -> None:
    found = misplaced(filters)

    assert found is not None
    assert "checks would write records to bad as they are, and sealed encrypts those of" in found


def test_records_of_other_topics_may_be_put_aside() -> None:
    assert misplaced((validator(ORDERS), sealed(OTHERS))) is None
    assert misplaced((validator(ORDERS, quarantine="clicks-2"), sealed(OTHERS))) is None
