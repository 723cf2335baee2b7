"""What the HTTP tests do not show: resources/test_groups.py has the rest."""

import asyncio
from pathlib import Path

import pytest

from bifrost.control.backend import Unavailable
from bifrost.control.clusters.group_state import GroupMember, GroupState
from bifrost.control.groups.groups import LATEST, CommittedOffset, Groups, Reset
from bifrost.control.namespaces import Namespaces
from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from bifrost.tenancy.namespaces.alias_table import KIND
from bifrost.tenancy.namespaces.namespace_path import read_path
from support.control.table_backend import TableBackend, config_with
from support.physical_names import physical_name

ACME = read_path("acme")
REPORTS = physical_name("acme", "reports")


def groups_of(backend: TableBackend, folder: Path, **tenant: object) -> Groups:
    config = config_with(folder, tenant=tenant)
    return Groups(config, backend, Namespaces(config, backend))


def test_lag_is_what_is_to_be_read_still_and_never_negative() -> None:
    assert CommittedOffset("t", 0, 3, 10).lag == 7
    assert CommittedOffset("t", 0, 12, 10).lag == 0
    assert CommittedOffset("t", 0, None, 10).lag is None
    assert CommittedOffset("t", 0, 3, None).lag is None


def test_members_have_the_client_ids_that_clients_know(tmp_path: Path) -> None:
    backend = TableBackend()
    number = "-0d9fb1f4-8f0a-4a2c-9d5c-3f4a5b6c7d8e"
    member = GroupMember(physical_name("acme", f"app{number}"), physical_name("acme", "app"), "/10.0.0.1")
    backend.groups[REPORTS] = GroupState("Stable", (member,), {})

    found = asyncio.run(groups_of(backend, tmp_path).describe(ACME, "reports"))

    assert found.members == (GroupMember(f"app{number.replace('4a2c', '8a2c')}", "app", "/10.0.0.1"),)


def test_dotted_tiers_are_a_part_of_the_names_of_groups(tmp_path: Path) -> None:
    backend = TableBackend()
    backend.groups[physical_name("acme", "eu.reports")] = GroupState("Empty", (), {})
    groups = groups_of(backend, tmp_path, namespace_encoding="dotted")

    assert [one.group_id for one in asyncio.run(groups.seen_in(ACME))] == ["eu.reports"]


def test_a_group_goes_on_at_the_end_when_no_record_is_as_young(tmp_path: Path) -> None:
    backend, orders = TableBackend(), (physical_name("acme", "orders"), 0)
    backend.ends[orders] = 5, 9
    groups = groups_of(backend, tmp_path)

    for timestamp, expected in ((100, 9), (7, 7), (LATEST, 9)):
        asyncio.run(groups.reset(ACME, "reports", {"orders": []}, Reset(timestamp), dry_run=False))

        assert backend.groups[REPORTS].offsets == {orders: expected}


def test_records_of_moved_topics_that_cannot_be_understood_are_no_guess(tmp_path: Path) -> None:
    backend = TableBackend()
    backend.put([Change(StateKey(KIND, "acme/orders"), 0, {"owner": 3})])

    with pytest.raises(Unavailable, match="moved topics"):
        asyncio.run(groups_of(backend, tmp_path).seen_in(ACME))
