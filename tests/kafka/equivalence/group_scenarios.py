"""What members and keepers of consumer groups ask for."""

from __future__ import annotations

from typing import Any

from data_scenarios import ABSENT, ABSENT_ID, DATA, data

from bifrost.wire.codec import encode_body
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    SyncGroupRequest,
)
from bifrost.wire.programs import compile_layout
from support.forgery.worlds import World

PAYLOAD_VERSION = 1
_JOIN, _SYNC, _COMMIT = 9, 5, 8
"""Versions in which scenarios about something else join, sync and commit."""


def subscription(*topics: str) -> bytes:
    """Return what a consumer says in JoinGroup."""
    message = ConsumerProtocolSubscription(
        topics=list(topics),
        user_data=b"the assignor's own",
        owned_partitions=[ConsumerProtocolSubscription.TopicPartition(topic=topics[0], partitions=[0])],
    )
    return _payload("ConsumerProtocolSubscription", message)


def assignment(topic: str, *partitions: int) -> bytes:
    """Return what a leader says in SyncGroup."""
    assigned = ConsumerProtocolAssignment.TopicPartition(topic=topic, partitions=list(partitions))
    return _payload("ConsumerProtocolAssignment", ConsumerProtocolAssignment(assigned_partitions=[assigned]))


def _payload(name: str, message: Any) -> bytes:
    return PAYLOAD_VERSION.to_bytes(2, "big") + encode_body(compile_layout(name, PAYLOAD_VERSION), message)


def join_request(group_id: str, member_id: str = "", protocol_type: str = "consumer") -> JoinGroupRequest:
    """Return a JoinGroup of a consumer of the topic of the data scenarios."""
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=subscription(DATA, ABSENT))
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        member_id=member_id,
        protocol_type=protocol_type,
        protocols=[protocol],
    )


def _join(world: World, group_id: str, version: int = _JOIN, protocol_type: str = "consumer") -> Any:
    joined = world.ask(join_request(group_id, protocol_type=protocol_type), version)
    if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:  # From v4 on (KIP-394).
        joined = world.ask(join_request(group_id, joined.member_id, protocol_type), version)
    return joined


def _sync(world: World, group_id: str, joined: Any, version: int = _SYNC) -> Any:
    own = SyncGroupRequest.SyncGroupRequestAssignment(
        member_id=joined.member_id, assignment=assignment(DATA, 0, 1)
    )
    request = SyncGroupRequest(
        group_id=group_id,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[own],
    )
    return world.ask(request, version)


def join_group(world: World, version: int) -> None:
    data(world)
    joined = _join(world, f"eq-join-{version}", version)
    assert joined.error_code == ErrorCode.NONE
    world.ask(join_request(f"eq-join-{version}", "eq-unknown"), version)
    world.ask(join_request("", ""), version)
    _join(world, f"eq-join-connect-{version}", version, protocol_type="connect")


def sync_group(world: World, version: int) -> None:
    data(world)
    joined = _join(world, f"eq-sync-{version}")
    synced = _sync(world, f"eq-sync-{version}", joined, version)
    assert synced.error_code == ErrorCode.NONE
    joined.member_id = "eq-unknown"
    _sync(world, f"eq-sync-{version}", joined, version)
    _sync(world, "", joined, version)


def heartbeat(world: World, version: int) -> None:
    group_id = f"eq-heartbeat-{version}"
    joined = _join(world, group_id)
    _sync(world, group_id, joined)
    for member_id in (joined.member_id, "eq-unknown"):
        request = HeartbeatRequest(group_id=group_id, generation_id=joined.generation_id, member_id=member_id)
        world.ask(request, version)


def leave_group(world: World, version: int) -> None:
    group_id = f"eq-leave-{version}"
    joined = _join(world, group_id)
    for one, member_id in ((group_id, "eq-unknown"), (group_id, joined.member_id), ("", "eq-unknown")):
        if version < 3:
            request = LeaveGroupRequest(group_id=one, member_id=member_id)
        else:
            member = LeaveGroupRequest.MemberIdentity(member_id=member_id)
            request = LeaveGroupRequest(group_id=one, members=[member])
        world.ask(request, version)


def _commit(world: World, group_id: str, version: int = _COMMIT, topic: str = DATA) -> None:
    topic_id = ABSENT_ID if topic == ABSENT else data(world)
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=11, committed_metadata="the tenant's own"
    )
    named = OffsetCommitRequest.OffsetCommitRequestTopic(
        name=topic, topic_id=topic_id, partitions=[partition]
    )
    world.ask(OffsetCommitRequest(group_id=group_id, topics=[named]), version)


def offset_commit(world: World, version: int) -> None:
    group_id = f"eq-commit-{version}"
    _commit(world, group_id, version)
    _commit(world, group_id, version, topic=ABSENT)
    # Old consumers without a group commit so, and a broker lets them.
    _commit(world, "", version)
    world.ask(_offset_fetch(8, group_id, {DATA: bytes(16)}), 8)


def _offset_fetch(version: int, group_id: str, topics: dict[str, bytes] | None) -> OffsetFetchRequest:
    if version < 8:
        by_name = [
            OffsetFetchRequest.OffsetFetchRequestTopic(name=name, partition_indexes=[0, 1])
            for name in topics or ()
        ]
        return OffsetFetchRequest(group_id=group_id, topics=None if topics is None else by_name)
    named = [
        OffsetFetchRequest.OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=[0, 1])
        for name, topic_id in (topics or {}).items()
    ]
    group = OffsetFetchRequest.OffsetFetchRequestGroup(
        group_id=group_id, topics=None if topics is None else named
    )
    return OffsetFetchRequest(groups=[group])


def offset_fetch(world: World, version: int) -> None:
    group_id = f"eq-offsets-{version}"
    topic_id = data(world)
    world.ask(_offset_fetch(version, "eq-no-such-group", {DATA: topic_id}), version)
    _commit(world, group_id)
    world.ask(_offset_fetch(version, group_id, {DATA: topic_id}), version)
    world.ask(_offset_fetch(version, group_id, {ABSENT: ABSENT_ID}), version)
    world.ask(_offset_fetch(version, "", {DATA: topic_id}), version)
    if version >= 2:
        world.ask(_offset_fetch(version, group_id, None), version)


def offset_delete(world: World, version: int) -> None:
    _commit(world, "eq-offset-delete")
    for group_id, topic in (
        ("eq-offset-delete", ABSENT),
        ("eq-offset-delete", DATA),
        ("eq-no-such-group", DATA),
        ("", ABSENT),
    ):
        partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)
        named = OffsetDeleteRequest.OffsetDeleteRequestTopic(name=topic, partitions=[partition])
        world.ask(OffsetDeleteRequest(group_id=group_id, topics=[named]), version)
    world.ask(_offset_fetch(8, "eq-offset-delete", None), 8)


def find_coordinator(world: World, version: int) -> None:
    for key_type in (0, 1) if version >= 1 else (0,):
        if version >= 4:
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["eq-one", "eq-two"])
        elif version >= 1:
            request = FindCoordinatorRequest(key_type=key_type, key="eq-one")
        else:
            request = FindCoordinatorRequest(key="eq-one")
        world.ask(request, version)


def describe_groups(world: World, version: int) -> None:
    data(world)
    group_id = f"eq-describe-{version}"
    _sync(world, group_id, _join(world, group_id))
    _commit(world, "eq-only-offsets")
    groups = [group_id, "eq-only-offsets", "eq-no-such-group"]
    described = world.ask(DescribeGroupsRequest(groups=groups), version)
    world.ask(DescribeGroupsRequest(groups=[""]), version)
    states = {group.group_id: group.group_state for group in described.groups}
    assert states == {group_id: "Stable", "eq-only-offsets": "Empty", "eq-no-such-group": "Dead"}


def list_groups(world: World, version: int) -> None:
    group_id = f"eq-list-{version}"
    _sync(world, group_id, _join(world, group_id))
    _commit(world, f"eq-list-empty-{version}")
    world.prefix = "eq-list-"
    listed = world.ask(ListGroupsRequest(), version)
    assert {group_id, f"eq-list-empty-{version}"} <= {group.group_id for group in listed.groups}
    if version >= 4:
        world.ask(ListGroupsRequest(states_filter=["Empty"]), version)
    if version >= 5:
        world.ask(ListGroupsRequest(types_filter=["consumer"]), version)


def delete_groups(world: World, version: int) -> None:
    emptied, live = f"eq-deleted-{version}", f"eq-live-{version}"
    _commit(world, emptied)
    _sync(world, live, _join(world, live))
    world.ask(DeleteGroupsRequest(groups_names=[emptied, live, "eq-no-such-group"]), version)
    world.ask(DescribeGroupsRequest(groups=[emptied]), 5)
