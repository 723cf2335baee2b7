"""The owner of each fetch session (KIP-227).

A broker gives out session IDs, and serves every client that names one with its next epoch. The gateway remembers, per
broker, to which namespace an ID was given, and lets no other namespace use it.

Several processes of one gateway share one memory of the owners (`SharedClaims`): when one of them sees an ID given to
another namespace, the ID has its new owner in all of them at once. Each session has a `Proof`, by which the engine sees
whose it is without asking.
"""

import hashlib
import sys
from weakref import WeakValueDictionary

from bifrost.session.fetch_ownership import FetchOwnership
from bifrost.tenancy.bounded_map import BoundedMap

MAX_FETCH_SESSIONS = 65_536
"""Bound for all brokers together. A broker keeps 1,000 by default (max.incremental.fetch.session.cache.slots); a
session that is forgotten here costs its client one full fetch."""

Proof = tuple[bytearray | memoryview, int]
"""8 bytes of memory, and the number that stands there as long as a session is the namespace's that asked."""

_HELD = 1
"""Such a number, where nothing else has to be told from it."""


class SharedClaims:
    """The owners of sessions, in memory that several processes write: a mark of 8 bytes in the session's place.

    Two sessions may share a place: the older one is forgotten then, at the price of a full fetch. A mark is written
    whole, and only a process with the key can tell from it whose the session is.
    """

    def __init__(self, marks: "memoryview[int]", key: bytes) -> None:
        """Use `marks`, unsigned 8-byte numbers; `key` is secret and the same in all processes."""
        self._marks, self._key = marks, key

    def of_cluster(self, name: str) -> "Claims":
        """Return the owners of the sessions of one physical cluster."""
        return Claims(self._marks, hashlib.blake2b(name.encode(), key=self._key, digest_size=32).digest())


class Claims:
    """The owners of the sessions of one physical cluster."""

    def __init__(self, marks: "memoryview[int]", key: bytes) -> None:
        self._marks, self._key = marks, key
        self._known: BoundedMap[tuple[int, int], tuple[str, int, int]] = BoundedMap(MAX_FETCH_SESSIONS)

    def claim(self, node_id: int, session_id: int, namespace: str) -> None:
        """Note that a session is this namespace's now."""
        place, mark = self._mark(node_id, session_id, namespace)
        if self._marks[place] != mark:
            self._marks[place] = mark

    def is_owned(self, node_id: int, session_id: int, namespace: str) -> bool:
        """Whether the session is this namespace's."""
        place, mark = self._mark(node_id, session_id, namespace)
        return self._marks[place] == mark

    def proof(self, node_id: int, session_id: int, namespace: str) -> Proof | None:
        """Return the session's place and the namespace's mark; None: the session is not the namespace's."""
        place, mark = self._mark(node_id, session_id, namespace)
        return (self._marks[place : place + 1], mark) if self._marks[place] == mark else None

    def _mark(self, node_id: int, session_id: int, namespace: str) -> tuple[int, int]:
        known = self._known.get((node_id, session_id))
        if known is not None and known[0] == namespace:
            return known[1], known[2]
        session = node_id.to_bytes(4, "big", signed=True) + session_id.to_bytes(4, "big", signed=True)
        where = hashlib.blake2b(session, key=self._key, digest_size=8).digest()
        whose = hashlib.blake2b(session + namespace.encode(), key=self._key, digest_size=8).digest()
        place = int.from_bytes(where, "big") % len(self._marks)
        mark = int.from_bytes(whose, "big") or 1  # 0 marks a free place.
        self._known.put((node_id, session_id), (namespace, place, mark))
        return place, mark


class OwnClaims:
    """The owners of sessions, in the memory of this process alone."""

    def __init__(self, limit: int) -> None:
        """Start empty; beyond `limit` the session learnt first is forgotten."""
        self._owners: BoundedMap[tuple[int, int], tuple[str, bytearray]] = BoundedMap(limit)

    def claim(self, node_id: int, session_id: int, namespace: str) -> None:
        """Note that a session is this namespace's now."""
        key = (node_id, session_id)
        before = self._owners.get(key)
        if before is not None and before[0] == namespace:
            return
        held = bytearray(_HELD.to_bytes(8, sys.byteorder))
        forgotten = self._owners.put(key, (namespace, held))
        for owner in (before, None if forgotten is None else forgotten[1]):
            if owner is not None:
                owner[1][:] = bytes(8)

    def is_owned(self, node_id: int, session_id: int, namespace: str) -> bool:
        """Whether the session is this namespace's."""
        return self.proof(node_id, session_id, namespace) is not None

    def proof(self, node_id: int, session_id: int, namespace: str) -> Proof | None:
        """Return the proof that a session is this namespace's; None: it is not."""
        owner = self._owners.get((node_id, session_id))
        return None if owner is None or owner[0] != namespace else (owner[1], _HELD)

    def __len__(self) -> int:
        return len(self._owners)


class FetchSessions:
    """The fetch sessions at the brokers of one physical cluster, with their owners."""

    def __init__(self, claims: "OwnClaims | Claims | None" = None) -> None:
        """Keep the owners in `claims`; None: in a table of this process."""
        self.claims = OwnClaims(MAX_FETCH_SESSIONS) if claims is None else claims
        self.claim, self.is_owned, self.proof = self.claims.claim, self.claims.is_owned, self.claims.proof
        self._ownerships: WeakValueDictionary[tuple[int, str], FetchOwnership] = WeakValueDictionary()

    def of(self, node_id: int, namespace: str) -> FetchOwnership:
        """Return the sessions that connections of `namespace` to broker `node_id` may use: one object for all."""
        ownership = self._ownerships.get((node_id, namespace))
        if ownership is None:
            ownership = self._ownerships[node_id, namespace] = FetchOwnership(self, node_id, namespace)
        return ownership
