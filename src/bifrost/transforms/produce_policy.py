"""ProducePolicy: refuses records that lack a key or a header or are too large, and batches in another compression."""

from bifrost.config.records.filter_configs import AcksName, CodecName, FilterConfig
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.compression import NAMES
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.record_search import find_records
from bifrost.transforms.record_transform import Direction, Known, Outcome, Rejected, Rejection
from bifrost.transforms.transform_kind import Topic, TransformKind
from bifrost.wire.error_codes import ErrorCode

MAX_REJECTIONS = 1_000
"""Most records of a batch that the client is told of one by one: the answer of a batch stays below some 100 KiB. The
batch is refused for all of them."""

_UNBOUNDED = 2**31
_NO_KEY, _TOO_LARGE = -1, -2
_ACKS = {AcksName.ALL: -1, AcksName.LEADER: 1, AcksName.NONE: 0}


class ProducePolicy:
    """Says of each record whether it may be written."""

    def __init__(self, name: str, config: FilterConfig) -> None:
        """Prepare what `config` asks for; `name` is what the operator knows the transform by."""
        self._name = name
        self._needs_key = config.require_key
        self._headers = [key.encode() for key in config.required_headers]
        self._max_bytes = config.max_record_bytes or _UNBOUNDED
        self._codecs = None if config.compression is None else frozenset(config.compression)
        self._looks_at_records = bool(self._needs_key or self._headers or config.max_record_bytes)
        self._reasons = {
            _NO_KEY: f"{name}: the record has no key",
            _TOO_LARGE: f"{name}: the record has more than {config.max_record_bytes} bytes",
        } | {at: f"{name}: the record has no header {key}" for at, key in enumerate(config.required_headers)}

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
        if self._codecs is not None and CodecName(NAMES[batch.codec]) not in self._codecs:
            allowed = ", ".join(sorted(self._codecs))
            reason = f"{self._name}: the batch is compressed by {NAMES[batch.codec]}, allowed: {allowed}"
            return Rejected((), reason, ErrorCode.POLICY_VIOLATION)
        if not self._looks_at_records:
            return columns
        found = find_records(columns, self._needs_key, self._headers, self._max_bytes, MAX_REJECTIONS)
        if not found:
            return columns
        return Rejected(tuple(Rejection(record, self._reasons[what]) for record, what in found))


def _make(name: str, config: FilterConfig, topic: Topic) -> ProducePolicy:
    return ProducePolicy(name, config)


def _refused_acks(config: FilterConfig) -> frozenset[int]:
    """Return the settings `acks` that producers may not have."""
    if config.acks is None:
        return frozenset()
    return frozenset(_ACKS.values()) - {_ACKS[one] for one in config.acks}


KIND = TransformKind(frozenset({Direction.PRODUCE}), _make, _refused_acks)
