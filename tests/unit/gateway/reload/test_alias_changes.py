from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from bifrost.gateway.reload.alias_changes import AliasChanges
from bifrost.session.close_reason import CloseReason
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.alias_table import KIND
from support.stage.stage import Stage


class Connection:
    """A connection of a tenant's client."""

    def __init__(self, stage: Stage, tenant: str) -> None:
        self._shared, self._tenant = stage.shared, tenant
        self._cluster = stage.shared.virtual_clusters.of_tenant(tenant)
        self.ends: list[CloseReason] = []

    def lost_place(self) -> tuple[CloseReason, str] | None:
        is_there = self._shared.virtual_clusters.of_tenant(self._tenant) is self._cluster
        return None if is_there else (CloseReason.RECONFIGURED, "names mean something else")

    def end(self, reason: CloseReason, _detail: str) -> None:
        self.ends.append(reason)


def test_clients_without_rights_leave_when_a_topic_is_shared_with_their_tenant_first() -> None:
    stage = Stage()
    connections = {name: Connection(stage, name) for name in ("acme", "globex")}
    gateway: Any = SimpleNamespace(shared=stage.shared, connections=lambda: tuple(connections.values()))
    key = StateKey(KIND, "acme/orders")

    async def change() -> None:
        changes = AliasChanges(gateway)
        for name in ("partner", "other"):
            body = {"owner": "acme/orders", "shares": {f"globex/{name}": "read"}}
            changes.apply(key, StateRecord(key, 1, 0, "c", "w", None, body))
            changes.tell()
            for _ in range(3):
                await asyncio.sleep(0)

    asyncio.run(change())

    assert connections["globex"].ends == [CloseReason.RECONFIGURED]
    assert connections["acme"].ends == []
    guest = stage.shared.virtual_clusters.of_tenant("globex")
    assert guest is not None
    assert guest.authority is not None
    assert guest.acl_mode is None
