"""What a broker is asked before a transaction's batches get numbers: what it knows, and to store a claim.

    transactions V1:  DescribeProducers ──▶ numbers that hold, an error, or a claim that is wanted
    all:              Produce of the claims ──▶ Fetch of what is stored there ──▶ numbers, or an error

Each has what is asked about all physical partitions of the client's request. transaction_claims.py says why it is
enough. The account at the brokers must have the right to read the topic, as DescribeProducers needs it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from bifrost.filters.steps import AtBroker
from bifrost.filters.virtual.division import virtual_topics
from bifrost.tenancy.virtual_partitions.tagged_batches import mark_of
from bifrost.tenancy.virtual_partitions.transaction_claims import Wanted
from bifrost.tenancy.virtual_partitions.transaction_numbers import (
    GAP,
    LOST,
    NOTHING_KNOWN,
    REPEATED,
    SEND_AGAIN,
    Key,
    Known,
)
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import DescribeProducersRequest, FetchRequest, ProduceRequest
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.tenancy.virtual_partitions.tagged_batches import TransactionalBatch

FIRST_ABORTABLE = 12
"""Version of Produce from which on clients know TRANSACTION_ABORTABLE, and each epoch has one transaction."""
ALL = -1
"""Acks without which no broker takes part in a transaction: a producer must know what is stored."""
_DESCRIBE_VERSION, _FETCH_VERSION = 0, 4
"""Brokers have these, and they name topics."""
_CLAIM_BYTES = 4096
"""As many are read of each claim, which has some 140."""
_PASSED_ON = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)
"""Errors of a Fetch of a claim that say the same of a Produce."""


class Part(NamedTuple):
    """The batches of one producer, epoch and physical partition."""

    topic: str
    first: TransactionalBatch


Parts = dict[Key, Part]


class Asked:
    """What was asked of the broker for a request, as the plan of its needs."""

    __slots__ = ("claims", "errors", "offsets", "settled", "unknown")

    def __init__(self) -> None:
        self.claims: dict[Key, Wanted] = {}
        self.offsets: dict[Key, int] = {}
        """Where the broker says that they are stored."""
        self.errors: dict[Key, int] = {}
        self.settled: set[Key] = set()
        """Those with numbers that hold."""
        self.unknown: list[Key] = []
        """Those of which the broker is asked what it knows."""


def next_need(exchange: Exchange, request: ProduceRequest, parts: Parts, asked: Asked) -> AtBroker | None:
    """Return what the broker is asked next, or what it is asked to store; None: all is known."""
    numbers_of, sender = virtual_topics(exchange).numbers, exchange.scope.producer
    if asked.offsets:
        return AtBroker(((_fetch(parts, asked), _FETCH_VERSION),), asked)
    for key in parts:
        if key in asked.errors or key in asked.settled or key in asked.claims:
            continue
        numbers = numbers_of.find(key)
        if numbers is not None and not numbers.must_ask(sender):
            numbers.go_on(sender)
        elif numbers is None and _is_one_transaction(exchange):
            asked.claims[key] = Wanted(0, is_joined=False)
        else:
            asked.unknown.append(key)
    if asked.unknown:
        new = DescribeProducersRequest
        topics = [
            new.TopicRequest(name=name, partition_indexes=[key[2][1] for key in keys])
            for name, keys in _by_topic(parts, asked.unknown).items()
        ]
        return AtBroker(((new(topics=topics), _DESCRIBE_VERSION),), asked)
    claimed = [key for key in asked.claims if key not in asked.settled and key not in asked.errors]
    if claimed:
        version = min(exchange.api_version, FIRST_ABORTABLE)
        return AtBroker(((_claims(exchange, request, parts, asked, claimed), version),), asked)
    return None


def _claims(
    exchange: Exchange, request: ProduceRequest, parts: Parts, asked: Asked, keys: list[Key]
) -> ProduceRequest:
    """Return a request with the claims of producers, each of another physical partition."""
    claims, new_mark = virtual_topics(exchange).numbers.claims, exchange.scope.namespace.new_id
    new = ProduceRequest

    def data(key: Key) -> ProduceRequest.PartitionProduceData:
        number = asked.claims[key].number
        records = parts[key].first.claim(number, claims.mark(key, number, new_mark))
        return new.PartitionProduceData(index=key[2][1], records=records)

    topics = [
        new.TopicProduceData(name=name, partition_data=[data(key) for key in some])
        for name, some in _by_topic(parts, keys).items()
    ]
    return new(
        transactional_id=request.transactional_id,
        acks=ALL,
        timeout_ms=request.timeout_ms,
        topic_data=topics,
    )


def _fetch(parts: Parts, asked: Asked) -> FetchRequest:
    """Return a request for what is stored where claims should be."""
    new = FetchRequest

    def partition(key: Key) -> FetchRequest.FetchPartition:
        return new.FetchPartition(
            partition=key[2][1], fetch_offset=asked.offsets[key], partition_max_bytes=_CLAIM_BYTES
        )

    topics = [
        new.FetchTopic(topic=name, partitions=[partition(key) for key in some])
        for name, some in _by_topic(parts, list(asked.offsets)).items()
    ]
    most = _CLAIM_BYTES * len(asked.offsets)
    return new(replica_id=-1, max_wait_ms=0, min_bytes=1, max_bytes=most, isolation_level=0, topics=topics)


def _by_topic(parts: Parts, keys: list[Key]) -> dict[str, list[Key]]:
    topics: dict[str, list[Key]] = {}
    for key in keys:
        topics.setdefault(parts[key].topic, []).append(key)
    return topics


def take(exchange: Exchange, parts: Parts, met: AtBroker) -> Asked:
    """Take what the broker has answered."""
    asked, (answer,), ((request, _),) = met.plan, met.answers, met.requests
    assert isinstance(asked, Asked)
    match request.SCHEMA.api_key:
        case ApiKey.DESCRIBE_PRODUCERS:
            _take_known(exchange, parts, asked, answer)
        case ApiKey.PRODUCE:
            _take_claims(parts, asked, answer)
        case _:
            _take_stored(exchange, parts, asked, answer)
    return asked


def _take_known(exchange: Exchange, parts: Parts, asked: Asked, answer: Any) -> None:
    told = {
        (topic.name, one.partition_index): one
        for topic in in_steps(answer.topics)
        for one in in_steps(topic.partitions)
    }
    while asked.unknown:
        key = asked.unknown.pop()
        one = told.get((parts[key].topic, key[2][1]))
        if one is None or one.error_code:
            asked.errors[key] = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) if one is None else one.error_code
            continue
        known = next(
            (
                Known(producer.producer_epoch, producer.last_sequence, producer.current_txn_start_offset)
                for producer in in_steps(one.active_producers)
                if producer.producer_id == key[0]
            ),
            NOTHING_KNOWN,
        )
        checked = virtual_topics(exchange).numbers.check(key, known, exchange.scope.producer)
        if isinstance(checked, int):
            asked.errors[key] = checked
        elif isinstance(checked, Wanted):
            asked.claims[key] = checked
        else:
            asked.settled.add(key)


def _take_claims(parts: Parts, asked: Asked, answer: Any) -> None:
    told = {
        (topic.name, one.index): one
        for topic in in_steps(answer.responses)
        for one in in_steps(topic.partition_responses)
    }
    for key in asked.claims:
        if key in asked.settled or key in asked.errors:
            continue
        one = told.get((parts[key].topic, key[2][1]))
        if one is None:
            asked.errors[key] = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif one.error_code in (GAP, REPEATED):
            # There is a later batch: this is no beginning.
            asked.errors[key] = LOST
        elif one.error_code:
            asked.errors[key] = one.error_code
        else:
            asked.offsets[key] = one.base_offset


def _take_stored(exchange: Exchange, parts: Parts, asked: Asked, answer: Any) -> None:
    told = {
        (topic.topic, one.partition_index): one
        for topic in in_steps(answer.responses)
        for one in in_steps(topic.partitions)
    }
    for key, offset in list(asked.offsets.items()):
        del asked.offsets[key]
        one = told.get((parts[key].topic, key[2][1]))
        if one is None or (one.error_code and one.error_code != ErrorCode.OFFSET_OUT_OF_RANGE):
            code = SEND_AGAIN if one is None else one.error_code
            asked.errors[key] = code if code in _PASSED_ON else SEND_AGAIN
        elif not one.records and not one.error_code:
            asked.errors[key] = SEND_AGAIN  # A new leader does not know yet that it is stored everywhere.
        else:
            settled = virtual_topics(exchange).numbers.settle(
                key,
                asked.claims[key],
                (offset, mark_of(one.records)),
                exchange.scope.producer,
                is_one_transaction=_is_one_transaction(exchange),
            )
            if isinstance(settled, int):
                asked.errors[key] = settled
            else:
                asked.settled.add(key)


def _is_one_transaction(exchange: Exchange) -> bool:
    return exchange.api_version >= FIRST_ABORTABLE
