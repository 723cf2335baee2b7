"""Produce to virtual partitions: each batch gets the mark of its group, and each group a request of its own.

The mark is in the batch's producer ID. A client that is no idempotent producer has none, so its batches of all groups
but the first are written by a producer of the connection's own (`OwnProducer`). The producer ID of a transaction is the
one that the coordinator knows, which leaves no room for a mark: see transactions/transactional_batches.py. In
compacted topics keys get their group as well (keyed_partitions.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from bifrost.filters import namespace as translation
from bifrost.filters.steps import FORWARD, AtBroker, Close, Forward, RequestStep, ResponseStep
from bifrost.filters.virtual.division import (
    MAX_PARTS,
    RECORDS_ROUNDS,
    Division,
    Shape,
    TopicKey,
    add_topic,
    divide,
    in_one_piece,
    join,
    key_of,
    virtual_topics,
)
from bifrost.filters.virtual.keyed_partitions import KeyedPartitions
from bifrost.filters.virtual.transactions import transactional_batches
from bifrost.tenancy.virtual_partitions.partition_map import FIRST_GROUP, VirtualPartition
from bifrost.tenancy.virtual_partitions.virtual_batches import (
    CORRUPT,
    FOREIGN_PRODUCER,
    OLD_FORMAT,
    SEVERAL,
    TRANSACTIONAL,
    UnfitBatch,
    has_producer,
    marked_batch,
)
from bifrost.wire.codec import decode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.headers import response_body_offset
from bifrost.wire.message import Struct
from bifrost.wire.messages import InitProducerIdRequest, ProduceResponse
from bifrost.wire.programs import compile_layout
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bifrost.filters.filter import Exchange
    from bifrost.filters.virtual.partition_way import PartitionTrip
    from bifrost.tenancy.virtual_partitions.own_producer import OwnProducer
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
    from bifrost.wire.entity import Entity
    from bifrost.wire.messages import ProduceRequest

MAX_DIVIDED_BYTES = 16 * 1024 * 1024
"""Most bytes of records in a Produce that has to be divided: its parts are copies, which count in no limit of memory.
The requests of Java's producer have 1 MiB (`max.request.size`), those of librdkafka one partition."""
_INIT_VERSION = 1
"""Of InitProducerId, which brokers have from 2.0 on."""

_REFUSED = {
    CORRUPT: ErrorCode.CORRUPT_MESSAGE,
    OLD_FORMAT: ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
    SEVERAL: ErrorCode.INVALID_RECORD,
    TRANSACTIONAL: ErrorCode.INVALID_TXN_STATE,
    FOREIGN_PRODUCER: ErrorCode.INVALID_PRODUCER_ID_MAPPING,
}
_REASONS = {
    ErrorCode.MESSAGE_TOO_LARGE: f"at most {MAX_DIVIDED_BYTES} bytes are divided by virtual partitions",
    ErrorCode.INVALID_TXN_STATE: "a batch is part of a transaction if its request is",
    ErrorCode.TRANSACTION_ABORTABLE: "the sequences of the transaction are not known here",
    ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT: "topics with virtual partitions take batches of format 2 alone",
}

_DIVISION = Division(
    Shape("topic_data", "name", "partition_data", "index"),
    Shape("responses", "name", "partition_responses", "index"),
    lambda name, topic_id: ProduceResponse.TopicProduceResponse(name=name, topic_id=topic_id),
    lambda index, error: ProduceResponse.PartitionProduceResponse(
        index=index,
        error_code=error,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1,
        error_message=_REASONS.get(ErrorCode(error)),
    ),
    RECORDS_ROUNDS,
)


class ProducedPartitionsFilter:
    """Marks what producers send."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ProduceRequest) -> RequestStep:
        """Mark the batches, and divide them by group."""
        producer, sent = exchange.scope.producer, _measured(exchange, request)
        assert producer is not None, "connections of tenants with virtual partitions have one"
        is_transactional = request.transactional_id is not None
        need: AtBroker | None
        if is_transactional:
            need = transactional_batches.look_at(exchange, request, _DIVISION.request)
            if need is not None:
                return need
        elif sent.unnamed and not producer.has_epochs(sent.unnamed):
            need = _begin(exchange, producer)
            if need is not None:
                return need
        refused = 0
        if len(sent.groups) > 1 and sent.size > MAX_DIVIDED_BYTES:
            refused = int(ErrorCode.MESSAGE_TOO_LARGE)

        keyed = KeyedPartitions(virtual_topics(exchange))

        def judge(partition: Any, group: PartitionGroup, key: TopicKey) -> int | Struct:
            code: int | Struct = refused
            if is_transactional:
                code = transactional_batches.judge(exchange, partition, group, key, refused)
            elif not code:
                code = _mark(partition, group, key, producer, keyed)
            virtual_topics(exchange).count("refused_batches", bool(code))
            return code

        # Nothing is awaited where there is no answer, and the client could not be told to send again.
        has_refused = divide(exchange, request, _DIVISION, judge, MAX_PARTS if request.acks else None)
        transactional_batches.forget_records(exchange)
        if has_refused and request.acks == 0:
            return Close("a Produce without an answer has batches that must not pass")
        if request.acks == 0:
            exchange.wants_response = False
        return FORWARD

    def on_response(self, exchange: Exchange, response: ProduceResponse) -> ResponseStep:
        """Join the answers; the request may also have gone on without being decoded."""
        if exchange.trip is not None:
            return _joined(exchange, response, cast("PartitionTrip", exchange.trip))

        def change(partition: Any, group: PartitionGroup, key: TopicKey) -> None:
            transactional_batches.take_answer(exchange, partition, key)

        join(exchange, response, _DIVISION, change)
        transactional_batches.end_answers(exchange)
        return FORWARD


def _joined(exchange: Exchange, response: ProduceResponse, trip: PartitionTrip) -> ResponseStep:
    """Put the answers to all requests that one became on the compiled way into the last one."""
    joined: dict[TopicKey, Any] = {}
    for part, answer in enumerate([*_part_answers(exchange, trip), response]):
        if not isinstance(answer, ProduceResponse):
            return answer
        response.throttle_time_ms = max(response.throttle_time_ms, answer.throttle_time_ms)
        for topic in in_steps(answer.responses):
            key = topic.name.encode() if topic.name else topic.topic_id
            for partition in in_steps(topic.partition_responses if trip.has(key) else ()):
                virtual = trip.virtual_of(key, partition.index, part)
                if virtual < 0:
                    return Close("an answer names a partition that the request did not name")
                partition.index = virtual
            add_topic(joined, topic, _DIVISION.response)
    response.responses = list(joined.values())
    return FORWARD


def _part_answers(exchange: Exchange, trip: PartitionTrip) -> Iterator[ProduceResponse | ResponseStep]:
    """Yield the answers to all parts but the last with the client's names; a Need or Close: there are no more."""
    schema, version = ProduceResponse.SCHEMA, exchange.api_version
    for frame in trip.answers:
        offset, _ = response_body_offset(frame, schema.response_header_version(version) >= 1)
        answer: Any = decode(compile_layout(schema.name, version), frame, offset)
        step = translation.to_virtual(exchange.scope.namespace, answer, version, knows_former=True)
        yield answer if isinstance(step, Forward) else step


class _Measured(NamedTuple):
    """What a request has for virtual partitions."""

    unnamed: int
    """Batches that need a producer ID and have none."""
    groups: set[int]
    size: int
    """Of all records, in bytes."""


def _measured(exchange: Exchange, request: ProduceRequest) -> _Measured:
    virtual, unnamed, size = virtual_topics(exchange), 0, 0
    groups: set[int] = set()
    for topic in in_steps(request.topic_data):
        partitions = virtual.map_of_either(*key_of(topic, _DIVISION.request))
        if partitions is None:
            continue
        for partition in in_steps(topic.partition_data):
            # Filters of records leave pieces.
            records = partition.records = in_one_piece(partition.records)
            size += len(records)
            if partitions.has(partition.index):
                group, _ = partitions.place_of(VirtualPartition(partition.index))
                groups.add(group)
                unnamed += group != FIRST_GROUP and not has_producer(records)
    return _Measured(unnamed, groups, size)


def _begin(exchange: Exchange, producer: OwnProducer) -> AtBroker | None:
    """Give the connection's producer an ID; a need: it is asked for first. Where the broker gives none, its error is
    that of each batch which needs one."""
    met = exchange.met.get(AtBroker)
    if not isinstance(met, AtBroker):
        # It begins no transaction; a broker checks the timeout all the same.
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        return AtBroker(((request, _INIT_VERSION),))
    answer = met.answers[0]
    producer.begin(-1 if answer.error_code else answer.producer_id)
    return None


def _mark(
    partition: Any, group: PartitionGroup, key: TopicKey, producer: OwnProducer, keyed: KeyedPartitions
) -> int | Struct:
    """Mark the batch of a partition, or return the error or the answer with which it is refused."""
    records = partition.records or b""
    try:
        if keyed.has(key):
            # What is wrong with a batch shows before it is unpacked.
            marked_batch(records, FIRST_GROUP)
            records = keyed.batch(partition.index, group, records)
            if isinstance(records, int | Struct):
                return records
        if group == FIRST_GROUP or has_producer(records):
            partition.records = marked_batch(records, group)
        elif producer.producer_id < 0:
            return int(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        else:
            epoch = producer.take_epoch()
            partition.records = marked_batch(records, group, producer.producer_id, epoch)
    except UnfitBatch as unfit:
        return int(_REFUSED[unfit.fault])
    return 0
