from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from bifrost.gateway.reload.policy_changes import PolicyChanges
from bifrost.session.close_reason import CloseReason
from bifrost.session.virtual_clusters import Models, VirtualCluster, VirtualClusters
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.acls.authority import Authority
from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
from bifrost.tenancy.policies.policy_record import KIND
from support.stage.filtered import process_records
from support.stage.stage import Stage


def test_clients_come_again_when_the_first_policy_about_records_holds() -> None:
    stage, policies = Stage(), NamespacePolicies()
    found = {name: stage.shared.virtual_clusters.of_tenant(name) for name in ("acme", "globex")}
    roots = {name: one for name, one in found.items() if one is not None}

    def new(tenant: str, _tiers: tuple[str, ...], _authority: Authority | None) -> VirtualCluster:
        return replace(roots[tenant], records=process_records().of_tenant(tenant, (), has_rules=True))

    clusters = stage.shared.virtual_clusters = VirtualClusters(roots, new, Models(policies=policies))
    ended: list[str] = []

    def connection(tenant: str) -> Any:
        def lost_place() -> tuple[CloseReason, str] | None:
            is_there = clusters.of_tenant(tenant) is roots[tenant] or tenant in ended
            return None if is_there else (CloseReason.RECONFIGURED, "")

        return SimpleNamespace(lost_place=lost_place, end=lambda *_: ended.append(tenant))

    gateway: Any = SimpleNamespace(
        shared=stage.shared, connections=lambda: (connection("acme"), connection("globex"))
    )

    async def change() -> None:
        changes, key = PolicyChanges(gateway), StateKey(KIND, "globex:eu")
        for version, body in enumerate(({"max_topics": 1}, {"acks": ["all"]}, {"acks": ["1"]}), 1):
            changes.apply(key, StateRecord(key, version, 0, "c", "w", None, body))
            for _ in range(3):
                await asyncio.sleep(0)
            assert ended == (["globex"] if version > 1 else [])

    asyncio.run(change())

    globex = clusters.of_tenant("globex")
    assert globex is not None
    assert globex.records is not None
    assert clusters.of_tenant("acme") is roots["acme"]
