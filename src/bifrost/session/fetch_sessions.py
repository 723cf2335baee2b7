"""Whose each fetch session is (KIP-227).

A broker gives out session IDs, and serves whoever names one with its next epoch. The gateway remembers for which
namespace an ID was given out, per broker, and lets nobody else use it.
"""

from weakref import WeakValueDictionary

from bifrost.session.fetch_ownership import FetchOwnership
from bifrost.tenancy.bounded_map import BoundedMap

MAX_FETCH_SESSIONS = 65_536
"""Bound for all brokers together. A broker keeps 1,000 by default (max.incremental.fetch.session.cache.slots); a
session that is forgotten here costs its client one full fetch."""


class FetchSessions:
    """A bounded table from (broker, session ID) to the namespace that owns the session."""

    def __init__(self, limit: int = MAX_FETCH_SESSIONS) -> None:
        """Start empty; beyond `limit` the session learnt first is forgotten."""
        self._owners: BoundedMap[tuple[int, int], str] = BoundedMap(limit)
        self._ownerships: WeakValueDictionary[tuple[int, str], FetchOwnership] = WeakValueDictionary()

    def of(self, node_id: int, namespace: str) -> FetchOwnership:
        """Return what the connections of `namespace` to broker `node_id` may use; it lives while any of them does."""
        ownership = self._ownerships.get((node_id, namespace))
        if ownership is None:
            ownership = self._ownerships[node_id, namespace] = FetchOwnership(self, node_id, namespace)
        return ownership

    def claim(self, node_id: int, session_id: int, namespace: str) -> None:
        """Remember that broker `node_id` gave `session_id` to `namespace`, now."""
        key = (node_id, session_id)
        if self._owners.get(key) != namespace:
            self._owners.put(key, namespace)

    def is_owned(self, node_id: int, session_id: int, namespace: str) -> bool:
        """Whether the session was given to `namespace`."""
        return self._owners.get((node_id, session_id)) == namespace

    def __len__(self) -> int:
        return len(self._owners)
