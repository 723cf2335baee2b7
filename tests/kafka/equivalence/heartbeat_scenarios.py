"""What members of groups ask for whose assignments the broker makes (KIP-848, KIP-1071)."""

from __future__ import annotations

from typing import Any

from data_scenarios import ABSENT, DATA, data
from share_scenarios import settled

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    IncrementalAlterConfigsRequest,
    StreamsGroupDescribeRequest,
    StreamsGroupHeartbeatRequest,
)
from support.clients.raw_operations import await_config
from support.forgery.worlds import World

MEMBER_ID = "aGVhcnRiZWF0LW1lbWJlcg"
"""Chosen by the member itself, a UUID in Kafka's writing (v1+)."""
_GROUP, _SET = 32, 0
_JOINING, _LEAVING = 0, -1


def _at_once(world: World, group_id: str, config: str) -> None:
    """Let the group's assignments be made without delay; before 4.3 they are."""
    if not world.has_config(_GROUP, group_id, config):
        return
    change = IncrementalAlterConfigsRequest.AlterableConfig(name=config, config_operation=_SET, value="0")
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=_GROUP, resource_name=group_id, configs=[change]
    )
    world.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    await_config(world.admin, _GROUP, group_id, config, "0")


def _heartbeat(world: World, version: int, group_id: str, epoch: int = _JOINING, **fields: Any) -> Any:
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        # Before v1 the broker chooses the member's ID.
        member_id=fields.pop("member_id", MEMBER_ID if version >= 1 else ""),
        member_epoch=epoch,
        rebalance_timeout_ms=30_000,
        topic_partitions=[] if epoch == _JOINING else None,
        **fields,
    )
    return world.ask(request, version)


def _join(world: World, version: int, group_id: str, **fields: Any) -> Any:
    """Join, and heartbeat until there are partitions; a regex is first evaluated in the background."""
    joined = _heartbeat(world, version, group_id, **fields)
    assert joined.error_code == ErrorCode.NONE, joined
    world.made_up(joined.member_id, "MEMBER")
    epoch = joined.member_epoch
    assignment = joined.assignment
    if assignment is not None and assignment.topic_partitions:
        return joined

    def heartbeat() -> Any:
        nonlocal epoch
        answer = _heartbeat(world, version, group_id, epoch, member_id=joined.member_id)
        epoch = answer.member_epoch
        return answer

    return settled(
        world, heartbeat, lambda answer: bool(answer.assignment and answer.assignment.topic_partitions)
    )


def consumer_group_heartbeat(world: World, version: int) -> None:
    data(world)
    group_id = f"eq-heartbeats-{version}"
    _at_once(world, group_id, "consumer.assignment.interval.ms")
    joined = _join(world, version, group_id, subscribed_topic_names=[DATA, ABSENT])
    member_id = joined.member_id
    _heartbeat(world, version, group_id, joined.member_epoch, member_id=member_id)
    _heartbeat(world, version, group_id, 99, member_id=member_id)
    _heartbeat(world, version, group_id, _LEAVING, member_id=member_id)
    _heartbeat(world, version, group_id, 5, member_id="bm9ib2R5LW5vYm9keS1h")
    _heartbeat(world, version, "", subscribed_topic_names=[DATA])
    _heartbeat(world, version, group_id, subscribed_topic_names=[DATA], server_assignor="no-such-assignor")


def consumer_group_heartbeat_by_regex(world: World, version: int) -> None:
    if version < 1:
        return consumer_group_heartbeat(world, version)
    world.topic("eq-regex-1")
    world.topic("eq-regex-2", partitions=2)
    world.topic("eq-regex-other")
    for number, regex in enumerate((r"^eq-regex-[0-9]+$", r"(eq-regex-\d+|eq-none)", "eq-regex-1")):
        group_id = f"eq-regex-group-{version}-{number}"
        _at_once(world, group_id, "consumer.assignment.interval.ms")
        _join(world, version, group_id, subscribed_topic_regex=regex)
        world.ask(ConsumerGroupDescribeRequest(group_ids=[group_id]), 1)
        _heartbeat(world, version, group_id, _LEAVING)
    refused = _heartbeat(world, version, "eq-regex-group-bad", subscribed_topic_regex="eq-(")
    assert refused.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION
    # The words are the parser's own, and quote the pattern as it was given to it.
    refused.error_message = ""
    return None


def consumer_group_describe(world: World, version: int) -> None:
    data(world)
    group_id = f"eq-described-heartbeats-{version}"
    _at_once(world, group_id, "consumer.assignment.interval.ms")
    newest = world.admin.at_most(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
    joined = _join(world, newest, group_id, subscribed_topic_names=[DATA])
    world.ask(ConsumerGroupDescribeRequest(group_ids=[group_id, "eq-no-such-group"]), version)
    _heartbeat(world, newest, group_id, _LEAVING, member_id=joined.member_id)


def _stream(world: World, group_id: str, epoch: int, topics: list[str]) -> Any:
    offered = StreamsGroupHeartbeatRequest
    changelog = offered.TopicInfo(name=f"{group_id}-store-changelog", partitions=0, replication_factor=1)
    part = offered.Subtopology(subtopology_id="0", source_topics=topics, state_changelog_topics=[changelog])
    is_joining = epoch == _JOINING
    request = StreamsGroupHeartbeatRequest(
        group_id=group_id,
        member_id=MEMBER_ID,
        member_epoch=epoch,
        rebalance_timeout_ms=30_000,
        process_id="cHJvY2VzcyBvZiBzdHJlYW1z",
        topology=offered.Topology(epoch=0, subtopologies=[part]) if is_joining else None,
        active_tasks=[] if is_joining else None,
        standby_tasks=[] if is_joining else None,
        warmup_tasks=[] if is_joining else None,
    )
    return world.ask(request, 0)


def streams_group_heartbeat(world: World, version: int) -> None:
    del version  # There is one.
    data(world)
    _stream(world, "eq-streams", _JOINING, [DATA])
    _stream(world, "eq-streams", 99, [DATA])
    _stream(world, "eq-streams-absent", _JOINING, [ABSENT])
    _stream(world, "", _JOINING, [DATA])
    world.ask(StreamsGroupDescribeRequest(group_ids=["eq-streams-absent"]), 0)
    for group_id in ("eq-streams", "eq-streams-absent"):
        _stream(world, group_id, _LEAVING, [DATA])
