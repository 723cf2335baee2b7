"""The work on the records of one message: batch by batch, with pauses between them, within its memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bifrost.encryption.errors import OutOfOrder
from bifrost.filters.records.read_orders import LIMIT as ORDERS_LIMIT
from bifrost.filters.records.read_orders import OrderedPartition
from bifrost.filters.records.sources import KnownAnswers, RefusedRecords
from bifrost.filters.records.transform_meter import TIME, TransformKey
from bifrost.filters.records.unenforced_records import UnenforcedPlace
from bifrost.filters.steps import RecordNeeds
from bifrost.records.codec.client_batch import as_batch, read_columns, split_batches
from bifrost.records.codec.compression import NAMES
from bifrost.records.codec.errors import NoRoom, RecordsError, TooLarge
from bifrost.tenancy.names import VirtualTopic
from bifrost.transforms.chain import transform_batch
from bifrost.transforms.record_transform import (
    BatchTransform,
    Buffer,
    Direction,
    Key,
    Needs,
    RecordTransform,
    Rejected,
    Rejection,
)
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from bifrost.encryption.batch_order import BatchOrder
    from bifrost.filters.filter import Exchange
    from bifrost.filters.records.read_orders import ReadOrders
    from bifrost.filters.records.record_topics import RecordTopics, TopicChain
    from bifrost.records.codec.client_batch import ClientBatch
    from bifrost.records.codec.columns import Columns
    from bifrost.tenancy.policies.record_rules import RecordRules

_ROUNDS = 1_000
"""A batch counts for so many rounds of a loop: there may be a pause behind each."""

MAX_KEYS = 1_000
"""Most that a message asks its sources for at a time; for more it asks again."""

Pieces = tuple[Buffer, ...]
"""The batches of a partition, each where it was made: they are put together once, in the frame."""

MAX_NEEDS = 100
"""How often a message may ask: each time it is decided anew. More is a transform's mistake, or a message of more than
100,000 batches of which each needs something of its own."""

NEEDS_LIMIT = "record_needs"
"""What the bound is called where limits are counted."""


_ZSTD = NAMES.index("zstd")
FIRST_WITH_ZSTD = 7
"""Version of Produce that may have batches compressed with zstd (KIP-110)."""


class Refusal(NamedTuple):
    """Why records of a partition do not pass."""

    error_code: ErrorCode
    reason: str
    rejections: tuple[Rejection, ...] = ()


class RecordWork:
    """Transforms the records of one request or response.

    Use it as a context: what it made counts in the memory of the process until its end. A message that waits is worked
    on again from its beginning, so only then it is known what the metrics may count.
    """

    def __init__(
        self,
        topics: RecordTopics,
        direction: Direction,
        exchange: Exchange,
        *,
        is_all_or_nothing: bool | None = None,
        keeps_results: bool = False,
        is_again: bool = False,
    ) -> None:
        """Begin with nothing done.

        Args:
            topics: of the client.
            direction: the way of the message.
            exchange: of the message; it has what the message has waited for.
            is_all_or_nothing: whether the records of a partition go on only if all of them may; None: on produce.
            keeps_results: whether batches are not transformed again that were before the message had to wait.
            is_again: whether all of it was done and counted before, for a message that has waited for something else.
        """
        records = topics.records
        self._memory, self._tenant = records.process.memory, records.tenant
        self._orders = records.process.orders
        self._counts: Counter[TransformKey] = Counter()
        self._direction, self._meter = direction, records.meter(direction, self._counts)
        self._keeps_results, self._is_again, self._has_no_room = keeps_results, is_again, False
        self._budget = self._memory.of_request()
        self._made_bytes = 0
        met = exchange.met.get(RecordNeeds)
        assert met is None or isinstance(met, RecordNeeds)
        self._met = met
        self._sources = records.process.sources
        self._known = KnownAnswers(self._sources, {} if met is None else met.known)
        self._missing: set[Key] = set()
        self._topics, self._exchange = topics, exchange
        self._unenforced: dict[str, dict[str, tuple[int, str]]] = {}
        self._is_all_or_nothing = (
            direction is Direction.PRODUCE if is_all_or_nothing is None else is_all_or_nothing
        )

    def __enter__(self) -> RecordWork:
        """Begin."""
        return self

    def __exit__(self, kind: type[BaseException] | None, *_exception: object) -> None:
        """Give back what is taken, and count what was done if it is not done once more."""
        self._budget.give_back(self._made_bytes)
        waits = bool(self._missing) or self._has_no_room
        is_done = kind is None and not self._is_again and (self._keeps_results or not waits)
        counts = self._topics.records.process.counts
        for key, amount in self._counts.items():
            if is_done or key.number == TIME:
                counts[key] += amount

    @property
    def need(self) -> RecordNeeds | None:
        """What the message has to wait for; then what was returned for its records does not count."""
        if not self._missing:
            return None
        keys, met = frozenset(self._missing), self._met
        if met is None:
            return RecordNeeds(keys, {})
        return replace(met, keys=keys, rounds=met.rounds + 1)

    def end_topic(self, topic: str) -> None:
        """Keep what passed of a topic though a filter would refuse it."""
        found = self._meter.take_reasons()
        if found:
            self._unenforced[topic] = found

    def tell_unenforced(self) -> None:
        """Let the journal tell what passed so; when the message has all that it needs."""
        names = self._topics.namespace.names
        for topic, filters in self._unenforced.items():
            physical = names.physical_topic(VirtualTopic(topic.encode())).decode()
            for name, (count, reason) in filters.items():
                place = UnenforcedPlace(
                    self._tenant, name, names.path, self._exchange.scope.user, topic, physical
                )
                self._topics.records.process.unenforced.note(place, count, reason)

    def tell_refused(self, topic: str, partition: int, refusal: Refusal) -> None:
        """Let the log say that a consumer does not get records."""
        if self.need is None:
            self._sources.tell_refused(
                RefusedRecords(self._tenant, topic, partition, refusal.error_code, refusal.reason)
            )

    def columns(self, batch: ClientBatch) -> Columns:
        """Return the records of a batch, in the memory of the message.

        Raises:
            RecordsError: they cannot be read, or have no room.
        """
        return read_columns(batch, self._memory.of_batch(self._budget))

    def new_records(
        self, records: Buffer | Pieces, chain: TopicChain, partition: int
    ) -> Buffer | Pieces | Refusal:
        """Return the records of a partition as its transforms leave them: the same object if they change nothing.

        Else they are in pieces, one for each batch. They may come in pieces, as those of virtual partitions do.
        A batch whose transforms need something is passed over, and the others go on: so a message waits once for all
        that its batches need (`need`). A batch that needs something when the message may not ask any more cannot pass.

        A consumer gets the batches before one that cannot pass: it asks for that one next, and is told then. So it is
        with those that have no room any more in the memory of the response.

        Raises:
            NoRoom: others use the memory of the process now.
        """
        is_produce = self._direction is Direction.PRODUCE
        made: list[Buffer] = []
        is_same, transforms = True, chain.at(partition)
        has_no_zstd = is_produce and self._exchange.api_version < FIRST_WITH_ZSTD
        place = None if chain.sealed is None else OrderedPartition(self._tenant, *chain.sealed, partition)
        reading = _Reading(self._orders, place, self._missing)
        try:
            for batch in in_steps(_batches_of(records, is_whole=is_produce), _ROUNDS):
                violation = None if chain.rules is None else _violation(batch, chain.rules)
                if violation is not None:
                    return violation
                # The broker would say so, but a sealed batch does not tell it how the records are compressed.
                if has_no_zstd and batch.codec == _ZSTD:
                    return Refusal(
                        ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
                        f"zstd needs version {FIRST_WITH_ZSTD} of Produce, and this is {self._exchange.api_version}",
                    )
                budget = self._memory.of_batch(self._budget)
                outcome = transform_batch(
                    batch, transforms, self._direction, self._known, budget, self._meter
                )
                if isinstance(outcome, Needs):
                    if self._met is not None and self._met.rounds >= MAX_NEEDS:
                        return self._partly(made) or self._asked_too_often()
                    if self._may_ask_more():
                        self._missing |= outcome.names
                    continue
                if isinstance(outcome, Rejected):
                    return self._partly(made) or _rejected(outcome)
                if outcome is not batch.data:
                    is_same = False
                    self._take(len(outcome))
                reading.check(batch, outcome)
                made.append(outcome)
        except NoRoom as error:
            self._memory.note(error, self._tenant)
            self._has_no_room = True
            raise
        except RecordsError as error:
            return self._stopped(error, made, transforms)
        finally:
            for loser in reading.keep():
                self._memory.hits[ORDERS_LIMIT, loser] += 1
        return records if is_same else tuple(made)

    def _may_ask_more(self) -> bool:
        """Whether the message asks for what another batch needs as well, or later.

        What is given to a process holds the memory of the batch. Later batches have to be unpacked meanwhile, so no
        more than half of the memory of the message is held.
        """
        count, budget = len(self._missing), self._budget
        return count == 0 or (count < MAX_KEYS and budget.used <= budget.limit // 2)

    def _asked_too_often(self) -> Refusal:
        """Return the error of a batch that is not known to be good when the message has asked as often as it may.

        A producer that sent the same once more would have the same answer. A consumer asks for less: what was answered
        before has reached it, or is in the caches of the sources.
        """
        self._memory.hits[NEEDS_LIMIT, self._tenant] += 1
        is_produce = self._direction is Direction.PRODUCE
        error_code = ErrorCode.POLICY_VIOLATION if is_produce else ErrorCode.KAFKA_STORAGE_ERROR
        return Refusal(error_code, f"its filters asked {MAX_NEEDS} times for what they need")

    def _stopped(
        self,
        error: RecordsError,
        made: list[Buffer],
        transforms: Sequence[RecordTransform | BatchTransform],
    ) -> Pieces | Refusal:
        """Return what a client gets of a partition with a batch that cannot be read."""
        reason = str(error)
        if isinstance(error, TooLarge):
            self._memory.note(error, self._tenant)
            if error.bound == "request" and self._made_bytes and not self._is_all_or_nothing:
                return tuple(made)
        elif isinstance(error, OutOfOrder):
            self._meter.note(transforms[0].name, "rejections", None)
            reason = f"{transforms[0].name}: {reason}"
        return self._partly(made) or Refusal(error.error_code, reason)

    def _take(self, size: int) -> None:
        self._budget.take(size)
        self._made_bytes += size

    def _partly(self, made: list[Buffer]) -> Pieces:
        """Return the batches before one that cannot pass, as far as a client may have these alone."""
        return () if self._is_all_or_nothing else tuple(made)


class _Reading:
    """The order of a partition's batches while they are read; nothing where they prove none."""

    def __init__(
        self,
        orders: ReadOrders,
        place: OrderedPartition | None,
        missing: Collection[Key],
    ) -> None:
        self._orders, self._missing, self._place = orders, missing, place
        self._order: BatchOrder | None = None
        self._next_offset = 0

    def check(self, batch: ClientBatch, opened: Buffer) -> None:
        """Note that a batch is the next one.

        Raises:
            OutOfOrder: it was produced before one that stands before it.
        """
        if self._place is None or self._missing:
            return  # A message that lacks something is decided anew.
        if self._order is None:
            self._order = self._orders.at(self._place, batch.base_offset)
        if opened is not batch.data:
            proven = as_batch(opened)
            # What was left out has proved nothing. Transforms may leave out records, but the batch had all of them.
            if proven.record_count:
                self._order.check(proven._replace(record_count=batch.record_count))
        self._next_offset = batch.base_offset + batch.last_offset_delta + 1

    def keep(self) -> list[str]:
        """Remember what was read, for the Fetch that goes on behind it; return whose partitions made room."""
        if self._place is None or self._order is None or not self._next_offset or self._missing:
            return []
        return self._orders.keep(self._place, self._next_offset, self._order)


def _batches_of(records: Buffer | Pieces, *, is_whole: bool) -> Iterator[ClientBatch]:
    for piece in records if isinstance(records, tuple) else (records,):
        yield from split_batches(memoryview(piece), is_whole=is_whole)


def _violation(batch: ClientBatch, rules: RecordRules) -> Refusal | None:
    """Return why the policies of namespaces do not let a batch pass, by its header alone."""
    codec = NAMES[batch.codec] if batch.codec < len(NAMES) else str(batch.codec)
    found = rules.refuse_compression(codec)
    return None if found is None else Refusal(found.error_code, found.message)


def _rejected(outcome: Rejected) -> Refusal:
    reason = outcome.reason or "One or more records have been rejected"
    return Refusal(outcome.error_code, reason, outcome.rejections)
