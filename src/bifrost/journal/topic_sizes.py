"""The stored bytes of a topic, per partition and replica, and their snapshot record."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bifrost.journal.topic_names import topic_id_text

_NO_ID = b"\0" * 16


@dataclass(slots=True)
class Replica:
    """One partition, with its replicas."""

    leader: int
    """Node ID; -1: none."""
    sizes: dict[int, int | None]
    """Bytes by node ID of the replica; None while its broker has not told them."""


@dataclass(slots=True)
class TopicSizes:
    """One physical topic."""

    name: str
    topic_id: bytes = b""
    partitions: dict[int, Replica] = field(default_factory=dict)

    @property
    def node_ids(self) -> frozenset[int]:
        """The brokers that have replicas of the topic."""
        return frozenset(node_id for one in self.partitions.values() for node_id in one.sizes)

    def weigh(self, partition: int, node_id: int, size: int) -> None:
        """Add to the size of a replica; a broker tells more than one size if the replica lies on several disks."""
        one = self.partitions.get(partition)
        if one is not None and node_id in one.sizes:
            one.sizes[node_id] = (one.sizes[node_id] or 0) + size

    def facts(self) -> Mapping[str, str]:
        """Return the facts to remember of the topic, for `before` in events."""
        return {
            "partitions": str(len(self.partitions)),
            "replication_factor": str(self._replication_factor),
        }

    def snapshot(self, upstream: str, virtual: str) -> dict[str, Any]:
        """Return the fields of the schema's struct `snapshot`."""
        parts = [_partition(index, one) for index, one in sorted(self.partitions.items())]
        has_id = self.topic_id not in (b"", _NO_ID)
        return {
            "upstream": upstream,
            "topic": virtual,
            "physical_topic": self.name,
            "topic_id": topic_id_text(self.topic_id) if has_id else None,
            "partitions": parts,
            "partition_count": len(parts),
            "replication_factor": self._replication_factor,
            "bytes": _sum(part.get("bytes") for part in parts),
            "replica_bytes": _sum(part.get("replica_bytes") for part in parts),
        }

    @property
    def _replication_factor(self) -> int:
        first = min(self.partitions, default=None)
        return 0 if first is None else len(self.partitions[first].sizes)


def _partition(index: int, one: Replica) -> dict[str, Any]:
    fields: dict[str, Any] = {"partition": index, "leader": one.leader, "replicas": sorted(one.sizes)}
    leaders, all_of_them = one.sizes.get(one.leader), _sum(one.sizes.values())
    if leaders is not None:
        fields["bytes"] = leaders
    if all_of_them is not None:
        fields["replica_bytes"] = all_of_them
    return fields


def _sum(sizes: Iterable[int | None]) -> int | None:
    """Return the sum; None when one of the sizes is unknown."""
    known = list(sizes)
    return None if None in known else sum(one for one in known if one is not None)
