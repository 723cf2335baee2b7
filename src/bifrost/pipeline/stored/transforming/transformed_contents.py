"""What stored batches become in a copy that a transform changes: the filter's own rules, batch by batch, in plain.

    stored ──opened──▶ records ──PythonTransform, its process──▶ records ──built──▶ a plain batch of the copy

A batch of the copy is without producer and transaction, for sequences would have gaps where records are left out, and
its records have the times that their producers gave them.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass

from bifrost.config.records.fail_mode import FailMode
from bifrost.config.records.filter_configs import FilterConfig
from bifrost.encryption.kek import Kek
from bifrost.encryption.place import Place
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.stored.filter_sealing import FilterSealing
from bifrost.pipeline.stored.job_keks import JobKeys
from bifrost.pipeline.stored.opening import Opener
from bifrost.pipeline.stored.resealing import Content, parse, rebuilt, without_producer
from bifrost.pipeline.stored.sealing_facts import MAX_UNPACKED_BYTES
from bifrost.pipeline.stored.topic_copy import Copied
from bifrost.pipeline.stored.topic_log import StoredBatch
from bifrost.pipeline.stored.transforming.transform_process import TransformFile, TransformProcess
from bifrost.records.codec.client_batch import ClientBatch, build_batch, read_columns
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.record_transform import Direction, Needs, Noted, Rejected
from bifrost.transforms.transform_kind import Topic
from bifrost.transforms.user.python_transform import PythonTransform, UserRun


@dataclass(frozen=True, slots=True)
class TransformPlan:
    """What a job transforms; Spark sends it to the executors."""

    topic: str
    to: str
    cluster: str
    """What binds sealed records to the cluster."""
    tenant: str
    path: str
    """What the function is told of the topic: its name as clients of the tenant see it."""
    keks: tuple[Kek, ...]
    file: TransformFile
    direction: Direction
    fail: FailMode
    """What becomes of a batch for which the function fails."""
    sealing: FilterSealing | None = None
    """The filter that seals the topic, where that says how."""


class TransformedContents:
    """Batches that a transform changes; see `Contents`."""

    def __init__(self, plan: TransformPlan, keys: JobKeys, process: TransformProcess, partition: int) -> None:
        """Prepare for a partition."""
        self._opener = Opener(Place(plan.cluster, plan.topic, partition), keys, plan.sealing)
        self._process, self._direction = process, plan.direction
        config = FilterConfig(
            transform_file=plan.file.name,
            fail=plan.fail,
            timeout_ms=plan.file.timeout_ms,
            max_memory_bytes=plan.file.max_memory_bytes,
        )
        topic = Topic(plan.tenant, plan.path, plan.topic.encode(), plan.cluster)
        self._transform = PythonTransform(plan.file.name, config, topic)

    def copied(self, source: StoredBatch) -> Copied:
        """See `Contents`."""
        budget = MemoryBudget("batch", MAX_UNPACKED_BYTES)
        batch, columns = self._opener.opened(parse(source.data), budget)
        outcome = self._transform.transform(batch, columns, self._direction, {}, budget)
        if isinstance(outcome, Needs):
            answers: dict[object, object] = {}
            for key in outcome.names:
                assert isinstance(key, UserRun)
                answers[key] = self._process.run(key)
            outcome = self._transform.transform(batch, columns, self._direction, answers, budget)  # type: ignore[arg-type]
        if isinstance(outcome, Rejected):
            raise PipelineError(
                f"{source.topic}-{source.partition} at offset {source.base_offset}: {outcome.reason}"
            )
        passed = isinstance(outcome, Noted)
        made = outcome.outcome if isinstance(outcome, Noted) else outcome
        assert isinstance(made, Columns)
        if not len(made):
            return Copied(None, left_out=len(columns))
        is_produced = batch.producer_id >= 0 or batch.is_transactional
        return Copied(_plain(batch, made, budget), is_produced, len(columns) - len(made), passed)

    def stored(self, content: Content) -> bytes:
        """See `Contents`."""
        if not content.codec:
            return content.data
        batch, budget = parse(content.data), MemoryBudget("batch", MAX_UNPACKED_BYTES)
        packed = batch._replace(attributes=batch.attributes | content.codec)
        return build_batch(packed, read_columns(batch, budget), budget)

    def found(self, there: StoredBatch) -> bytes:
        """See `Contents`."""
        batch, budget = parse(there.data), MemoryBudget("batch", MAX_UNPACKED_BYTES)
        return _plain(batch, read_columns(batch, budget), budget).data


def _plain(batch: ClientBatch, columns: Columns, budget: MemoryBudget) -> Content:
    """Return records as a batch of the copy: equal records give equal bytes, however a broker has packed them."""
    first = columns.timestamp_deltas[0]
    times = array("q", (one - first for one in columns.timestamp_deltas))
    based = Columns(
        columns.offset_deltas,
        times,
        columns.keys,
        columns.values,
        columns.header_starts,
        columns.header_keys,
        columns.header_values,
    )
    moved = batch._replace(base_timestamp_ms=batch.base_timestamp_ms + first)
    content = rebuilt(moved, based, budget)
    return content._replace(data=without_producer(content.data))
