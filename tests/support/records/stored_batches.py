"""Batches that tests store in topics of a real broker by the library alone, sealed or in plain."""

from __future__ import annotations

import base64
import csv
import time
from collections.abc import Sequence
from pathlib import Path

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import seal_batch
from bifrost.encryption.sealed_values import seal_values
from bifrost.keys.dek_keeper import DekKeeper
from bifrost.keys.key_file import KeyFile
from bifrost.pipeline.stored.client_settings import ClientSettings, read_client_settings
from bifrost.pipeline.stored.topic_client import Topic, TopicClient
from bifrost.records.codec.client_batch import build_batch, read_columns
from bifrost.records.codec.columns import ColumnRecord
from support.records.record_columns import batch_of, only_batch, plenty

BEGIN_MS = 1_760_000_000_000
"""2025-10-09, 08:53:20 UTC."""
DAY_MS = 86_400_000
PAYMENTS, OLD, COMPACTED, PLAIN = "planted-payments", "planted-old", "planted-compacted", "planted-plain"
SECRET = b"4111 1111 1111 1111"
ANY_TIME = {"message.timestamp.after.max.ms": str(2**63 - 1), "retention.ms": "-1"}


def settings_of(bootstrap: str) -> ClientSettings:
    """Return how jobs reach a broker without security."""
    return read_client_settings(bootstrap, {})


def write_keks(path: Path, *keks: tuple[str, int]) -> Path:
    """Write a key file with these names and versions; the same ones are always the same keys."""
    lines = []
    for name, version in keks:
        key = (name.encode() * 32)[:31] + bytes([version])
        lines.append(f"{name} {version} {base64.b64encode(key).decode()}")
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o600)
    return path


class Planter:
    """Stores batches in topics."""

    def __init__(self, bootstrap: str, keks: Path) -> None:
        """Connect to brokers; KEKs are those of a key file."""
        self.client = TopicClient(settings_of(bootstrap))
        self.keks = keks
        self._sequences: dict[tuple[str, int, int], int] = {}

    def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        """Create a topic."""
        named = {key.replace("_", "."): value for key, value in configs.items()}
        self.client.create_topic(Topic(topic, partitions, False, 1), ANY_TIME | named)

    def batch(
        self,
        topic: str,
        values: Sequence[bytes | None],
        *,
        partition: int = 0,
        codec: int = 4,
        at_ms: int = BEGIN_MS,
        producer_id: int = -1,
    ) -> bytes:
        """Return the next batch of a producer."""
        producer = (-1, -1, -1)
        if producer_id >= 0:
            key = (topic, partition, producer_id)
            producer = (producer_id, 0, self._sequences.get(key, 0))
            self._sequences[key] = producer[2] + len(values)
        records = [
            ColumnRecord(i, i, f"key-{i}".encode(), value, ((b"h", b"x"),)) for i, value in enumerate(values)
        ]
        return batch_of(records, codec=codec, base_timestamp_ms=at_ms, producer=producer)

    def plant(self, topic: str, data: bytes, *, kek: str = "", partition: int = 0) -> int:
        """Store a batch, sealed by a KEK or as it is; return its base offset."""
        if kek:
            keeper, provider = DekKeeper(lambda: int(time.monotonic() * 1000)), KeyFile(self.keks, kek)
            dek = keeper.writing(provider, DekContext(self.cluster, topic))
            place = Place(self.cluster, topic, partition)
            data = seal_batch(only_batch(data), place.binding, dek, plenty())
        return self.client.produce(topic, partition, data)

    def plant_values(self, topic: str, data: bytes, kek: str, partition: int = 0) -> int:
        """Store a batch with each value sealed by itself."""
        keeper, provider = DekKeeper(lambda: int(time.monotonic() * 1000)), KeyFile(self.keks, kek)
        dek = keeper.writing(provider, DekContext(self.cluster, topic))
        batch, binding = only_batch(data), Place(self.cluster, topic, partition).binding
        columns = seal_values(read_columns(batch, plenty()), binding, dek, plenty())
        return self.client.produce(topic, partition, build_batch(batch, columns, plenty()))

    @property
    def cluster(self) -> str:
        """Kafka's ID of the cluster."""
        if not self.client.cluster_id:
            self.client.topics()
        return self.client.cluster_id


def plant_topics(planter: Planter) -> None:
    """Store two versions of a KEK, another KEK, plaintext of two producers, and a topic that nothing encrypts."""
    write_keks(planter.keks, ("pay", 1), ("old", 4))
    for topic in (PAYMENTS, OLD, PLAIN):
        planter.create(topic, 2)
    planter.create(COMPACTED, 1, cleanup_policy="compact")
    planter.plant(PAYMENTS, planter.batch(PAYMENTS, [SECRET] * 3, producer_id=11), kek="pay")
    write_keks(planter.keks, ("pay", 1), ("pay", 2), ("old", 4))
    later = planter.batch(PAYMENTS, [SECRET] * 2, at_ms=BEGIN_MS + DAY_MS, producer_id=11)
    planter.plant(PAYMENTS, later, kek="pay")
    planter.plant(PAYMENTS, planter.batch(PAYMENTS, [SECRET], at_ms=BEGIN_MS + 2 * DAY_MS, producer_id=12))
    planter.plant(PAYMENTS, planter.batch(PAYMENTS, [SECRET] * 4, partition=1), partition=1)
    planter.plant(PAYMENTS, planter.batch(PAYMENTS, [SECRET] * 5, partition=1), kek="pay", partition=1)
    planter.plant(OLD, planter.batch(OLD, [SECRET] * 70, codec=1), kek="old")
    planter.plant_values(COMPACTED, planter.batch(COMPACTED, [SECRET, None]), "old")
    planter.plant(COMPACTED, planter.batch(COMPACTED, [None]))
    planter.plant(PLAIN, planter.batch(PLAIN, [b"x"]))


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a file of comma-separated values."""
    with path.open() as file:
        return list(csv.DictReader(file))
