"""A tenant of a Stage whose records take compiled ways: its filters, and sources that have what these need."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

from bifrost.config.records.record_filter import RecordFilter
from bifrost.encryption.dek import Dek, DekLimits, WritingDek
from bifrost.encryption.place import Place
from bifrost.filters.records.tenant_records import TenantRecords
from bifrost.filters.steps import RecordNeeds
from bifrost.records.codec.columns import ColumnRecord
from bifrost.schemas.schema_key import SchemaAnswer, SchemaKey
from bifrost.transforms.encryption.dek_needs import DekToOpen, DekToSeal
from bifrost.transforms.record_transform import Key
from support.encryption.key_files import encryption
from support.encryption.sealing import KEY, WRAPPED, sealed
from support.physical_names import physical_name
from support.records.needing import AtHand
from support.records.record_columns import batch_of
from support.stage.filtered import filtered
from support.stage.stage import Stage

CLUSTER = "cluster"
NONCE_PREFIX = b"8 random"
SCHEMA_ID = 7


class KeysAndSchemas(AtHand):
    """Has the one DEK, as far as `has_deks` says, and the answers to IDs of schemas."""

    def __init__(self) -> None:
        """Have them all."""
        super().__init__({})
        self.dek = Dek(KEY, WRAPPED)
        self.writing = WritingDek(self.dek, NONCE_PREFIX, DekLimits(), 0)
        self.has_deks = True
        self.schemas: dict[object, SchemaAnswer] = {SCHEMA_ID: SchemaAnswer()}
        self.looked_up: list[Key] = []

    def cached(self, key: Key) -> object | None:
        """See `Sources`."""
        self.looked_up.append(key)
        if isinstance(key, SchemaKey):
            return self.schemas.get(key.schema_id)
        if not self.has_deks:
            return None
        if isinstance(key, DekToSeal):
            return self.writing
        assert isinstance(key, DekToOpen)
        return self.dek if key.header == WRAPPED.as_bytes() else None

    def known(self, need: RecordNeeds) -> dict[Key, object]:
        """Return the answers to a need."""
        has_deks, self.has_deks = self.has_deks, True
        found = {key: self.cached(key) for key in need.keys}
        self.has_deks = has_deks
        return {key: answer for key, answer in found.items() if answer is not None}


def sealing(*topics: str, **config: Any) -> RecordFilter:
    """Return a filter that seals batches of these topics."""
    return RecordFilter.model_validate(
        encryption(Path("keks"), *topics, label="sealed", **({"cluster": CLUSTER} | config))
    )


def validating(*topics: str, **config: Any) -> RecordFilter:
    """Return a filter that looks at the IDs of schemas."""
    given = {"registry_url": "http://registry", "level": "id"} | config
    return RecordFilter.model_validate(
        {"name": "SchemaValidator", "label": "checked", "config": given, "rules": [{"topics": list(topics)}]}
    )


def on_ways(
    stage: Stage, *filters: RecordFilter, tenant: str = "acme", **limits: int
) -> tuple[TenantRecords, KeysAndSchemas]:
    """Give a tenant of the stage these filters; return them, and what has their answers."""
    records, sources = filtered(stage, *filters, tenant=tenant, **limits), KeysAndSchemas()
    records.process.sources = sources
    return records, sources


def place_of(topic: str, partition: int = 0, tenant: str = "acme") -> Place:
    """Return where the records of a topic are sealed."""
    return Place(CLUSTER, physical_name(tenant, topic), partition)


def next_dek(sealed_before: int = 0) -> WritingDek:
    """Return the same DEK as the sources have when so many batches were sealed with it."""
    made = WritingDek(Dek(KEY, WRAPPED), NONCE_PREFIX, DekLimits(), 0)
    for _ in range(sealed_before):
        made.take(1, 1)
    return made


_ids = count()


def value_of(schema_id: int = SCHEMA_ID) -> bytes:
    """Return a value that names a schema, each time another one."""
    return b"\0" + schema_id.to_bytes(4, "big") + b"payload %d" % next(_ids)


def batch(
    codec: int = 0,
    offset: int = 0,
    sequence: int = 40,
    count: int = 3,
    value: bytes = b"a secret",
    **more: Any,
) -> bytes:
    """Return a batch of an idempotent producer."""
    records = [ColumnRecord(i, i, b"key", value * 10) for i in range(count)]
    return batch_of(records, codec=codec, base_offset=offset, producer=(7, 3, sequence), **more)


def on_orders(data: bytes, sealed_before: int = 0, partition: int = 0) -> bytes:
    """Return a batch sealed for the topic `orders`."""
    return sealed(data, place_of("orders", partition), next_dek(sealed_before))
