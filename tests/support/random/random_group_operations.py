"""The state machine's operations on groups; see random_operations.py."""

from __future__ import annotations

import re
import time
from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest,
    SyncGroupRequest,
)
from support.forgery.victim import assignment, subscription, uuid_text
from support.random.random_operations import ABSENT_ID, settled
from support.random.state_machine import Machine, Operation, Play, Player

WAIT_S = 10.0
DEAD = "Dead"
"""What DescribeGroups says of a group that there is not."""
_NEWER_EPOCHS = ("member_epoch", "group_epoch", "assignment_epoch")


# -- classic groups


def classic_group(machine: Machine) -> Play:
    """A member's life: join, sync, heartbeat, describe, commit, leave, each at a version of its own."""
    rng = machine.rng
    topic = machine.topic().name
    group_id = machine.name("classic")
    is_static = rng.random() < 0.4
    instance_id = machine.name("static") if is_static else None
    join = machine.version(ApiKey.JOIN_GROUP, low=5 if is_static else 0)
    sync = machine.version(ApiKey.SYNC_GROUP, low=3 if is_static else 0)
    beat = machine.version(ApiKey.HEARTBEAT, low=3 if is_static else 0)
    leave = machine.version(ApiKey.LEAVE_GROUP, low=3 if is_static else 0)
    describe = machine.version(ApiKey.DESCRIBE_GROUPS)
    commit = machine.version(ApiKey.OFFSET_COMMIT, low=7 if is_static else 2, high=9)
    is_consumer = rng.random() < 0.8
    strange = rng.random() < 0.3
    machine.model.groups.append(group_id)

    def play(player: Player) -> None:
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(
            name="range", metadata=subscription(topic) if is_consumer else b"opaque"
        )
        request = JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            group_instance_id=instance_id,
            protocol_type="consumer" if is_consumer else "connect",
            protocols=[protocol],
        )
        joined = player.ask(request, join)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            request.member_id = joined.member_id
            joined = player.ask(request, join)
        about: dict[str, Any] = {
            "group_id": group_id,
            "generation_id": joined.generation_id + (1 if strange else 0),
            "member_id": joined.member_id,
            "group_instance_id": instance_id,
        }
        own = SyncGroupRequest.SyncGroupRequestAssignment(
            member_id=joined.member_id, assignment=assignment(topic) if is_consumer else b"opaque too"
        )
        types = {"protocol_type": request.protocol_type, "protocol_name": "range"} if sync >= 5 else {}
        player.ask(SyncGroupRequest(assignments=[own], **about, **types), sync)
        player.ask(HeartbeatRequest(**about), beat)
        if joined.error_code == ErrorCode.NONE:
            _wait_until_described(player, group_id, describe)
        _no_host(player.ask(DescribeGroupsRequest(groups=[group_id]), describe))
        partition = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        player.ask(
            OffsetCommitRequest(
                group_id=group_id,
                generation_id_or_member_epoch=about["generation_id"],
                member_id=joined.member_id,
                group_instance_id=instance_id,
                topics=[OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[partition])],
            ),
            commit,
        )
        member = LeaveGroupRequest.MemberIdentity(member_id=joined.member_id, group_instance_id=instance_id)
        alone = {"member_id": joined.member_id} if leave < 3 else {"members": [member]}
        player.ask(LeaveGroupRequest(group_id=group_id, **alone), leave)

    return play


def _wait_until_described(player: Player, group_id: str, version: int) -> None:
    """Wait for a group that has just been joined: the coordinator describes it as of what is committed of it, which
    may be nothing yet (GroupCoordinatorService.describeGroups reads at the last committed offset)."""
    deadline = time.monotonic() + WAIT_S
    state = DEAD
    while state == DEAD:
        assert time.monotonic() < deadline, f"{group_id} is not described"
        answer = player.ask_quietly(DescribeGroupsRequest(groups=[group_id]), version)
        state = answer.groups[0].group_state


def _no_host(answer: Any) -> None:
    for group in answer.groups:
        for member in group.members:
            member.client_host = "host"


def offset_commit(machine: Machine) -> Play:
    rng = machine.rng
    group_id, topic = machine.group(), machine.topic()
    version = machine.version(ApiKey.OFFSET_COMMIT)
    is_absent = rng.random() < 0.2
    partition = OffsetCommitRequest.OffsetCommitRequestPartition(
        partition_index=rng.randint(0, topic.partitions - 1),
        committed_offset=rng.randint(0, 50),
        committed_metadata=f"metadata {rng.random()}",
    )

    def play(player: Player) -> None:
        name = machine.prefix + "absent" if is_absent else topic.name
        topic_id = ABSENT_ID if is_absent else player.id_of(name)
        named = OffsetCommitRequest.OffsetCommitRequestTopic(
            name=name, topic_id=topic_id, partitions=[partition]
        )
        player.ask(OffsetCommitRequest(group_id=group_id, topics=[named]), version)

    return play


def offset_fetch(machine: Machine) -> Play:
    rng = machine.rng
    groups = list(dict.fromkeys(machine.group() for _ in range(2)))
    topic = machine.topic()
    version = machine.version(ApiKey.OFFSET_FETCH)
    of_all = rng.random() < 0.5 and version >= 2
    indexes = list(range(topic.partitions))

    def play(player: Player) -> None:
        if version < 8:
            by_name = [OffsetFetchRequest.OffsetFetchRequestTopic(name=topic.name, partition_indexes=indexes)]
            request = OffsetFetchRequest(group_id=groups[0], topics=None if of_all else by_name)
        else:
            named = OffsetFetchRequest.OffsetFetchRequestTopics(
                name=topic.name, topic_id=player.id_of(topic.name), partition_indexes=indexes
            )
            asked = OffsetFetchRequest.OffsetFetchRequestGroup
            request = OffsetFetchRequest(
                groups=[asked(group_id=one, topics=None if of_all else [named]) for one in groups]
            )
        player.ask(request, version)

    return play


def offset_delete(machine: Machine) -> Play:
    group_id, topic = machine.group(), machine.topic().name
    partition = OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)
    named = OffsetDeleteRequest.OffsetDeleteRequestTopic(name=topic, partitions=[partition])

    def play(player: Player) -> None:
        player.ask(OffsetDeleteRequest(group_id=group_id, topics=[named]), 0)

    return play


def list_groups(machine: Machine) -> Play:
    rng = machine.rng
    version = machine.version(ApiKey.LIST_GROUPS)
    filters: dict[str, Any] = {}
    if version >= 4 and rng.random() < 0.5:
        filters["states_filter"] = [rng.choice(("Empty", "Stable", "Dead"))]
    if version >= 5 and rng.random() < 0.5:
        filters["types_filter"] = [rng.choice(("consumer", "classic", "share"))]

    def play(player: Player) -> None:
        player.ask(ListGroupsRequest(**filters), version)

    return play


def describe_groups(machine: Machine) -> Play:
    groups = list(dict.fromkeys([machine.group(), machine.group(), machine.prefix + "absent"]))
    version = machine.version(ApiKey.DESCRIBE_GROUPS)

    def play(player: Player) -> None:
        _no_host(player.ask(DescribeGroupsRequest(groups=groups), version))

    return play


def delete_groups(machine: Machine) -> Play:
    groups = list(dict.fromkeys([machine.group(), machine.prefix + "absent"]))
    version = machine.version(ApiKey.DELETE_GROUPS)

    def play(player: Player) -> None:
        player.ask(DeleteGroupsRequest(groups_names=groups), version)

    return play


# -- newer groups


def consumer_group(machine: Machine) -> Play:
    """KIP-848: join by names or by a pattern, until it is assigned; describe; leave."""
    rng = machine.rng
    topics = sorted({machine.topic().name for _ in range(2)})
    group_id, member_id = machine.name("consumer"), uuid_text()
    by_pattern = rng.random() < 0.5
    version = machine.version(ApiKey.CONSUMER_GROUP_HEARTBEAT, low=int(by_pattern))
    pattern = rng.choice((f"{machine.prefix}topic-.*", "|".join(topics), f"^{topics[0]}$"))
    found = {name for name in machine.model.topics if re.fullmatch(pattern, name)}
    wanted = found if by_pattern else set(topics)
    describe = machine.version(ApiKey.CONSUMER_GROUP_DESCRIBE)

    def play(player: Player) -> None:
        ids = {player.id_of(name): name for name in wanted}
        request = ConsumerGroupHeartbeatRequest(
            group_id=group_id,
            member_id=member_id if version >= 1 else "",
            member_epoch=0,
            rebalance_timeout_ms=30_000,
            topic_partitions=[],
            subscribed_topic_names=[] if by_pattern else topics,
            subscribed_topic_regex=pattern if by_pattern else None,
        )
        answer = player.ask_quietly(request, version)
        player.note(answer.error_code)
        assigned: set[bytes] = set()

        def beat() -> Any:
            nonlocal answer
            if answer.assignment is not None:
                assigned.clear()
                assigned.update(topic.topic_id for topic in answer.assignment.topic_partitions)
            again = ConsumerGroupHeartbeatRequest(
                group_id=group_id, member_id=answer.member_id, member_epoch=answer.member_epoch
            )
            last, answer = answer, player.ask_quietly(again, version)
            assert answer.error_code == ErrorCode.NONE, (last, answer)
            return set(assigned)

        got = settled(beat, lambda names: names == set(ids))
        player.note(sorted(ids[one] for one in got))
        described = player.ask(ConsumerGroupDescribeRequest(group_ids=[group_id]), describe)
        for group in described.groups:
            for member in group.members:
                member.client_host, member.member_id = "host", "member"
            _without_epochs(group)
        leaving = ConsumerGroupHeartbeatRequest(
            group_id=group_id, member_id=answer.member_id, member_epoch=-1
        )
        left = player.ask(leaving, version)
        left.member_id = "member"

    return play


def _without_epochs(struct: Any) -> None:
    """Epochs count what the broker does in the background; and partitions come in any order."""
    for field in struct.FIELDS:
        value = getattr(struct, field.name)
        if field.name in _NEWER_EPOCHS:
            setattr(struct, field.name, 0)
        for one in value if isinstance(value, list) else [value]:
            if hasattr(one, "FIELDS"):
                _without_epochs(one)
        if field.name in ("assignment", "target_assignment", "group_state"):
            setattr(struct, field.name, type(value)() if value is not None else None)


def share_group(machine: Machine) -> Play:
    topic = machine.topic().name
    version = machine.version(ApiKey.SHARE_GROUP_HEARTBEAT, low=1)
    group_id, member_id = machine.name("share"), uuid_text()

    def play(player: Player) -> None:
        for epoch in (0, -1):
            request = ShareGroupHeartbeatRequest(
                group_id=group_id,
                member_id=member_id,
                member_epoch=epoch,
                subscribed_topic_names=[topic] if epoch == 0 else None,
            )
            answer = player.ask(request, version)
            answer.assignment = None  # Made in the background, sooner or later.
        described = player.ask(ShareGroupDescribeRequest(group_ids=[group_id, machine.prefix + "absent"]), 1)
        for group in described.groups:
            _without_epochs(group)

    return play


GROUP_OPERATIONS: tuple[tuple[int, Operation], ...] = (
    (4, classic_group),
    (8, offset_commit),
    (6, offset_fetch),
    (2, offset_delete),
    (3, list_groups),
    (3, describe_groups),
    (2, delete_groups),
    (2, consumer_group),
    (2, share_group),
)
