"""Produce: records pass the transforms of their topics; what is rejected is answered here, and the rest goes on.

Nothing of a partition whose records are rejected reaches the broker. Its answer has the error of the batch and, from
version 8 on, which records are wrong and why (KIP-467); before that POLICY_VIOLATION stands for INVALID_RECORD. A
request that asks for no answer (acks=0) ends the connection in that case, as a broker ends it, so that the producer
notices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.filter import Exchange
from bifrost.filters.left_out.items import LeftOut, joined_topics
from bifrost.filters.records.record_work import RecordWork, Refusal
from bifrost.filters.steps import (
    FORWARD,
    TURN,
    AtBroker,
    Close,
    RecordNeeds,
    RequestStep,
    ResponseStep,
)
from bifrost.records.codec.errors import NoRoom
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.transforms.record_transform import Direction
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.records.record_topics import TopicChain
    from bifrost.wire.messages import ProduceRequest

_FIRST_WITH_INVALID_RECORD = 8
"""Version of Produce that came with INVALID_RECORD (KIP-467): older clients take a code that they do not know for
an error of the server, and POLICY_VIOLATION for what it is."""


_LEFT_OUT = LeftOut()


class ProducedRecordsFilter:
    """Transforms what producers send."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ProduceRequest) -> RequestStep:
        """Put the new records into the request; take out partitions with records that must not pass."""
        refused: list[Any] = []
        topics = exchange.scope.records
        assert topics is not None, "only clients to whom filters apply have this filter"
        # The filter behind this one has asked the broker: what is done now was done and counted before.
        is_again = AtBroker in exchange.met
        with RecordWork(topics, Direction.PRODUCE, exchange, is_again=is_again) as work:
            for topic in in_steps(request.topic_data):
                by_id = topic.topic_id != ZERO_TOPIC_ID
                name = topics.namespace.topic_of(topic.topic_id) if by_id else topic.name
                chain = None if name is None else topics.chain(name, Direction.PRODUCE)
                if name is None or chain is None:
                    continue
                try:
                    answers = _transform(work, topic, chain, request.acks, exchange.api_version)
                except NoRoom:
                    return TURN
                work.end_topic(name)
                if answers:
                    refused.append(_answered(topic, answers))
            if work.need is not None:
                return work.need
            if not is_again:
                work.tell_unenforced()
        if RecordNeeds in exchange.met:
            # The exchange lives until the broker has answered; what was needed need not.
            exchange.met = {kind: need for kind, need in exchange.met.items() if kind is not RecordNeeds}
        if not refused:
            return FORWARD
        if request.acks == 0:
            return Close("a Produce without an answer has records that must not pass")
        request.topic_data = [topic for topic in in_steps(request.topic_data) if topic.partition_data]
        answer = ProduceResponse(responses=refused)
        if not request.topic_data:
            return _LEFT_OUT.without_broker(exchange, answer)
        _LEFT_OUT.keep_answer(exchange, answer)
        return FORWARD

    def on_response(self, exchange: Exchange, response: ProduceResponse) -> ResponseStep:
        """Add the answers for the partitions that were taken out."""
        if _LEFT_OUT.put_back(exchange, response):
            response.responses = joined_topics(response.responses, "partition_responses")
        return FORWARD


def _transform(work: RecordWork, topic: Any, chain: TopicChain, acks: int, version: int) -> list[Any]:
    """Transform the records of a topic; take out the partitions that must not pass, and return their answers."""
    passing, answers = [], []
    refused_by, rules = chain.refused_acks.get(acks), chain.rules
    violation = None if rules is None else rules.refuse_acks(acks)
    is_looked_at = bool(chain.transforms) or (rules is not None and rules.has_codecs)
    for partition in in_steps(topic.partition_data):
        outcome: Any = partition.records
        if violation is not None:
            outcome = Refusal(violation.error_code, violation.message)
        elif refused_by is not None:
            reason = f"{refused_by}: acks={'all' if acks == -1 else acks} is not allowed"
            outcome = Refusal(ErrorCode.POLICY_VIOLATION, reason)
        elif outcome and is_looked_at:
            outcome = work.new_records(outcome, chain, partition.index)
        if isinstance(outcome, Refusal):
            answers.append(_answer(partition.index, outcome, version))
        else:
            partition.records = outcome
            passing.append(partition)
    topic.partition_data = passing
    return answers


def _answered(topic: Any, answers: list[Any]) -> Any:
    new = ProduceResponse.TopicProduceResponse
    return new(name=topic.name, topic_id=topic.topic_id, partition_responses=answers)


def _answer(index: int, refusal: Refusal, version: int) -> Any:
    error_code = refusal.error_code
    if error_code is ErrorCode.INVALID_RECORD and version < _FIRST_WITH_INVALID_RECORD:
        error_code = ErrorCode.POLICY_VIOLATION
    errors = [
        ProduceResponse.BatchIndexAndErrorMessage(batch_index=one.index, batch_index_error_message=one.reason)
        for one in refusal.rejections
    ]
    return ProduceResponse.PartitionProduceResponse(
        index=index,
        error_code=error_code,
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1,
        record_errors=errors,
        error_message=refusal.reason,
    )
