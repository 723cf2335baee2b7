"""What a filter says about the sealing of one topic, and what follows for a batch that is not as it should be."""

from dataclasses import dataclass

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.kek import Kek
from bifrost.encryption.place import Place
from bifrost.encryption.sealing_key import SealingKey
from bifrost.records.codec.client_batch import ClientBatch, without_records
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.header_edit import edit_headers
from bifrost.transforms.record_transform import Direction, Failure, Noted, Rejected
from bifrost.wire.error_codes import ErrorCode

PLAINTEXT_HEADER = (b"bifrost.plaintext", b"true")
"""What consumers see on records that were not encrypted."""


@dataclass(frozen=True, slots=True)
class SealRules:
    """What a filter says about one topic."""

    name: str
    """What the operator knows the filter by."""
    kek: Kek
    cluster: str
    topic: str
    """Its physical name."""
    skips_missing_keys: bool
    """Whether records are left out whose key is missing."""
    plaintext_before_ms: int | None
    """Plaintext that is older passes, in milliseconds since 1970; None: none does."""
    sealing_key: SealingKey | None = None
    """What seals keys of records; None: they stay as they are."""
    is_virtual: bool = False
    """Whether its partitions are virtual ones."""

    @property
    def context(self) -> DekContext:
        """What its DEKs are for."""
        return DekContext(self.cluster, self.topic)

    def place(self, partition: int) -> Place:
        """Return one of its partitions."""
        return Place(self.cluster, self.topic, partition)

    def refused(self, batch: ClientBatch, reason: str, code: ErrorCode) -> Rejected:
        """Return why a batch does not pass. The client knows the partition; the topic has other names for others."""
        return Rejected((), f"{self.name}: offset {batch.base_offset}: {reason}", code)

    def without_dek(self, batch: ClientBatch, failure: Failure, direction: Direction) -> Rejected | Noted:
        """Return what becomes of a batch whose DEK is missing."""
        if direction is Direction.PRODUCE:
            # CORRUPT_MESSAGE would be tried again and again; a KEK that is gone does not come back by itself.
            return Failure(f"{self.name}: {failure.reason}", failure.is_retriable).rejected(
                direction, ErrorCode.POLICY_VIOLATION
            )
        if self.skips_missing_keys and not failure.is_retriable:
            return Noted(without_records(batch), "skipped")
        code = failure.rejected(direction, ErrorCode.CORRUPT_MESSAGE).error_code
        return self.refused(batch, failure.reason, code)

    def accepts_plaintext(self, batch: ClientBatch) -> bool:
        """Whether a batch that is not encrypted passes: it is older than the time that the filter names."""
        before_ms = self.plaintext_before_ms
        return before_ms is not None and 0 <= batch.max_timestamp_ms < before_ms

    def marked(self, columns: Columns, budget: MemoryBudget) -> Columns:
        """Return records that were not encrypted with the header that says so."""
        return edit_headers(columns, {}, list(PLAINTEXT_HEADER), 0, budget)
