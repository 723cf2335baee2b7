"""Fetch and ShareFetch: records pass the transforms of their topics in reverse order, on their way to the client.

A partition whose records cannot pass has an error in place of them: never fewer records without a word.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.filter import Exchange
from bifrost.filters.records.record_work import RecordWork, Refusal
from bifrost.filters.steps import FORWARD, TURN, RequestStep, ResponseStep
from bifrost.records.codec.errors import NoRoom
from bifrost.tenancy.topic_ids import ZERO_TOPIC_ID
from bifrost.transforms.record_transform import Direction
from bifrost.wire.entity import Entity
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.records.record_topics import RecordTopics
    from bifrost.wire.message import Message
    from bifrost.wire.messages import FetchResponse, ShareFetchResponse


class _RecordsFilter:
    """Leaves requests as they are."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: Message) -> RequestStep:
        """Leave the request unchanged."""
        return FORWARD


class FetchedRecordsFilter(_RecordsFilter):
    """Transforms what consumers fetch."""

    def on_response(self, exchange: Exchange, response: FetchResponse) -> ResponseStep:
        """Put the new records into the response."""
        return _transform(exchange, response, is_shared=False)


class SharedRecordsFilter(_RecordsFilter):
    """Transforms what members of share groups fetch (KIP-932)."""

    def on_response(self, exchange: Exchange, response: ShareFetchResponse) -> ResponseStep:
        """Put the new records into the response."""
        return _transform(exchange, response, is_shared=True)


def _transform(exchange: Exchange, response: Any, *, is_shared: bool) -> ResponseStep:
    topics = exchange.scope.records
    assert topics is not None, "only clients to whom filters apply have this filter"
    with RecordWork(topics, Direction.FETCH, exchange, is_all_or_nothing=is_shared) as work:
        for topic in in_steps(response.responses):
            name = _name_of(topics, topic)
            chain = None if name is None else topics.chain(name, Direction.FETCH)
            if chain is None:
                continue
            for partition in in_steps(topic.partitions):
                if partition.error_code or not partition.records:
                    continue
                try:
                    outcome = work.new_records(partition.records, chain, partition.partition_index)
                except NoRoom:
                    return TURN
                if isinstance(outcome, Refusal):
                    work.tell_refused(name or "", partition.partition_index, outcome)
                    _refuse(partition, outcome, is_shared=is_shared)
                else:
                    partition.records = outcome
        if work.need is not None:
            return work.need
    return FORWARD


def _name_of(topics: RecordTopics, topic: Any) -> str | None:
    if topic.topic_id != ZERO_TOPIC_ID:
        return topics.namespace.topic_of(topic.topic_id)
    return str(topic.topic)


def _refuse(partition: Any, refusal: Refusal, *, is_shared: bool) -> None:
    """Put an error in the place of records."""
    partition.records = b""
    partition.error_code = int(refusal.error_code)
    if is_shared:
        # The client would take acquired records that did not come for gaps and acknowledge them as such. The broker
        # gives them to a member again when their locks end.
        partition.acquired_records = []
        partition.error_message = refusal.reason
