"""Subscriptions and assignments that are not quite what they should be, in groups whose partitions the broker assigns.

Kafka accepts bytes behind a subscription, and bad UTF-8 in it. A gateway that passes on what it cannot read would let a
classic member of a KIP-848 group name physical topics: by how its own partitions are shared out it would learn how many
partitions a topic of another tenant has.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import confluent_kafka
import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    ConsumerGroupHeartbeatRequest,
    DescribeGroupsRequest,
    JoinGroupRequest,
    SyncGroupRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import delete_topic
from support.gateways.gateway_fixtures import Connect, FreshTopic, UniqueName
from support.physical_names import physical_name
from support.stage.messages import consumer_payload

OWN, OWN_PARTITIONS = "embedded-own", 4
FOREIGN = "embedded-foreign"
PHYSICAL_FOREIGN = physical_name("acme", FOREIGN)
SETTLED_S = 10.0
QUIET = 30
"""Heartbeats in which nothing may change: 1.5 s, as the broker gathers changes before it assigns anew."""
MEMBER_ID = "ZW1iZWRkZWQtbWVtYmVyMQ"

pytestmark = pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)


def subscription(*topics: str, version: int = 1) -> bytes:
    return consumer_payload("Subscription", version, topics=list(topics), user_data=None)


ATTACK = subscription(OWN, PHYSICAL_FOREIGN)
ATTACKS = {
    "one byte behind": ATTACK + b"\0",
    "a physical name behind": subscription(OWN) + PHYSICAL_FOREIGN.encode(),
    "bad UTF-8 in another topic": subscription(OWN, PHYSICAL_FOREIGN, "?").replace(b"\0\x01?", b"\0\x01\xff"),
    "version 0 and a byte behind": subscription(OWN, PHYSICAL_FOREIGN, version=0) + b"\xff",
}
"""What Kafka accepts, and reads the physical name from (but for that which only stands behind)."""

REFUSED_BY_KAFKA = {
    "negative version": b"\xff\xff" + ATTACK[2:],
    "cut off": ATTACK[:-1],
    "negative count": b"\0\1\xff\xff\xff\xfe" + ATTACK[6:],
    "no list": b"\0\1\xff\xff\xff\xff" + ATTACK[6:],
    "only a version": b"\0\1",
}


@pytest.fixture(scope="module", autouse=True)
def _topics(broker: Endpoint, globex: Endpoint, fresh_topic: FreshTopic) -> Iterator[None]:
    assert globex, "the gateway runs, so the coordinators are there"
    fresh_topic("globex", OWN, OWN_PARTITIONS)
    fresh_topic("acme", FOREIGN)
    yield
    with RawClient(broker) as client:
        delete_topic(client, PHYSICAL_FOREIGN)


class WorkerPeers:
    """The member that makes a group one of KIP-848."""

    def __init__(self, client: RawClient, group: str, topic: str = OWN) -> None:
        """Join, and take all that there is."""
        self._client, self._group = client, group
        self._epoch, self._owned = 0, []
        self._heartbeat(subscribed_topic_names=[topic])
        self.settled = self.settle()
        """Its epoch and how many partitions it has, before another member comes."""

    def settle(self) -> tuple[int, int]:
        """Heartbeat until nothing changes for a while; return the epoch and how many partitions it has."""
        until, quiet = time.monotonic() + SETTLED_S, 0
        while quiet < QUIET and time.monotonic() < until:
            quiet = 0 if self._heartbeat() else quiet + 1
            time.sleep(0.05)
        return self._epoch, sum(len(one.partitions) for one in self._owned)

    def _heartbeat(self, **fields: Any) -> bool:
        """Whether something changed."""
        request = ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=MEMBER_ID,
            member_epoch=self._epoch,
            rebalance_timeout_ms=10_000,
            topic_partitions=self._owned,
            **{"subscribed_topic_names": None, **fields},
        )
        answer = self._client.request(request, 1)
        assert answer.error_code == ErrorCode.NONE, answer
        before, self._epoch = self._epoch, answer.member_epoch
        if answer.assignment is not None:
            self._owned = [
                ConsumerGroupHeartbeatRequest.TopicPartitions(
                    topic_id=one.topic_id, partitions=one.partitions
                )
                for one in answer.assignment.topic_partitions
            ]
        return answer.assignment is not None or before != self._epoch


def join(client: RawClient, group: str, metadata: bytes, version: int = 9, *, name: str = "range") -> Any:
    """Join as a classic member, and once more with the ID that the coordinator gives."""
    member_id = ""
    for _ in range(2):
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name=name, metadata=metadata)
        request = JoinGroupRequest(
            group_id=group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        answer = client.request(request, version)
        if answer.error_code != ErrorCode.MEMBER_ID_REQUIRED:
            break
        member_id = answer.member_id
    return answer


def observed(client: RawClient, group: str, topic: str, payload: bytes) -> list[Any]:
    """Return what is learnt by a classic member with this payload that comes to a group of one's own."""
    member = WorkerPeers(client, group, topic)
    assert member.settled[1] == OWN_PARTITIONS
    answer = join(client, group, payload)
    return [member.settled, answer.error_code, answer.generation_id, member.settle()]


@pytest.mark.parametrize("shape", ATTACKS)
def test_a_foreign_topic_cannot_be_smuggled_into_a_group(
    shape: str, connect: Connect, unique: UniqueName, fresh_topic: FreshTopic
) -> None:
    """What is learnt does not depend on the foreign topic, and the member is not let in."""
    seen = []
    for partitions in (1, 8):
        fresh_topic("acme", FOREIGN, partitions)
        seen.append(observed(connect("globex"), unique(f"group-{partitions}"), OWN, ATTACKS[shape]))

    assert seen[0] == seen[1]
    assert seen[0][1] == ErrorCode.UNKNOWN_SERVER_ERROR


def test_the_attack_works_at_the_broker_itself(
    direct: RawClient, unique: UniqueName, fresh_topic: FreshTopic
) -> None:
    """So that the test above tries something."""
    own = physical_name("globex", OWN)
    seen = []
    for partitions in (1, 8):
        fresh_topic("acme", FOREIGN, partitions)
        seen.append(
            observed(direct, unique(f"group-{partitions}"), own, subscription(own, PHYSICAL_FOREIGN) + b"\0")
        )

    assert seen[0] != seen[1]
    assert [one[1] for one in seen] == [ErrorCode.NONE, ErrorCode.NONE]


@pytest.mark.parametrize("shape", REFUSED_BY_KAFKA)
def test_a_payload_that_kafka_refuses_is_refused_alike(
    shape: str, connect: Connect, direct: RawClient, unique: UniqueName
) -> None:
    answers = []
    for client, own in ((connect("globex"), OWN), (direct, physical_name("globex", OWN))):
        group = unique("group")
        WorkerPeers(client, group, own)
        # The coordinator has not given the member an ID yet, so it asks for none.
        answer = join(client, group, REFUSED_BY_KAFKA[shape], 3)
        answers.append((answer.error_code, answer.generation_id, answer.protocol_name, answer.leader))

    assert answers[0] == answers[1]


@pytest.mark.parametrize("version", range(6))
def test_an_assignment_that_is_not_one_is_refused_in_a_classic_group(
    version: int, connect: Connect, unique: UniqueName
) -> None:
    client, group = connect("globex"), unique("group")
    member = join(client, group, subscription(OWN), 5)
    assert member.error_code == ErrorCode.NONE
    foreign = consumer_payload(
        "Assignment", 1, assigned_partitions=[{"topic": PHYSICAL_FOREIGN, "partitions": [0]}], user_data=None
    )

    def sync(payload: bytes, protocol_type: str | None) -> Any:
        assignment = SyncGroupRequest.SyncGroupRequestAssignment(
            member_id=member.member_id, assignment=payload
        )
        request = SyncGroupRequest(
            group_id=group,
            generation_id=member.generation_id,
            member_id=member.member_id,
            protocol_type=protocol_type if version >= 5 else None,
            protocol_name="range" if version >= 5 else None,
            assignments=[assignment],
        )
        return client.request(request, version)

    refused = sync(foreign + b"\0", "consumer")
    as_another = sync(foreign + b"\0", "connect")
    taken = sync(b"\0\0\0\0\0\0\xff\xff\xff\xff", "consumer")

    assert refused.error_code == ErrorCode.UNKNOWN_SERVER_ERROR
    # The broker looks at the type that the request names.
    expected = ErrorCode.INCONSISTENT_GROUP_PROTOCOL if version >= 5 else ErrorCode.UNKNOWN_SERVER_ERROR
    assert as_another.error_code == expected
    assert taken.error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", range(6))
def test_members_of_another_protocol_say_what_they_want(
    version: int, connect: Connect, unique: UniqueName
) -> None:
    client, group = connect("globex"), unique("group")
    payload = b'\x00\x01{"url": "http://connect-1:8083/", "topics": "__consumer_offsets"}\xff'
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="sessioned", metadata=payload)
    member = client.request(
        JoinGroupRequest(
            group_id=group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="connect",
            protocols=[protocol],
        ),
        3,
    )
    assignment = SyncGroupRequest.SyncGroupRequestAssignment(member_id=member.member_id, assignment=payload)
    answer = client.request(
        SyncGroupRequest(
            group_id=group,
            generation_id=member.generation_id,
            member_id=member.member_id,
            # From v5 on a broker wants to be told, and looks.
            protocol_type="connect" if version >= 5 else None,
            protocol_name="sessioned" if version >= 5 else None,
            assignments=[assignment],
        ),
        version,
    )

    assert (member.error_code, bytes(member.members[0].metadata)) == (ErrorCode.NONE, payload)
    assert (answer.error_code, bytes(answer.assignment)) == (ErrorCode.NONE, payload)


def test_a_subscription_as_kafka_go_writes_it_is_completed(connect: Connect, unique: UniqueName) -> None:
    """Version 1 without the field of version 1: Kafka takes it in a classic group only, the gateway everywhere."""
    client, group = connect("globex"), unique("group")
    WorkerPeers(client, group)

    answer = join(client, group, b"\0\1" + subscription(OWN, version=0)[2:])

    assert answer.error_code == ErrorCode.NONE


def test_what_a_sticky_assignor_remembers_is_physical_at_the_broker(
    globex: Endpoint, direct: RawClient, unique: UniqueName
) -> None:
    """librdkafka writes its previous assignment into the user data when it joins again."""
    group = unique("group")
    settings = globex.for_confluent | {
        "group.id": group,
        "partition.assignment.strategy": "cooperative-sticky",
    }
    consumers = [confluent_kafka.Consumer(settings) for _ in range(2)]
    try:
        deadline = time.monotonic() + 40
        for count, consumer in enumerate(consumers, start=1):
            consumer.subscribe([OWN])
            while [len(one.assignment()) for one in consumers[:count]] != [OWN_PARTITIONS // count] * count:
                for one in consumers[:count]:
                    one.poll(0.1)
                assert time.monotonic() < deadline

        (described,) = direct.request(
            DescribeGroupsRequest(groups=[physical_name("globex", group)]), 5
        ).groups
    finally:
        for consumer in consumers:
            consumer.close()

    data = [bytes(member.member_metadata) for member in described.members]
    own, physical = OWN.encode(), physical_name("globex", OWN).encode()
    assert len(data) == 2
    assert all(one.count(own) == one.count(physical) for one in data), data
    # The topics, the partitions that it owned, and the user data.
    assert max(one.count(physical) for one in data) == 3, data
