from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.fields.tenants import Tenant

TABLES = {"topics": ["table-*", "eu:table-*"], "virtual": 12, "physical": 4, "compacted": True}
LOGS = {"topics": ["eu:logs"], "ratio": 3, "compacted": True}
ORDERS = {"topics": ["orders", "table-orders"], "virtual": 12, "physical": 4}


def encryption(*topics: str, mode: str = "batches", **rule: Any) -> dict[str, Any]:
    config = {"kms_provider": "KeyFile", "key_id": "k", "key_file": "keks", "mode": mode}
    return {"name": "EnvelopeEncryption", "config": config, "rules": [{"topics": list(topics), **rule}]}


def validator(quarantine_topic: str) -> dict[str, Any]:
    config = {"registry_url": "http://registry", "quarantine_topic": quarantine_topic}
    rules = [{"topics": ["orders"], "direction": "produce"}]
    return {"name": "SchemaValidator", "config": config, "rules": rules}


def tenant(*rules: dict[str, Any], filters: list[dict[str, Any]]) -> Tenant:
    return Tenant.model_validate({"name": "acme", "virtual_partitions": rules, "filters": filters})


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (encryption("table-1"), "seals whole batches of table-1, .*: use mode: values"),
        (encryption("payments", "*-1"), r"seals whole batches of \*-1"),
        (encryption("table-1", namespace="eu"), "seals whole batches of eu:table-1"),
        (
            validator("table-refused"),
            "compacted: true for quarantine_topic table-refused of SchemaValidator: name another",
        ),
        (validator("logs"), "compacted: true for quarantine_topic logs"),
    ],
)
def test_filters_that_leave_records_without_keys_are_refused(found: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        tenant(TABLES, LOGS, filters=[found])


@pytest.mark.parametrize(
    "found",
    [
        encryption("payments"),
        encryption("table-1", mode="values"),
        encryption("table-1", namespace="us"),
        encryption("table-orders"),
        validator("refused"),
    ],
)
def test_other_filters_are_taken(found: dict[str, Any]) -> None:
    assert len(tenant(ORDERS, TABLES, LOGS, filters=[found]).filters) == 1


def test_the_first_rule_that_matches_a_topic_is_for_it() -> None:
    with pytest.raises(ValidationError, match="seals whole batches of table-orders"):
        tenant(TABLES, ORDERS, filters=[encryption("table-orders")])
