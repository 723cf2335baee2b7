"""ShareAcknowledge: what is acknowledged of virtual partitions goes to the broker by their physical ones.

Source: KafkaApis.handleShareAcknowledgeRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from bifrost.filters.filter import Note
from bifrost.filters.steps import FORWARD, RequestStep, ResponseStep
from bifrost.filters.virtual.division import NO_PARTITION, copied, virtual_topics
from bifrost.filters.virtual.shares.acknowledgements import Acknowledgements
from bifrost.filters.virtual.shares.shared_partitions import share_sessions
from bifrost.tenancy.virtual_partitions.partition_map import PhysicalPartition, VirtualPartition
from bifrost.tenancy.virtual_partitions.shares.share_sessions import FINAL_EPOCH, Place
from bifrost.wire.messages import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.filters.filter import Exchange
    from bifrost.wire.entity import Entity


class _Asked(NamedTuple):
    acknowledged: Acknowledgements
    topics: set[bytes]
    """The IDs of topics with virtual partitions."""
    refused: dict[bytes, list[int]]
    """The numbers that no virtual partition has, by the ID of their topic."""


_ASKED: Note[_Asked] = Note("acknowledged_virtual_partitions")


class AcknowledgedPartitionsFilter:
    """Acknowledges records of virtual partitions."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset()

    def on_request(self, exchange: Exchange, request: ShareAcknowledgeRequest) -> RequestStep:
        """Put together what is acknowledged of each physical partition."""
        if request.share_session_epoch == FINAL_EPOCH:
            share_sessions(exchange).end((request.group_id or "", request.member_id or ""))
        asked, topics = _Asked(Acknowledgements(), set(), {}), list[Any]()
        for topic in in_steps(request.topics):
            made = _physical(exchange, asked, topic)
            if made is None:
                topics.append(topic)
            elif made.partitions:
                topics.append(made)
        if asked.topics:
            request.topics = topics
            exchange.keep(_ASKED, asked)
            exchange.wants_response = True
        return FORWARD

    def on_response(self, exchange: Exchange, response: ShareAcknowledgeResponse) -> ResponseStep:
        """Give each virtual partition the result of its physical one."""
        asked = exchange.find(_ASKED)
        if asked is None or response.error_code:
            return FORWARD
        new, known = ShareAcknowledgeResponse, dict[bytes, Any]()
        for topic in in_steps(response.responses):
            known[topic.topic_id] = topic
            if topic.topic_id in asked.topics:
                topic.partitions = [
                    copied(one, partition_index=number)
                    for one in in_steps(topic.partitions)
                    for number in asked.acknowledged.numbers(
                        Place(topic.topic_id, PhysicalPartition(one.partition_index))
                    )
                ]
        for topic_id, numbers in in_steps(asked.refused.items()):
            if topic_id not in known:
                known[topic_id] = new.ShareAcknowledgeTopicResponse(topic_id=topic_id)
                response.responses.append(known[topic_id])
            known[topic_id].partitions += [
                new.PartitionData(partition_index=number, error_code=NO_PARTITION)
                for number in in_steps(numbers)
            ]
        return FORWARD


def _physical(exchange: Exchange, asked: _Asked, topic: Any) -> Any:
    """Return a topic of the request with physical partitions; None: it has no virtual ones."""
    new, topic_id = ShareAcknowledgeRequest, topic.topic_id
    partitions = virtual_topics(exchange).map_of_either(None, topic_id)
    if partitions is None:
        return None
    asked.topics.add(topic_id)
    places: dict[Place, None] = {}
    for one in in_steps(topic.partitions):
        number = VirtualPartition(one.partition_index)
        if partitions.has(number):
            place = Place(topic_id, partitions.place_of(number)[1])
            places[place] = None
            asked.acknowledged.add(place, number, one.acknowledgement_batches)
        else:
            asked.refused.setdefault(topic_id, []).append(number)
    return new.AcknowledgeTopic(
        topic_id=topic_id,
        partitions=[
            new.AcknowledgePartition(
                partition_index=place.partition, acknowledgement_batches=asked.acknowledged.batches(place)
            )
            for place in in_steps(places)
        ],
    )
