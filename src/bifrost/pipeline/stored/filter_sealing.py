"""Opens and seals records as a filter EnvelopeEncryption does, where envelopes alone do not say how.

Which fields of a value are sealed, and by which key the keys of records are, a configuration says. The filter's own
transform opens and seals them; what it needs comes from the KEKs and the registry of the job:

    records ──▶ transform ──▶ records
                  │    ▲
                  ▼    │
             JobKeys, JobSchemas

A job takes any plaintext, or none; times and headers that tell of it are for consumers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bifrost.config.records.encryption_config import SealMode
from bifrost.config.records.filter_configs import FilterConfig
from bifrost.encryption.errors import EncryptionError
from bifrost.encryption.sealing_key import read_sealing_key
from bifrost.schemas.schema_key import SchemaKey
from bifrost.transforms.encryption.dek_needs import DekToOpen, DekToSeal, KeyOfTopic
from bifrost.transforms.encryption.envelope_encryption import kek_of, sealing_of
from bifrost.transforms.encryption.seal_rules import SealRules
from bifrost.transforms.record_transform import BatchTransform, Direction, Needs, Noted, Rejected
from bifrost.wire.error_codes import ErrorCode

if TYPE_CHECKING:
    from bifrost.encryption.place import Place
    from bifrost.pipeline.stored.job_keks import JobKeys
    from bifrost.pipeline.stored.job_schemas import JobSchemas
    from bifrost.records.codec.client_batch import ClientBatch
    from bifrost.records.codec.columns import Columns
    from bifrost.records.codec.memory import MemoryBudget
    from bifrost.transforms.record_transform import Key, RecordTransform


class NotAsSealed(EncryptionError):
    """Records are not as the filter leaves them, or cannot be sealed by it."""

    error_code = ErrorCode.CORRUPT_MESSAGE


@dataclass(frozen=True, slots=True)
class FilterSealing:
    """The filter of a topic; Spark sends it to the executors."""

    name: str
    """What the operator knows it by."""
    config: FilterConfig = field(repr=False)

    @property
    def has_sealed_keys(self) -> bool:
        """Whether keys of records are sealed."""
        return self.config.sealing_key is not None

    def with_sealing_key(self, text: str) -> FilterSealing:
        """Return the same with another key for the keys of records."""
        return FilterSealing(self.name, self.config.model_copy(update={"sealing_key": text}))


def says_how(config: FilterConfig) -> bool:
    """Whether a filter of a topic has to be known to open its records, beside its KEKs."""
    return config.mode is SealMode.FIELDS or config.sealing_key is not None


@dataclass(frozen=True, slots=True)
class _StoredRules(SealRules):
    """What a job says about a topic."""

    takes_plaintext: bool = False

    def refused(self, batch: ClientBatch, reason: str, code: ErrorCode) -> Rejected:
        """Return why a batch cannot be opened; the job says where it is."""
        return Rejected((), reason, code)

    def accepts_plaintext(self, batch: ClientBatch) -> bool:
        """Whether a batch that is not encrypted passes, however old it is."""
        return self.takes_plaintext

    def marked(self, columns: Columns, budget: MemoryBudget) -> Columns:
        """Return records that were not encrypted as they are."""
        return columns


class SealedRecords:
    """The records of one partition as a filter seals them."""

    def __init__(self, sealing: FilterSealing, place: Place, keys: JobKeys, *, takes_plaintext: bool) -> None:
        """Open and seal for a place.

        Args:
            sealing: the filter of the topic.
            place: the partition.
            keys: of the task.
            takes_plaintext: whether batches pass that are not encrypted.
        """
        config = sealing.config
        rules = _StoredRules(
            sealing.name,
            kek_of(config),
            place.cluster,
            place.topic,
            skips_missing_keys=False,
            plaintext_before_ms=None,
            sealing_key=None if config.sealing_key is None else read_sealing_key(config.sealing_key),
            takes_plaintext=takes_plaintext,
        )
        # Stored records may have a schema that is no longer one of their topic's subject.
        made = sealing_of(rules, config, ()).at(place.partition)
        assert not isinstance(made, BatchTransform), "sealed batches say themselves how they are sealed"
        self._transform: RecordTransform = made
        self._keys = keys
        self._schemas: JobSchemas | None = None

    def opened(
        self,
        batch: ClientBatch,
        columns: Columns,
        budget: MemoryBudget,
        check: Callable[[bytes], None] | None = None,
    ) -> Columns:
        """Return records in plain.

        Args:
            batch: their header.
            columns: the records as they are stored.
            budget: what the new ones are taken from.
            check: is told what names each DEK, and raises if the job must not open with it.
        Raises:
            KekUnavailable: a KEK that may open them cannot be asked.
            PipelineError: a registry gives no answer.
            RecordsError: they cannot be opened.
        """
        return self._run(Direction.FETCH, batch, columns, budget, check)

    def sealed(self, batch: ClientBatch, columns: Columns, budget: MemoryBudget) -> Columns:
        """Return records sealed.

        Raises:
            KekUnavailable: the KEK cannot be asked.
            PipelineError: a registry gives no answer.
            RecordsError: they cannot be sealed.
        """
        return self._run(Direction.PRODUCE, batch, columns, budget, None)

    def _run(
        self,
        direction: Direction,
        batch: ClientBatch,
        columns: Columns,
        budget: MemoryBudget,
        check: Callable[[bytes], None] | None,
    ) -> Columns:
        known: dict[Key, object] = {}
        outcome = self._transform.transform(batch, columns, direction, known, budget)
        while isinstance(outcome, Needs):
            assert not outcome.names <= known.keys()
            for key in outcome.names:
                if check is not None and isinstance(key, DekToOpen):
                    check(key.header)
                known[key] = self._answer(key)
            outcome = self._transform.transform(batch, columns, direction, known, budget)
        if isinstance(outcome, Rejected):
            raise NotAsSealed(outcome.reason or outcome.rejections[0].reason)
        made = outcome.outcome if isinstance(outcome, Noted) else outcome
        assert not isinstance(made, bytes | memoryview)
        return made

    def _answer(self, key: Key) -> object:
        if isinstance(key, DekToOpen):
            return self._keys.reading(key.context, key.header)
        if isinstance(key, DekToSeal):
            return self._keys.writing(key.context)
        if isinstance(key, KeyOfTopic):
            return self._keys.topic_key(key.context, key.sealing)
        assert isinstance(key, SchemaKey)
        if self._schemas is None:
            # What asks a registry needs packages that executors have for this alone.
            from bifrost.pipeline.stored.job_schemas import JobSchemas

            self._schemas = JobSchemas()
        return self._schemas.answer(key)
