"""Records of the journal as a gateway writes them, for the pipeline's tests."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from support.physical_names import physical_name

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
NOON_MS = int(datetime.datetime(2026, 10, 5, 12, tzinfo=datetime.UTC).timestamp() * 1000)
COLUMNS = "key BINARY, value BINARY, topic STRING, partition INT, offset LONG, timestamp TIMESTAMP"
NOW = datetime.datetime(2026, 10, 5, 12)


@dataclass
class Journal:
    """What one gateway writes: each record gets the next sequence number."""

    gateway_id: str = "gw-1"
    epoch: int = 7
    numbers: Iterator[int] = field(default_factory=count)

    def record(
        self, kind: str, tenant: str | None, end_ms: int, length_ms: int, **more: Any
    ) -> dict[str, Any]:
        return {
            "schema_version": 2,
            "kind": kind,
            "gateway_id": self.gateway_id,
            "epoch": self.epoch,
            "sequence": next(self.numbers),
            "interval_start_ms": end_ms - length_ms,
            "interval_end_ms": end_ms,
            **({} if tenant is None else {"tenant": tenant}),
            kind: more,
        }

    def topic(self, tenant: str, topic: str, end_ms: int = NOON_MS, **more: Any) -> dict[str, Any]:
        """Usage of a topic in ten seconds."""
        named = {
            "scope": "topic",
            "upstream": "main",
            "namespace": tenant,
            "principal": f"User:{tenant}",
            "topic": topic,
            "physical_topic": physical_name(tenant, topic),
            "api": "Produce",
            "api_key": 0,
            "api_version": 11,
        }
        return self.record("usage", tenant, end_ms, 10_000, **(named | more))

    def access(
        self, tenant: str, scope: str, name: str | None, end_ms: int = NOON_MS, **more: Any
    ) -> dict[str, Any]:
        """Usage of a group or a transactional ID, as `scope` says, in ten seconds."""
        named = {
            "scope": scope,
            "upstream": "main",
            "namespace": tenant,
            "principal": f"User:{tenant}",
            "resource_name": name,
            "physical_name": None if name is None else physical_name(tenant, name),
            "api": "Heartbeat" if scope == "group" else "EndTxn",
            "api_key": 12 if scope == "group" else 26,
            "api_version": 4,
            "requests": 1,
        }
        return self.record("usage", tenant, end_ms, 10_000, **(named | more))

    def requests(self, tenant: str, end_ms: int = NOON_MS, **more: Any) -> dict[str, Any]:
        """Usage by requests in ten seconds."""
        named = {
            "scope": "request",
            "upstream": "main",
            "namespace": tenant,
            "principal": f"User:{tenant}",
            "api": "Fetch",
            "api_key": 1,
            "api_version": 17,
        }
        return self.record("usage", tenant, end_ms, 10_000, **(named | more))

    def connections(self, tenant: str, end_ms: int = NOON_MS, **more: Any) -> dict[str, Any]:
        """Usage by connections in ten seconds."""
        named = {
            "scope": "connection",
            "upstream": "main",
            "namespace": tenant,
            "principal": f"User:{tenant}",
        }
        return self.record("usage", tenant, end_ms, 10_000, **(named | more))

    def event(self, tenant: str | None, end_ms: int = NOON_MS, **more: Any) -> dict[str, Any]:
        return self.record("event", tenant, end_ms, 0, **({"type": "denial", "outcome": "denied"} | more))

    def snapshot(
        self, tenant: str, topic: str, end_ms: int = NOON_MS, length_ms: int = 60_000, **more: Any
    ) -> dict[str, Any]:
        named = {
            "upstream": "main",
            "topic": topic,
            "physical_topic": physical_name(tenant, topic),
            "partitions": [],
            "partition_count": 3,
            "replication_factor": 3,
        }
        return self.record("snapshot", tenant, end_ms, length_ms, **(named | more))

    def drop(self, first: int, last: int, end_ms: int = NOON_MS) -> dict[str, Any]:
        what = {"dropped_kind": "event", "count": last - first + 1, "reason": "buffer_full"}
        return self.record("drop", None, end_ms, 0, first_sequence=first, last_sequence=last, **what)


Row = tuple[bytes | None, bytes | None, str, int, int, datetime.datetime]


def rows_of(records: Iterable[dict[str, Any] | bytes | None], first_offset: int = 0) -> list[Row]:
    """Return records as Spark's Kafka source gives them; bytes are a value as it is."""
    rows: list[Row] = []
    for offset, record in enumerate(records, first_offset):
        is_whole = isinstance(record, dict)
        key = record["tenant"].encode() if isinstance(record, dict) and "tenant" in record else None
        value = json.dumps(record).encode() if is_whole else record
        assert value is None or isinstance(value, bytes)
        rows.append((key, value, "journal", 0, offset, NOW))
    return rows
