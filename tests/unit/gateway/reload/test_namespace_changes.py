from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

from bifrost.gateway.reload.namespace_changes import NamespaceChanges
from bifrost.session.close_reason import CloseReason
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.existing_namespaces import ExistingNamespaces
from bifrost.tenancy.namespaces.namespace_tree import KIND


class Connection:
    """A connection of a client that is bound to a namespace."""

    def __init__(self, namespaces: ExistingNamespaces, *tiers: str) -> None:
        self._namespaces, self._tiers = namespaces, tiers
        self.ends: list[tuple[CloseReason, str]] = []

    def lost_place(self) -> tuple[CloseReason, str] | None:
        is_there = self._tiers in self._namespaces.of("acme")
        return None if is_there else (CloseReason.NAMESPACE_DELETED, "gone")

    def end(self, reason: CloseReason, detail: str) -> None:
        self.ends.append((reason, detail))


def test_clients_of_a_deleted_namespace_leave_and_no_others() -> None:
    namespaces = ExistingNamespaces()
    connections = [Connection(namespaces, tier) for tier in ("eu", "us")]
    gateway: Any = SimpleNamespace(
        shared=SimpleNamespace(virtual_clusters=SimpleNamespace(namespaces=namespaces)),
        connections=lambda: tuple(connections),
    )

    async def change() -> None:
        changes = NamespaceChanges(cast("Any", gateway))
        for tier in ("eu", "us", "de", "fr"):
            key = StateKey(KIND, f"acme:{tier}")
            changes.apply(key, StateRecord(key, 1, 0, "c", "w", None, {}))
        assert not any(one.ends for one in connections)
        for tier in ("eu", "fr"):
            changes.apply(StateKey(KIND, f"acme:{tier}"), None)
        for _ in range(3):
            await asyncio.sleep(0)
        changes.apply(StateKey(KIND, "acme:de"), None)
        for _ in range(3):
            await asyncio.sleep(0)

    asyncio.run(change())

    assert connections[0].ends == [(CloseReason.NAMESPACE_DELETED, "gone")] * 2
    assert connections[1].ends == []
    assert namespaces.of("acme") == {("us",)}
