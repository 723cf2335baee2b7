"""The brokers' own view beside the journal: what lowers a verdict, and what is only told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bifrost.pipeline.certificates.inventory import read_inventory
from bifrost.pipeline.errors import PipelineError
from support.journal.inventories import inventory_text
from support.journal.journal_records import DAY_MS, NOON_MS, Journal
from support.physical_names import physical_name

Certify = Callable[..., Any]


def acme(name: str) -> str:
    return physical_name("acme", name)


def test_an_inventory_is_compared_name_by_name(certify: Certify, tmp_path: Path) -> None:
    journal = Journal()
    records = [
        journal.access("acme", "group", "before", NOON_MS - 9 * DAY_MS),
        journal.topic("acme", "orders"),
        journal.topic("acme", "deleted"),
        journal.access("acme", "group", "desk"),
        journal.access("acme", "group", "asked-for"),
        journal.access("acme", "transactional_id", "pay"),
        journal.topic("globex", "orders"),
    ]
    text = inventory_text(
        topics=[acme("orders"), acme("made-by-hand"), physical_name("globex", "orders"), "__consumer_offsets"],
        groups={acme("desk"): "Stable", acme("before"): "Empty", acme("strange"): "Empty", "operator": "Stable"},
        transactional_ids={acme("pay"): "Ongoing"},
    )  # fmt: skip

    reports = certify(records, inventories=(read_inventory(text),), days=("2026-10-05",))

    assert {name: one["verdict"] for name, one in reports.items()} == {
        "acme": "isolated",
        "globex": "isolated",
    }
    brokers = reports["acme"]["brokers"]
    assert brokers["begun_at"] == "2026-10-05T12:00:00Z"
    assert brokers["existing"] == {"topic": 2, "group": 3, "transactional_id": 1}
    assert brokers["bypassed"] == {}
    assert brokers["unseen"] == {
        "topic": {"count": 1, "names": [acme("made-by-hand")]},
        "group": {"count": 1, "names": [acme("strange")]},
    }
    assert brokers["gone"] == {
        "topic": {"count": 1, "names": [acme("deleted")]},
        "group": {"count": 1, "names": [acme("asked-for")]},
    }
    assert reports["globex"]["brokers"]["existing"] == {"topic": 1, "group": 0, "transactional_id": 0}
    whole = json.loads((tmp_path / "out/2026-10-05/brokers/main.json").read_text())["report"]
    assert (whole["upstream"], whole["cluster_id"]) == ("main", "cluster-1")
    assert whole["ownerless"] == {
        "topic": {"count": 1, "names": ["__consumer_offsets"]},
        "group": {"count": 1, "names": ["operator"]},
    }
    assert set(whole["tenants"]) == {"acme", "globex"}


def test_clients_of_which_no_gateway_tells_lower_the_verdict(certify: Certify) -> None:
    journal = Journal()
    cases: dict[str, tuple[str, tuple[int, ...], str]] = {
        "a": ("Stable", (), "incomplete"),
        "b": ("Stable", (0,), "isolated"),
        "c": ("Stable", (-1,), "isolated"),
        "d": ("Stable", (-2,), "incomplete"),
        "e": ("Empty", (), "isolated"),
        "f": ("", (), "incomplete"),
    }
    records = [journal.topic(tenant, "orders") for tenant in cases]
    records += [
        journal.access(tenant, "group", "desk", NOON_MS + day * DAY_MS)
        for tenant, (_state, days, _verdict) in cases.items()
        for day in days
    ]
    text = inventory_text(
        groups={physical_name(tenant, "desk"): state for tenant, (state, *_) in cases.items()}
    )

    reports = certify(records, inventories=(read_inventory(text),), days=("2026-10-05",))

    for tenant, (_state, _days, verdict) in cases.items():
        listed = {"group": {"count": 1, "names": [physical_name(tenant, "desk")]}}
        assert reports[tenant]["verdict"] == verdict
        assert reports[tenant]["brokers"]["bypassed"] == (listed if verdict == "incomplete" else {})


def test_a_tenant_of_whom_only_brokers_tell_has_a_certificate_that_says_so(certify: Certify) -> None:
    journal = Journal()
    marks = {"topic_prefix": "g-", "group_prefix": "g-", "transactional_id_prefix": "g-"}
    told = journal.event("globex", NOON_MS - DAY_MS, type="tenant", outcome="success", after=marks)
    text = inventory_text(transactional_ids={"g-pay": "Ongoing"})

    reports = certify(
        [told, journal.topic("acme", "orders")],
        inventories=(read_inventory(text),),
        days=("2026-10-05",),
    )

    assert {name: one["verdict"] for name, one in reports.items()} == {
        "acme": "isolated",
        "globex": "incomplete",
    }
    assert reports["globex"]["accesses"] == 0


def test_two_inventories_of_a_day_are_one(certify: Certify) -> None:
    journal = Journal()
    texts = [
        inventory_text(groups={acme("one"): "Empty"}),
        inventory_text(groups={acme("two"): "Empty"}, upstream="other", begun_ms=NOON_MS + 1000),
    ]

    reports = certify(
        [journal.access("acme", "group", "one"), journal.access("acme", "group", "two")],
        inventories=tuple(map(read_inventory, texts)),
    )

    brokers = reports["acme"]["brokers"]
    assert (brokers["existing"]["group"], brokers["gone"]) == (2, {})


def test_an_inventory_of_a_day_that_is_not_certified_is_refused(certify: Certify) -> None:
    text = inventory_text(begun_ms=NOON_MS + DAY_MS)

    with pytest.raises(PipelineError, match="the inventory is of 2026-10-06"):
        certify([Journal().topic("acme", "orders")], inventories=(read_inventory(text),))


def test_without_an_inventory_nothing_is_said_of_brokers(certify: Certify) -> None:
    assert certify([Journal().topic("acme", "orders")])["acme"]["brokers"] is None
