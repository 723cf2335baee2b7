"""Topics of a Stage with virtual partitions and filters: batches of them, and transforms that know their partition."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bifrost.filters.records import record_topics, tenant_records
from bifrost.filters.records.tenant_records import TenantRecords
from bifrost.filters.steps import RecordNeeds
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import ColumnRecord, Header
from bifrost.records.codec.memory import MemoryBudget
from bifrost.session.close_reason import CloseReason
from bifrost.tenancy.virtual_partitions.virtual_batches import marked_batch
from bifrost.transforms.record_transform import (
    BatchOutcome,
    BatchTransform,
    Direction,
    Failure,
    Known,
    Needs,
    PlacedTransform,
)
from bifrost.transforms.transform_kind import TransformKind
from bifrost.wire.error_codes import ErrorCode
from support.records.needing import Text
from support.records.record_columns import batch_of
from support.stage.divided import divided
from support.stage.filtered import filtered, policy
from support.stage.playbook import Playbook, Step
from support.stage.stage import Stage

IDEMPOTENT = (7, 1, 40)
NO_PRODUCER = (-1, -1, -1)


def batch(
    *of: Header,
    value: bytes = b"value",
    producer: tuple[int, int, int] = IDEMPOTENT,
    key: bytes | None = b"k",
    **fields: Any,
) -> bytes:
    """Return a batch of one record."""
    return batch_of([ColumnRecord(0, 0, key, value, of)], producer=producer, **fields)


def marked(one: bytes, group: int, *producer: int) -> bytes:
    """Return a batch as one of a group of virtual partitions."""
    found = marked_batch(one, group, *producer)
    return b"".join(found) if isinstance(found, tuple) else bytes(found)


def met(answers: dict[str, object]) -> Step:
    """Answer what the session waits for, which must be this."""

    def step(book: Playbook) -> str:
        (need,) = book.session.needs
        assert isinstance(need, RecordNeeds)
        found = {Text(name): answer for name, answer in answers.items()}
        assert need.keys == found.keys()
        book.play(
            lambda: book.session.meet(replace(need, known={**need.known, **found})), CloseReason.MALFORMED
        )
        return f"what {sorted(answers)} are is known"

    return step


class Opening(PlacedTransform, BatchTransform):
    """Puts in the place of each fetched batch what the key of its partition says, with the offset that it had."""

    hides_timestamps = True
    name = "opening"

    def __init__(self, partition: int = 0) -> None:
        self._partition = partition

    def at(self, partition: int) -> Opening:
        """See `PlacedTransform`."""
        return Opening(partition)

    def transform_batch(
        self, batch: ClientBatch, direction: Direction, known: Known, budget: MemoryBudget
    ) -> BatchOutcome:
        """See `BatchTransform`."""
        found = known.get(Text(f"key {self._partition}"))
        if isinstance(found, Failure):
            return found.rejected(direction, ErrorCode.CORRUPT_MESSAGE)
        if not isinstance(found, bytes):
            return Needs(frozenset({Text(f"key {self._partition}")}))
        return batch.base_offset.to_bytes(8, "big") + found[8:]


def use(kind: TransformKind, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> TenantRecords:
    """Give topic `orders` five virtual partitions on two, and a filter of this kind on both ways."""
    for module in (record_topics, tenant_records):
        monkeypatch.setattr(module, "kind_of", lambda _: kind)
    monkeypatch.setattr("bifrost.transforms.tenant_filters.kind_of", lambda _: kind)
    divided(stage, "orders")
    return filtered(stage, policy({"topics": ["orders"]}, require_key=True))
