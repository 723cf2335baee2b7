"""Transactional batches of a Produce: each gets the tag of its group and the next number of its physical partition.

    client ──▶ (V1: what does the broker know?) ──▶ (a claim, and whose is stored?) ──▶ tag and number ──▶ the broker

A transaction has one process that numbers it in a physical partition: the one whose claim is stored there
(transaction_claims.py). The requests in brackets are made before the first batch of a transaction; with transactions V1
the broker is asked whenever no batch of the producer is on its way. Where the numbers of an open transaction are those
of another process, the producer gets the abortable error of its version, and begins again with a new epoch.

Source: KIP-98, KIP-890 (Produce v12, TRANSACTION_ABORTABLE), KIP-588 (INVALID_PRODUCER_EPOCH is abortable).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.filters.filter import Exchange, Note
from bifrost.filters.steps import AtBroker
from bifrost.filters.virtual.division import RECORDS_ROUNDS, TopicKey, key_of, virtual_topics
from bifrost.filters.virtual.keyed_partitions import without_keys
from bifrost.filters.virtual.transactions.claimed_transactions import (
    ALL,
    FIRST_ABORTABLE,
    Asked,
    Part,
    Parts,
    next_need,
    take,
)
from bifrost.records.codec.errors import RecordsError, TooLarge
from bifrost.records.codec.memory import MemoryBudget
from bifrost.tenancy.names import VirtualTopic
from bifrost.tenancy.virtual_partitions.partition_map import VirtualPartition
from bifrost.tenancy.virtual_partitions.tagged_batches import MAX_UNPACKED, NullKeys, TransactionalBatch
from bifrost.tenancy.virtual_partitions.transaction_numbers import (
    LIMIT,
    LOST,
    SEND_AGAIN,
    Assigned,
    Key,
    Numbers,
    Place,
)
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceRequest
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.virtual.division import Shape
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup, PartitionMap
    from bifrost.wire.message import Struct


MAX_UNPACKED_OF_REQUEST = MAX_UNPACKED
"""Most bytes of the batches of a request, unpacked, which are there at the same time. Those beyond have to be sent
again: there is always room for the first one."""


class _Sent(NamedTuple):
    numbers: Numbers
    batch: Assigned


class _Batches:
    """Those of one request."""

    __slots__ = ("answers", "batches", "budget", "errors", "parts", "producers", "sent")

    def __init__(self) -> None:
        self.batches: dict[tuple[TopicKey, int], TransactionalBatch] = {}
        self.errors: dict[tuple[TopicKey, int] | Key, int] = {}
        """Of one batch, or of all of a producer, epoch and physical partition."""
        self.answers: dict[tuple[TopicKey, int], Struct] = {}
        """Whole answers for batches that have an error as well."""
        self.parts: Parts = {}
        self.producers: dict[Place, Key] = {}
        """Whose batches those of a physical partition are."""
        self.budget = MemoryBudget("request", MAX_UNPACKED_OF_REQUEST)
        self.sent: dict[tuple[TopicKey, int], _Sent] = {}


_BATCHES: Note[_Batches] = Note("transactional_batches")


def look_at(exchange: Exchange, request: ProduceRequest, shape: Shape) -> AtBroker | None:
    """Look at the batches of a transaction; a need: the broker is asked first.

    They are put into the order in which their requests go to the broker: that of the groups.
    """
    found = _read_all(exchange, request, shape)
    met = exchange.met.get(AtBroker)
    asked = take(exchange, found.parts, met) if isinstance(met, AtBroker) else Asked()
    need = next_need(exchange, request, found.parts, asked)
    if need is not None:
        virtual_topics(exchange).count("parts", 1)
        return need
    for at, code in asked.errors.items():
        found.errors[at] = code
    exchange.keep(_BATCHES, found)
    return None


def _read_all(exchange: Exchange, request: ProduceRequest, shape: Shape) -> _Batches:
    virtual, found = virtual_topics(exchange), _Batches()
    named: set[TopicKey] = set()
    for topic in in_steps(request.topic_data):
        key = key_of(topic, shape)
        partitions = virtual.map_of_either(*key)
        if partitions is None:
            continue
        _sort(topic, partitions)
        for one in in_steps(topic.partition_data, RECORDS_ROUNDS):
            place = key, one.index
            if place in found.batches or place in found.errors or key in named:
                found.errors[place] = int(ErrorCode.INVALID_REQUEST)
            elif request.acks != ALL:
                found.errors[place] = int(ErrorCode.INVALID_REQUIRED_ACKS)
            elif partitions.has(one.index):
                group, physical = partitions.place_of(VirtualPartition(one.index))
                key_group = group if partitions.is_keyed else None
                _read(exchange, found, place, physical, one.records or b"", key_group)
        named.add(key)
    return found


def _sort(topic: Any, partitions: PartitionMap) -> None:
    """Put the partitions of a topic into their order; those that are there twice, or not at all, stand behind."""
    own: dict[int, Any] = {}
    others = []
    for one in in_steps(topic.partition_data):
        if partitions.has(one.index) and one.index not in own:
            own[one.index] = one
        else:
            others.append(one)
    topic.partition_data = [*(own[index] for index in sorted(own)), *others]


def _read(
    exchange: Exchange,
    found: _Batches,
    place: tuple[TopicKey, int],
    physical: int,
    records: Any,
    key_group: int | None,
) -> None:
    name = _name(exchange, place[0])
    try:
        batch = TransactionalBatch(records, found.budget, key_group)
    except NullKeys as error:
        found.errors[place] = int(error.error_code)
        found.answers[place] = without_keys(place[1], error)
        return
    except RecordsError as error:
        is_for_others = isinstance(error, TooLarge) and error.bound == "request"
        found.errors[place] = SEND_AGAIN if is_for_others else int(error.error_code)
        return
    at: Key = batch.number.producer_id, batch.number.producer_epoch, (_physical(exchange, name), physical)
    if found.producers.setdefault(at[2], at) != at:
        # A claim for each would need a request of its own, and clients have one producer.
        found.errors[place] = int(ErrorCode.INVALID_REQUEST)
        return
    found.batches[place] = batch
    found.parts.setdefault(at, Part(name, batch))


def judge(
    exchange: Exchange, partition: Any, group: PartitionGroup, key: TopicKey, refused: int
) -> int | Struct:
    """Give a partition's batch its tag and number, or return the error or the answer with which it is refused.

    Args:
        exchange: that of the request.
        partition: of the request.
        group: of the partition.
        key: of its topic.
        refused: the error with which it is refused for another reason; 0: there is none.
    """
    virtual, found = virtual_topics(exchange), exchange.kept(_BATCHES)
    place = key, partition.index
    if place in found.errors:
        return found.answers.get(place, found.errors[place])
    batch = found.batches[place]
    partitions = virtual.map_of_either(*key)
    assert partitions is not None, "the topic had virtual partitions when the batches were looked at"
    where = (
        _physical(exchange, _name(exchange, key)),
        partitions.place_of(VirtualPartition(partition.index))[1],
    )
    number, numbers_of = batch.number, virtual.numbers
    at: Key = number.producer_id, number.producer_epoch, where
    numbers = numbers_of.find(at)
    if at in found.errors or numbers is None:
        # Those that were forgotten meanwhile, for others of the request, are asked for again.
        return _code(exchange, found.errors.get(at, SEND_AGAIN))
    if refused:
        # The client would give it up, and an earlier try may still be under way.
        return _code(exchange, LOST if numbers.waiting else refused)
    if numbers_of.use(at, group):
        virtual.hit(LIMIT)
    assigned = numbers.assign(group, number.sequence, number.record_count)
    if isinstance(assigned, int):
        return _code(exchange, assigned)
    found.sent[place] = _Sent(numbers, assigned)
    partition.records = batch.tagged(group, assigned.sequence)
    return 0


def forget_records(exchange: Exchange) -> None:
    """Forget what was unpacked: the request has what it needs, and its answer may be long in coming."""
    found = exchange.find(_BATCHES)
    if found is not None:
        found.batches, found.parts = {}, {}


def take_answer(exchange: Exchange, partition: Any, key: TopicKey) -> None:
    """Take the broker's answer to a batch, and make it that of its virtual partition."""
    found = exchange.find(_BATCHES)
    sent = None if found is None else found.sent.pop((key, partition.index), None)
    if sent is None:
        return
    was, batch = partition.error_code, sent.batch
    code = sent.numbers.answered(batch, was, partition.base_offset, partition.log_append_time_ms)
    code = _code(exchange, code)
    if code != was:
        partition.error_code, partition.error_message = code, None
        partition.base_offset = batch.offset if not code else -1
        partition.log_append_time_ms = batch.append_time_ms if not code else -1


def end_answers(exchange: Exchange) -> None:
    """Take it that there is no answer to the others."""
    found = exchange.find(_BATCHES)
    for sent in in_steps(() if found is None else found.sent.values()):
        sent.numbers.unanswered(sent.batch)


def _name(exchange: Exchange, key: TopicKey) -> str:
    return key[0] or exchange.scope.namespace.topic_of(key[1]) or ""


def _physical(exchange: Exchange, topic: str) -> bytes:
    names = exchange.scope.namespace.names
    return bytes(names.physical_topic(VirtualTopic(topic.encode())))


def _code(exchange: Exchange, code: int) -> int:
    if code != LOST:
        return code
    if exchange.api_version >= FIRST_ABORTABLE:
        return int(ErrorCode.TRANSACTION_ABORTABLE)
    # Java's producers abort after it (KIP-588); librdkafka takes it for a fence, and after a gap for a bug of its own.
    return int(ErrorCode.INVALID_PRODUCER_EPOCH)
