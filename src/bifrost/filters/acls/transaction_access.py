"""Producers and transactions: Produce, InitProducerId, AddPartitionsToTxn, and the lists of transactions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.acls.denial import (
    deny,
    go_on,
    guard_of,
    put_back,
    refuse,
    split,
    split_topics,
    take_out,
)
from bifrost.filters.filter import Exchange
from bifrost.filters.steps import FORWARD, Answer, Close, RequestStep, ResponseStep
from bifrost.tenancy.acls.acl_binding import Operation, ResourceType
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import AddPartitionsToTxnResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import (
        AddPartitionsToTxnRequest,
        DescribeTransactionsRequest,
        DescribeTransactionsResponse,
        InitProducerIdRequest,
        ListTransactionsRequest,
        ListTransactionsResponse,
        ProduceRequest,
        ProduceResponse,
    )

_TOPIC, _TRANSACTIONAL_ID = ResourceType.TOPIC, ResourceType.TRANSACTIONAL_ID
_NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_NO_TRANSACTION = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED

_ATTRIBUTES_AT = 21
"""Where a record batch has its attributes (2 bytes)."""
_IS_TRANSACTIONAL = 0x10


class ProduceAccessFilter:
    """WRITE on each topic, and on the transactional ID if records belong to a transaction."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ProduceRequest) -> RequestStep:
        """Take out the denied topics."""
        guard, transactional_id = guard_of(exchange), request.transactional_id
        may_write = transactional_id is None or guard.may(
            Operation.WRITE, _TRANSACTIONAL_ID, transactional_id
        )
        if not may_write and _has_transactional_records(request):
            guard.deny(Operation.WRITE)
            return refuse(exchange, request, _NO_TRANSACTION)
        permitted, denied = split_topics(guard, request.topic_data, Operation.WRITE)
        guard.deny(Operation.WRITE, len(denied))
        if denied and request.acks == 0:
            return Close("a Produce without an answer names a topic that its client may not write")
        return go_on(
            exchange, permitted, take_out(exchange, request, "topic_data", permitted, denied, _NO_TOPIC)
        )

    def on_response(self, exchange: Exchange, response: ProduceResponse) -> ResponseStep:
        """Add the answers for the denied topics."""
        put_back(exchange, response)
        return FORWARD


def _has_transactional_records(request: ProduceRequest) -> bool:
    """Source: RequestUtils.hasTransactionalRecords, which looks at the first batch of each partition."""
    for topic in in_steps(request.topic_data):
        for partition in in_steps(topic.partition_data):
            records = partition.records or b""
            if len(records) > _ATTRIBUTES_AT + 1 and records[_ATTRIBUTES_AT + 1] & _IS_TRANSACTIONAL:
                return True
    return False


class InitProducerIdAccessFilter:
    """WRITE on the transactional ID; without one IDEMPOTENT_WRITE on the cluster, or WRITE on any topic (KIP-679)."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: InitProducerIdRequest) -> RequestStep:
        """Refuse a producer without the right."""
        guard, transactional_id = guard_of(exchange), request.transactional_id
        if transactional_id is None:
            if guard.may_cluster(Operation.IDEMPOTENT_WRITE) or guard.may_some(Operation.WRITE, _TOPIC):
                return FORWARD
            guard.deny(Operation.IDEMPOTENT_WRITE)
            return refuse(exchange, request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        if not guard.may(Operation.WRITE, _TRANSACTIONAL_ID, transactional_id):
            return deny(exchange, request, _TRANSACTIONAL_ID)
        if request.enable2_pc and not guard.may(
            Operation.TWO_PHASE_COMMIT, _TRANSACTIONAL_ID, transactional_id
        ):
            guard.deny(Operation.TWO_PHASE_COMMIT)
            return refuse(exchange, request, _NO_TRANSACTION)
        return FORWARD

    def on_response(self, exchange: Exchange, response: Any) -> ResponseStep:
        """Leave the answer unchanged."""
        return FORWARD


class AddPartitionsAccessFilter:
    """WRITE on the transactional ID and on each topic; one that is denied stops the others."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: AddPartitionsToTxnRequest) -> RequestStep:
        """Refuse all partitions, or none."""
        guard = guard_of(exchange)
        if not guard.may(Operation.WRITE, _TRANSACTIONAL_ID, request.v3_and_below_transactional_id):
            return deny(exchange, request, _TRANSACTIONAL_ID)
        topics = request.v3_and_below_topics
        _, denied = split_topics(guard, topics, Operation.WRITE)
        if not denied:
            return FORWARD
        guard.deny(Operation.WRITE, len(denied))
        names = {topic.name for topic in in_steps(denied)}
        results = [
            _added(topic, _NO_TOPIC if topic.name in names else ErrorCode.OPERATION_NOT_ATTEMPTED)
            for topic in in_steps(topics)
        ]
        return Answer(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results))

    def on_response(self, exchange: Exchange, response: Any) -> ResponseStep:
        """Leave the answer unchanged."""
        return FORWARD


def _added(topic: Any, error_code: ErrorCode) -> Any:
    made = AddPartitionsToTxnResponse
    return made.AddPartitionsToTxnTopicResult(
        name=topic.name,
        results_by_partition=[
            made.AddPartitionsToTxnPartitionResult(partition_index=one, partition_error_code=error_code)
            for one in in_steps(topic.partitions)
        ],
    )


class ListTransactionsAccessFilter:
    """Shows the transactions whose IDs the client may describe."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ListTransactionsRequest) -> RequestStep:
        """Let the broker list all."""
        exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: ListTransactionsResponse) -> ResponseStep:
        """Leave out the others."""
        guard = guard_of(exchange)
        response.transaction_states, _ = split(
            response.transaction_states,
            lambda one: guard.may(Operation.DESCRIBE, _TRANSACTIONAL_ID, one.transactional_id),
        )
        return FORWARD


class DescribeTransactionsAccessFilter:
    """DESCRIBE on each transactional ID; topics that the client may not describe are left out."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: DescribeTransactionsRequest) -> RequestStep:
        """Take out the denied IDs."""
        guard = guard_of(exchange)
        permitted, denied = split(
            request.transactional_ids, lambda one: guard.may(Operation.DESCRIBE, _TRANSACTIONAL_ID, one)
        )
        guard.deny(Operation.DESCRIBE, len(denied))
        exchange.wants_response = True
        answer = take_out(exchange, request, "transactional_ids", permitted, denied, _NO_TRANSACTION)
        return go_on(exchange, permitted, answer)

    def on_response(self, exchange: Exchange, response: DescribeTransactionsResponse) -> ResponseStep:
        """Leave out denied topics, and add the answers for denied IDs."""
        guard = guard_of(exchange)
        for state in in_steps(response.transaction_states):
            state.topics, _ = split_topics(guard, state.topics, Operation.DESCRIBE)
        put_back(exchange, response)
        return FORWARD
