"""Committed offsets of a group, asked for and written by hand."""

from __future__ import annotations

import time

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import OffsetCommitRequest, OffsetFetchRequest
from support.clients.raw_client import RawClient

WAIT_S = 60.0

V = OffsetCommitRequest.OffsetCommitRequestPartition


def commit_request(
    group: str, topic: str, offsets: dict[int, int], generation: int = -1, member: str = ""
) -> OffsetCommitRequest:
    partitions = [V(partition_index=one, committed_offset=offset) for one, offset in offsets.items()]
    named = OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=partitions)
    return OffsetCommitRequest(
        group_id=group, generation_id_or_member_epoch=generation, member_id=member, topics=[named]
    )


def commit(client: RawClient, request: OffsetCommitRequest, version: int = 7) -> dict[int, int]:
    """Return the errors by virtual partition."""
    response = client.request(request, version)
    return {one.partition_index: one.error_code for topic in response.topics for one in topic.partitions}


def offsets_of(
    client: RawClient, group: str, topic: str, partitions: list[int] | None = None, version: int = 7
) -> dict[int, int]:
    """Return the committed offsets by virtual partition, once no transaction has others; partitions None: all."""
    new = OffsetFetchRequest
    if version >= 8:
        named = new.OffsetFetchRequestTopics(name=topic, partition_indexes=partitions or [])
        asked = new.OffsetFetchRequestGroup(group_id=group, topics=None if partitions is None else [named])
        request = new(groups=[asked], require_stable=True)
    else:
        one = new.OffsetFetchRequestTopic(name=topic, partition_indexes=partitions or [])
        some = None if partitions is None else [one]
        request = new(group_id=group, topics=some, require_stable=version >= 7)
    deadline = time.monotonic() + WAIT_S
    while True:
        response = client.request(request, version)
        answer = response.groups[0] if version >= 8 else response
        assert answer.error_code == ErrorCode.NONE
        assert [one.name for one in answer.topics] == [topic] or not answer.topics
        found = [one for named in answer.topics for one in named.partitions]
        if all(one.error_code != ErrorCode.UNSTABLE_OFFSET_COMMIT for one in found):
            return {one.partition_index: one.committed_offset for one in found}
        assert time.monotonic() < deadline, "the transaction does not end"
        time.sleep(0.05)
