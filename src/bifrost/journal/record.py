"""A record of the journal as it is written: JSON, without fields that would say nothing.

schema-v2.json defines the fields, docs/journal.md describes them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 2

Fields = Mapping[str, Any]
"""Values by the schema's names; None, 0, False and empty ones are left out where the absence means the same."""


class RecordKind(StrEnum):
    """The kinds of records."""

    USAGE = "usage"
    EVENT = "event"
    SNAPSHOT = "snapshot"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Source:
    """The gateway that writes, and its epoch."""

    gateway_id: str
    epoch: int
    """Larger at each start."""


def encode_record(
    source: Source,
    sequence: int,
    kind: RecordKind,
    tenant: str | None,
    interval: tuple[int, int],
    fields: Fields,
) -> bytes:
    """Return a record's value.

    Args:
        source: the gateway that writes the record.
        sequence: the record's number.
        kind: the kind of record.
        tenant: the tenant that the record belongs to; None: no tenant.
        interval: beginning and end of the time that the record covers, in milliseconds since 1970.
        fields: the fields of the kind's struct.
    """
    record: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "kind": kind,
        "gateway_id": source.gateway_id,
        "epoch": source.epoch,
        "sequence": sequence,
        "interval_start_ms": interval[0],
        "interval_end_ms": interval[1],
    }
    if tenant is not None:
        record["tenant"] = tenant
    record[kind] = said(fields, _REQUIRED[kind])
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def said(fields: Fields, required: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the fields with a value other than nothing, and the required ones."""
    return {
        name: value for name, value in fields.items() if value or (value is not None and name in required)
    }


def schema() -> dict[str, Any]:
    """Return the schema of version 2, which is that of version 1 and more: the JSON form of Spark's StructType."""
    text = Path(__file__).with_name("schema-v2.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


_REQUIRED: Mapping[RecordKind, frozenset[str]] = {
    RecordKind.USAGE: frozenset({"scope", "api_key", "api_version", "resource_name"}),
    RecordKind.EVENT: frozenset({"type", "outcome"}),
    RecordKind.SNAPSHOT: frozenset({"partitions", "partition_count", "bytes", "replica_bytes"}),
    RecordKind.DROP: frozenset({"first_sequence", "last_sequence"}),
}
"""Fields whose zero is written, because it differs from an absent field. None is never written."""
