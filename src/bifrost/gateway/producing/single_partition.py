"""A topic of the gateway's own with one partition, in which records need not be written twice to be there.

The writer asks for the leader's own acknowledgement alone (acks=1), and repeats nothing: a record that is lost with a
leader is followed by another one about the same.
"""

from collections.abc import Sequence

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.upstream_topic import TopicMissing, UpstreamTopic
from bifrost.records.record_batch import Record, build_batch, compress
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceRequest

_PRODUCE, _OLDEST_PRODUCE = 12, 3
"""The newest version that names topics, and the first one with the record format of Kafka 0.11."""


async def find_single(topic: UpstreamTopic) -> bool:
    """Find the leader; return whether the topic was missing, and is created now.

    Raises:
        BrokerError: no broker answers, the topic cannot be created, or it has several partitions.
    """
    created = False
    if not topic.cluster.node_ids:
        await topic.cluster.refresh()
    try:
        await topic.find()
    except TopicMissing as missing:
        created = await topic.create(missing.controller_id)
        await topic.find()
    if topic.partition_count != 1:
        name, count = topic.settings.name, topic.partition_count
        topic.leaders = {}
        raise BrokerError(
            f"topic {name} has {count} partitions: delete it, and the gateway creates it with one"
        )
    if 0 not in topic.leaders:
        await topic.cluster.refresh()
        raise BrokerError(f"topic {topic.settings.name}: partition 0 has no leader")
    return created


async def write_single(topic: UpstreamTopic, records: Sequence[Record]) -> None:
    """Write records, at least one, as one batch.

    Raises:
        BrokerError: it is not known whether they were written.
    """
    leader = topic.leaders.get(0)
    if leader is None:
        raise BrokerError(f"topic {topic.settings.name}: partition 0 has no leader")
    version = leader.newest(ApiKey.PRODUCE, _PRODUCE)
    if version < _OLDEST_PRODUCE:
        raise topic.too_old()
    part = ProduceRequest.PartitionProduceData(index=0, records=build_batch(records, compress(records)))
    data = ProduceRequest.TopicProduceData(name=topic.settings.name, partition_data=[part])
    request = ProduceRequest(transactional_id=None, acks=1, timeout_ms=topic.timeout_ms, topic_data=[data])
    answer = await topic.client_of(leader).request(request, version)
    for response in answer.responses:
        for one in response.partition_responses:
            if one.error_code != ErrorCode.NONE:
                raise BrokerError(f"Produce: {ErrorCode(one.error_code).name}")
