"""SchemaValidator: rejects records whose key or value names no schema of their topic, or does not read under it.

At level `id` compiled code finds which schemas a batch names, mostly one, and nothing is made for a record. The other
levels read each payload. What the registry says of an ID comes from the source `schemas`. A record that takes long to
read is read by the source `readings`; all others here, one after the other, with pauses between them.
"""

from bifrost.config.records.fail_mode import FailMode
from bifrost.config.records.filter_configs import FilterConfig
from bifrost.config.records.schema_config import SchemaLevel, SchemaPart
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import BytesColumn, Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.schemas.readers.reader import Reader, SchemaError, TakesLong
from bifrost.schemas.record_check import ReadPart, fault_of
from bifrost.schemas.schema_ids import find_records_with, find_schema_ids
from bifrost.schemas.schema_key import SchemaAnswer, SchemaKey, SubjectStrategy
from bifrost.schemas.wire_format import (
    KEY_HEADER,
    NO_ID,
    TWO_IDS,
    VALUE_HEADER,
    SchemaId,
    read_payload,
)
from bifrost.transforms.batch_digest import digest_of
from bifrost.transforms.large_values import (
    AT_ONCE_NS,
    GivenRecords,
    LargeRecord,
    ReadRecords,
    ReadSpec,
    RecordsToRead,
)
from bifrost.transforms.large_values import SOURCE as READINGS
from bifrost.transforms.record_transform import (
    Direction,
    Failure,
    Known,
    Needs,
    Noted,
    Outcome,
    Rejected,
    Rejection,
    SteppedTransform,
)
from bifrost.transforms.schema_registry import MAX_IDS, SOURCE, names_of, registry_of
from bifrost.transforms.schema_step import SchemaStep
from bifrost.transforms.transform_kind import Topic, TransformKind
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

MAX_REJECTIONS = 1_000
"""Most records of a batch that the client is told of one by one; the batch is refused for all of them."""
_ROUNDS = 100
"""Reading a payload counts for so many rounds of a loop."""

_MISSING = {
    NO_ID: "it names no schema: there is neither an ID in front of it nor one in a header",
    TWO_IDS: "the header that names its schema is there twice",
}

Found = dict[SchemaId, Reader | None]
"""What reads the payloads of each schema; None: nothing is read."""


class _Stop(Exception):
    """Why a batch does not pass, or not yet."""

    def __init__(self, outcome: Rejected | Needs) -> None:
        super().__init__()
        self.outcome = outcome


class SchemaValidator(SteppedTransform):
    """Checks the records of one topic."""

    def __init__(self, name: str, config: FilterConfig, topic: Topic, *, most_ns: int = AT_ONCE_NS) -> None:
        """Prepare what `config` asks for.

        Args:
            name: what the operator knows the transform by.
            config: see `SchemaValidatorConfig`.
            topic: whose records are checked.
            most_ns: how long a record may take by estimate that is read here, in nanoseconds.
        """
        self._name, self._topic, self._most_ns = name, topic.name, most_ns
        self._spec = read_spec_of(topic.tenant, name, config)
        self._enforces, self._is_open = config.enforce, config.fail is FailMode.OPEN
        self._is_final = config.fail is FailMode.QUARANTINE
        self._reads = config.level is not SchemaLevel.ID
        self._parts = [part for part in SchemaPart if part in config.parts]
        self._strategy = SubjectStrategy(config.subject.value)
        self._max_bytes = config.max_payload_bytes
        self._registry = registry_of(config)
        self._topics = names_of(topic.name)
        self._checks, self._broken = None, None
        if config.level is SchemaLevel.RULES:
            # The library of the rules is loaded for those who have some.
            try:
                from bifrost.schemas.schema_checks import SchemaChecks

                self._checks = SchemaChecks([(one.name, one.expression) for one in config.checks])
            except (SchemaError, ImportError) as error:
                self._broken = f"{name}: its rules cannot be used: {error}"

    @property
    def name(self) -> str:
        """What the operator knows it by."""
        return self._name

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        """Return the records as they are, or why they must not pass; see `RecordTransform`."""
        try:
            is_checked = self._check(batch, columns, direction, known)
        except _Stop as stop:
            if isinstance(stop.outcome, Rejected) and not self._enforces:
                return Noted(columns, "unenforced", _reason_of(stop.outcome))
            return stop.outcome
        return columns if is_checked else Noted(columns, "unchecked")

    def step(self, direction: Direction) -> SchemaStep | None:
        """Return what lets batches pass whose IDs are known; None: the payloads have to be read."""
        if self._reads or self._broken is not None:
            return None
        checks_keys, checks_values = (one in self._parts for one in (SchemaPart.KEY, SchemaPart.VALUE))
        return SchemaStep(self._name, checks_keys, checks_values, self._key)

    def _key(self, schema_id: SchemaId, is_key: bool) -> SchemaKey:
        return SchemaKey(self._registry, schema_id, self._topics, is_key, self._strategy, self._reads)

    def _check(self, batch: ClientBatch, columns: Columns, direction: Direction, known: Known) -> bool:
        """Check all records; return whether each could be."""
        if self._broken is not None:
            raise _Stop(Rejected((), self._broken))
        readers: dict[SchemaPart, Found] = {}
        missing: set[SchemaKey] = set()
        failures: list[Failure] = []
        for part in self._parts:
            readers[part] = self._find(columns, part, known, missing, failures)
        if missing:
            raise _Stop(Needs(frozenset(missing)))
        if failures and not self._is_open:
            raise _Stop(self._failed(failures[0], direction))
        is_read = not self._reads or self._read(batch, columns, readers, known)
        return is_read and not failures

    def _find(
        self,
        columns: Columns,
        part: SchemaPart,
        known: Known,
        missing: set[SchemaKey],
        failures: list[Failure],
    ) -> Found:
        """Return what reads the keys or values; reject those whose ID is wrong."""
        is_key = part is SchemaPart.KEY
        ids = find_schema_ids(columns, is_key, MAX_IDS)
        if len(ids) > MAX_IDS:
            raise _Stop(
                Rejected((), f"{self._name}: the {part}s of the batch name more than {MAX_IDS} schemas")
            )
        wrong: dict[SchemaId, str] = {}
        found: Found = {}
        for one in ids:
            if one in _MISSING:
                wrong[one] = _MISSING[one]
                continue
            key = self._key(one, is_key)
            answer = known.get(key)
            if answer is None:
                missing.add(key)
            elif isinstance(answer, Failure):
                failures.append(answer)
            else:
                assert isinstance(answer, SchemaAnswer)
                if answer.reason is not None:
                    wrong[one] = answer.reason
                found[one] = answer.reader
        if wrong:
            raise _Stop(
                Rejected(
                    tuple(
                        Rejection(record, f"{self._name}: {part}: {wrong[one]}")
                        for record, one in find_records_with(columns, is_key, wrong, MAX_REJECTIONS)
                    )
                )
            )
        return found

    def _failed(self, failure: Failure, direction: Direction) -> Rejected:
        named = Failure(f"{self._name}: {failure.reason}", failure.is_retriable and not self._is_final)
        return named.rejected(direction, ErrorCode.INVALID_RECORD)

    def _read(
        self, batch: ClientBatch, columns: Columns, readers: dict[SchemaPart, Found], known: Known
    ) -> bool:
        """Read each record, and reject those that do not read or break a rule; return whether each could be read."""
        reasons: dict[int, str] = {}
        large: list[LargeRecord] = []
        key: RecordsToRead | None = None
        answer: object = None
        for record in in_steps(range(len(columns)), _ROUNDS):
            parts = self._parts_of(columns, record, readers)
            try:
                reason = self._too_large(parts) or fault_of(parts, self._checks, self._most_ns)
            except TakesLong:
                if key is None:
                    # What it is given is filled while the loop goes on.
                    key = self._to_read(batch, GivenRecords(large, reasons))
                    answer = self._answer(known, key)
                if isinstance(answer, ReadRecords):
                    reasons = dict(answer.reasons)
                    break
                if answer is None:
                    large.append(LargeRecord(record, parts))
                continue
            if reason is not None:
                reasons[record] = reason
                if len(reasons) >= MAX_REJECTIONS:
                    large.clear()
                    break
        if large and key is not None:
            raise _Stop(Needs(frozenset({key})))
        if reasons:
            found = sorted(reasons.items())[:MAX_REJECTIONS]
            raise _Stop(Rejected(tuple(Rejection(at, f"{self._name}: {why}") for at, why in found)))
        return not isinstance(answer, Failure)

    def _to_read(self, batch: ClientBatch, given: GivenRecords) -> RecordsToRead:
        return RecordsToRead(self._spec, self._topic, digest_of(batch.data), given)

    def _answer(self, known: Known, key: RecordsToRead) -> object:
        """Return what the process says; a Failure where records pass unread, None where it was not asked."""
        answer = known.get(key)
        if isinstance(answer, Failure) and not self._is_open:
            raise _Stop(self._failed(answer, Direction.PRODUCE))
        return answer

    def _too_large(self, parts: tuple[ReadPart, ...]) -> str | None:
        for part in parts:
            if len(part.payload.data) > self._max_bytes:
                return f"{part.name}: more than {self._max_bytes} bytes"
        return None

    def _parts_of(
        self, columns: Columns, record: int, readers: dict[SchemaPart, Found]
    ) -> tuple[ReadPart, ...]:
        """Return what of a record is read."""
        headers = columns.headers(record) if len(columns.header_keys) else ()
        found: list[ReadPart] = []
        for part, of_part in readers.items():
            is_key = part is SchemaPart.KEY
            data = _view(columns.keys if is_key else columns.values, record)
            if data is None:
                continue
            payload = read_payload(data, headers, KEY_HEADER if is_key else VALUE_HEADER)
            reader = of_part.get(payload.schema_id)
            if reader is None:
                # The registry gave no answer, and `fail: open` lets it pass.
                break
            found.append(ReadPart(part.value, reader, payload))
        return tuple(found)


def _view(column: BytesColumn, row: int) -> memoryview | None:
    """Return the bytes of a row where they are: a large value is not copied at once."""
    if column.is_null(row):
        return None
    start = column.offsets[row]
    return column.data[start : start + column.sizes[row]]


def read_spec_of(tenant: str, name: str, config: FilterConfig) -> ReadSpec:
    """Return what reads the large records of a filter."""
    checks = tuple((one.name, one.expression) for one in config.checks)
    return ReadSpec(tenant, name, config.max_payload_bytes, checks)


def _reason_of(rejected: Rejected) -> str:
    """Return why a batch would have been refused, by its first record."""
    return rejected.reason or rejected.rejections[0].reason


def _make(name: str, config: FilterConfig, topic: Topic) -> SchemaValidator:
    return SchemaValidator(name, config, topic)


KIND = TransformKind(frozenset({Direction.PRODUCE}), _make, sources=frozenset({SOURCE, READINGS}))
