"""Reads partition 0 of a topic of the gateway's own: one Fetch at a time, without a fetch session."""

from typing import Any

from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.upstream_topic import NO_TOPIC_ID, UpstreamTopic
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import FetchRequest, ListOffsetsRequest

FETCH_BYTES = 4 * 1024 * 1024
"""Most bytes of one answer, unless one batch has more."""

LATEST, EARLIEST = -1, -2
"""What ListOffsets takes for the end and the start of a log."""

_FETCH, _FETCH_BY_NAME, _OLDEST_FETCH, _LIST_OFFSETS = 13, 12, 4, 5
"""The newest versions that name a topic by ID and by name, the first one with transactions, and of ListOffsets."""

_COMMITTED = 1


async def fetch(topic: UpstreamTopic, offset: int, max_wait_ms: int) -> tuple[Any, int]:
    """Ask the leader for committed records; return its answer about the partition, and for how long it throttles.

    Args:
        topic: whose leader is known.
        offset: from which on to read.
        max_wait_ms: how long the broker waits for records if there are none.
    Returns:
        The answer, with its own error code; None if the broker has answered nothing because it throttles the gateway.
        For how long, in milliseconds.
    Raises:
        BrokerError: no answer, or one about something else.
    """
    leader = topic.leaders.get(0)
    if leader is None:
        raise BrokerError(f"topic {topic.settings.name}: partition 0 has no leader")
    version = leader.newest(ApiKey.FETCH, _FETCH if topic.topic_id != NO_TOPIC_ID else _FETCH_BY_NAME)
    if version < _OLDEST_FETCH:
        raise topic.too_old()
    wanted = FetchRequest.FetchPartition(
        partition=0,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=FETCH_BYTES,
    )
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=min(max_wait_ms, topic.timeout_ms // 2),
        min_bytes=1,
        max_bytes=FETCH_BYTES,
        isolation_level=_COMMITTED,
        session_id=0,
        session_epoch=-1,
        topics=[
            FetchRequest.FetchTopic(topic=topic.settings.name, topic_id=topic.topic_id, partitions=[wanted])
        ],
    )
    answer = await topic.client_of(leader).request(request, version)
    if getattr(answer, "error_code", 0) != ErrorCode.NONE:
        raise BrokerError(f"Fetch: {ErrorCode(answer.error_code).name}")
    found = next((part for response in answer.responses for part in response.partitions), None)
    return found, answer.throttle_time_ms


async def edge_offset(topic: UpstreamTopic, which: int) -> int:
    """Ask for the start of partition 0, or for its end with the records of open transactions.

    Raises:
        BrokerError: its leader did not say it.
    """
    leader = topic.leaders.get(0)
    if leader is None:
        raise BrokerError(f"topic {topic.settings.name}: partition 0 has no leader")
    part = ListOffsetsRequest.ListOffsetsPartition(
        partition_index=0, current_leader_epoch=-1, timestamp=which
    )
    asked = ListOffsetsRequest.ListOffsetsTopic(name=topic.settings.name, partitions=[part])
    version = leader.newest(ApiKey.LIST_OFFSETS, _LIST_OFFSETS)
    answer = await topic.client_of(leader).request(ListOffsetsRequest(replica_id=-1, topics=[asked]), version)
    [found] = [one for response in answer.topics for one in response.partitions]
    if found.error_code != ErrorCode.NONE:
        raise BrokerError(f"ListOffsets: {ErrorCode(found.error_code).name}")
    return int(found.offset)
