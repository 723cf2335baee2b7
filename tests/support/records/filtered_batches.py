"""Batches that pass a filter EnvelopeEncryption as they do in a gateway; what it needs is there at once."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.config.records.record_filter import FilterName, RecordFilter
from bifrost.encryption.kek import Kek
from bifrost.encryption.sealing_key import SEALING_CONTEXT, SealingKey, id_of
from bifrost.keys.dek_keeper import DekKeeper
from bifrost.keys.kek_providers import KekProviders
from bifrost.keys.key_file import KeyFile
from bifrost.records.codec.client_batch import build_batch, read_columns
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.registry.schema_lookup import SchemaLookup
from bifrost.schemas.schema_key import SchemaKey
from bifrost.transforms.encryption.dek_needs import DekToOpen, DekToSeal, KeyOfTopic
from bifrost.transforms.record_transform import (
    BatchTransform,
    Direction,
    Key,
    Needs,
    Outcome,
    PlacedTransform,
    RecordTransform,
)
from bifrost.transforms.transform_kind import Topic, kind_of
from support.encryption.in_thread import in_thread
from support.records.record_columns import only_batch, plenty


def filter_config(keks: Path, key: str, **config: Any) -> FilterConfig:
    """Return the config of a filter that seals with a key file."""
    base = {"kms_provider": "KeyFile", "key_id": key, "key_file": str(keks)}
    return RecordFilter.model_validate({"name": "EnvelopeEncryption", "config": base | config}).config


def wrapped_sealing_key(keks: Path, name: str, key: bytes = bytes(range(32))) -> str:
    """Return a sealing key as its file has it, wrapped by a KEK of a key file."""
    return SealingKey(id_of(key), KeyFile(keks, name).wrap(key, SEALING_CONTEXT)).as_text()


class EncryptionFilter:
    """The filter of one topic."""

    def __init__(self, config: FilterConfig, cluster: str, physical: str, path: str = "orders") -> None:
        """Make it as a gateway does."""
        made = kind_of(FilterName.ENVELOPE_ENCRYPTION).make(
            "seal", config, Topic("acme", path, physical.encode(), cluster)
        )
        assert isinstance(made, PlacedTransform)
        self._made = made
        self._keeper = DekKeeper(lambda: time.monotonic_ns() // 1_000_000)
        self._keks: dict[Kek, KekProviders] = {}

    def sealed(self, data: bytes, partition: int = 0) -> bytes:
        """Return a batch as the broker gets it."""
        batch = only_batch(data)
        made = self._run(Direction.PRODUCE, data, partition)
        assert isinstance(made, Columns), made
        return build_batch(batch, made, plenty())

    def opened(self, data: bytes, partition: int = 0) -> list[ColumnRecord]:
        """Return the records that a consumer gets."""
        made = self._run(Direction.FETCH, data, partition)
        assert isinstance(made, Columns), made
        return made.records()

    def _run(self, direction: Direction, data: bytes, partition: int) -> Outcome:
        transform: RecordTransform | BatchTransform = self._made.at(partition)
        assert not isinstance(transform, BatchTransform)
        batch, known = only_batch(data), dict[Key, object]()
        columns = read_columns(batch, plenty())
        while True:
            found = transform.transform(batch, columns, direction, known, plenty())
            if not isinstance(found, Needs):
                return found
            known |= self._answers(found)

    def _answers(self, needs: Needs) -> Mapping[Key, object]:
        return {key: self._answer(key) for key in needs.names}

    def _answer(self, key: Key) -> object:
        if isinstance(key, SchemaKey):
            return in_thread(lambda: SchemaLookup(key.registry).answer(key))
        assert isinstance(key, DekToSeal | DekToOpen | KeyOfTopic)
        if key.kek not in self._keks:
            self._keks[key.kek] = KekProviders(key.kek)
        keks = self._keks[key.kek]
        if isinstance(key, DekToSeal):
            return self._keeper.writing(keks.writing, key.context)
        if isinstance(key, DekToOpen):
            return self._keeper.reading(keks.opening(key.header), key.context, key.header)
        return self._keeper.topic_key(keks.writing, key.context, key.sealing)
