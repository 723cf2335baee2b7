"""Payloads inside requests, which a broker reads too: whatever they name of others, there is no such thing.

A subscription counts where the broker itself shares out partitions: in a KIP-848 group with a classic member. So each
is sent into such a group, and what its other member is then told is compared as well.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message, Struct
from bifrost.wire.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    CreateTopicsRequest,
    DescribeGroupsRequest,
    JoinGroupRequest,
    StreamsGroupDescribeRequest,
    StreamsGroupHeartbeatRequest,
    SyncGroupRequest,
)
from support.clients.raw_client import decode_response
from support.clients.raw_operations import await_topic
from support.forgery.attackers import Attack
from support.forgery.forged_payloads import NOTHING, assignments, subscriptions
from support.forgery.forged_requests import Loot, Own, Pair, fresh_group
from support.forgery.probe import Prober
from support.forgery.victim import SESSION_TIMEOUT_MS, BusyVictim, subscription

ATTACKER = "initech"
SAMPLE = 40
"""Payloads of some hundreds that are sent for each name."""

Asked = tuple[Message, int]


MADE_UP = frozenset({"member_id", "leader"})
"""Fields in which a classic member's random ID stands."""


def plain(struct: Any, swaps: Sequence[tuple[bytes, bytes]]) -> Any:
    """Return what an answer says, with other names, without what Kafka makes up, and lists in one order."""
    if isinstance(struct, list):
        return sorted((plain(item, swaps) for item in struct), key=repr)
    if isinstance(struct, Struct):
        return {
            field.name: "made up" if field.name in MADE_UP else plain(getattr(struct, field.name), swaps)
            for field in struct.FIELDS
        }
    if isinstance(struct, str):
        return plain(struct.encode(), swaps)
    if isinstance(struct, bytes):
        for one, other in swaps:
            struct = struct.replace(one, other)
    return struct


MAX_TRIES = 3
"""What differs each time differs because of the name, not of the moment."""


class Side:
    """One of two: the sender's group in which a foreign name is said, or that in which the control is."""

    def __init__(self, prober: Prober) -> None:
        self.prober = prober
        self.group_id = fresh_group()
        self.outcomes: list[tuple[bool, Any]] = []

    def ask(self, asked: Asked) -> None:
        """Send a request and keep what it came to."""
        message, version = asked
        outcome = self.prober.ask(message, version)
        assert message.SCHEMA.api_key is not None
        answer = outcome.answer and decode_response(
            message.SCHEMA.api_key, version, bytes(4) + outcome.answer
        )
        self.outcomes.append((outcome.is_alive, answer))

    def told(self, swaps: Iterable[tuple[bytes, bytes]] = ()) -> list[Any]:
        """Return what it came to, with other names, whatever the group is called."""
        named = [*swaps, (self.group_id.encode(), b"own group")]
        return [(is_alive, plain(answer, named)) for is_alive, answer in self.outcomes]


def heartbeat(group_id: str, epoch: int, topic: str) -> Asked:
    """The other member of the group, of the newer kind."""
    request = ConsumerGroupHeartbeatRequest(
        group_id=group_id,
        member_id="b3RoZXItbWVtYmVyLW9uZQ",
        member_epoch=epoch,
        rebalance_timeout_ms=30_000,
        subscribed_topic_names=[topic],
        topic_partitions=[] if epoch == 0 else None,
    )
    return request, 1


def join(group_id: str, member_id: str, payload: bytes) -> Asked:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=payload)
    request = JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=5_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[protocol],
    )
    # The last version in which a member need not ask for its ID first.
    return request, 3


def play_subscription(side: Side, topic: str, payload: bytes) -> None:
    """Join a KIP-848 group as a classic member; then see what became of the group."""
    side.ask(heartbeat(side.group_id, 0, topic))
    side.ask(join(side.group_id, "", payload))
    side.ask(heartbeat(side.group_id, 1, topic))
    side.ask((ConsumerGroupDescribeRequest(group_ids=[side.group_id]), 1))


def play_assignment(side: Side, topic: str, payload: bytes) -> None:
    """Lead a classic group with such an assignment; then let a member of the newer kind turn it into a newer group."""
    client = side.prober.connections
    # It wants nothing itself, so the broker has nothing to draw lots for.
    request, version = join(side.group_id, "", subscription())
    joined = client.request(request, version)
    assert joined.error_code == ErrorCode.NONE, joined
    own = SyncGroupRequest.SyncGroupRequestAssignment(member_id=joined.member_id, assignment=payload)
    sync = SyncGroupRequest(
        group_id=side.group_id,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        assignments=[own],
    )
    side.ask((sync, 3))
    side.ask((DescribeGroupsRequest(groups=[side.group_id]), 0))
    side.ask(heartbeat(side.group_id, 0, topic))
    side.ask((ConsumerGroupDescribeRequest(group_ids=[side.group_id]), 1))


def some(payloads: Iterable[tuple[str, bytes]], place: int) -> list[tuple[str, bytes]]:
    """Return some of the payloads, others for each place; the same for a foreign name and its control."""
    made = list(payloads)
    return random.Random(place).sample(made, SAMPLE)


def pairs_of(loot: Loot) -> Iterator[tuple[int, Pair]]:
    yield from enumerate(loot.topics)


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
@pytest.mark.parametrize("kind", ["subscription", "assignment"])
def test_payloads_that_name_foreign_topics_name_nothing(
    kind: str, attack: Attack, loot: Loot, own: dict[str, Own], victim: BusyVictim
) -> None:
    prober = attack(ATTACKER)
    make, play = {
        "subscription": (subscriptions, play_subscription),
        "assignment": (assignments, play_assignment),
    }[kind]
    topic, differences, sent = own[ATTACKER].topic, [], 0

    for place, pair in pairs_of(loot):
        made = zip(
            some(make(topic, pair.foreign), place), some(make(topic, pair.control), place), strict=True
        )
        for (label, foreign), (_, control) in made:
            sent += 1
            # A coordinator describes a group as its replicas know it, which is a little sooner or later.
            for _ in range(2 * MAX_TRIES):
                sides = Side(prober), Side(prober)
                for side, payload in zip(sides, (foreign, control), strict=True):
                    play(side, topic, payload)
                foreign_told, control_told = sides[0].told(pair.swaps()), sides[1].told()
                if foreign_told == control_told:
                    break
            else:
                differences.append(f"{label} {pair.foreign}: {foreign_told}, control {control_told}")

    assert not differences, f"{len(differences)} of {sent}:\n" + "\n".join(differences[:3])
    assert sent == SAMPLE * len(loot.topics)
    victim.check()


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
@pytest.mark.parametrize(("label", "payload"), NOTHING, ids=[label for label, _ in NOTHING])
def test_payloads_without_content_do_no_harm(
    label: str, payload: bytes, attack: Attack, own: dict[str, Own], victim: BusyVictim
) -> None:
    side = Side(attack(ATTACKER))

    play_subscription(side, own[ATTACKER].topic, payload)
    play_assignment(Side(attack(ATTACKER)), own[ATTACKER].topic, payload)

    assert all(is_alive for is_alive, _ in side.outcomes)
    victim.check()


def _told_of_topologies(prober: Prober, topic: str, number: int, pair: Pair) -> tuple[object, object]:
    """Return what groups are told whose topologies name a foreign topic, and one that does not exist."""
    sides = Side(prober), Side(prober)
    for side, name in zip(sides, (pair.foreign, pair.control), strict=True):
        topology = list(topologies(topic, name))[number]
        for epoch in (0, 1):
            request = StreamsGroupHeartbeatRequest(
                group_id=side.group_id,
                member_id="c3RyZWFtcy1tZW1iZXItMQ",
                member_epoch=epoch,
                rebalance_timeout_ms=30_000,
                process_id="a-process",
                topology=topology if epoch == 0 else None,
                active_tasks=[],
                standby_tasks=[],
                warmup_tasks=[],
            )
            side.ask((request, 0))
        side.ask((StreamsGroupDescribeRequest(group_ids=[side.group_id]), 0))
    return sides[0].told(pair.swaps()), sides[1].told()


@pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0)
def test_topologies_that_name_foreign_topics_name_nothing(
    attack: Attack, loot: Loot, own: dict[str, Own], victim: BusyVictim
) -> None:
    prober, topic, differences = attack(ATTACKER), own[ATTACKER].topic, []

    for pair in loot.topics:
        # A streams group makes its internal topics in the background, of these names too: then they are there already.
        for name in (pair.foreign, pair.control):
            make_own_topic(prober, name)
        for number in range(len(list(topologies(topic, "x")))):
            # The broker resolves a topology in the background, a little sooner or later.
            told = [_told_of_topologies(prober, topic, number, pair) for _ in range(MAX_TRIES)]
            if all(foreign != control for foreign, control in told):
                foreign, control = told[-1]
                differences.append(f"{number} {pair.foreign}: {foreign}, control {control}")

    assert not differences, f"{len(differences)}:\n" + "\n".join(differences[:3])
    victim.check()


def make_own_topic(prober: Prober, name: str) -> None:
    """Make a topic of the sender's own, of a name that another has; Kafka refuses some of them."""
    topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    client = prober.connections
    (made,) = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7).topics
    if made.error_code == ErrorCode.NONE:
        await_topic(client, name)


def topologies(own: str, named: str) -> Iterator[StreamsGroupHeartbeatRequest.Topology]:
    """Yield topologies that name another topic beside one's own, some of which contradict themselves."""
    struct = StreamsGroupHeartbeatRequest
    for partitions, replicas in ((0, 0), (1, 1), (-1, -1), (2**31 - 1, 2**15 - 1)):
        info = struct.TopicInfo(name=named, partitions=partitions, replication_factor=replicas)
        yield struct.Topology(
            subtopologies=[
                struct.Subtopology(subtopology_id="0", source_topics=[own], state_changelog_topics=[info])
            ]
        )
        yield struct.Topology(
            subtopologies=[
                struct.Subtopology(subtopology_id="0", source_topics=[own], repartition_source_topics=[info])
            ]
        )
    for topics in ([own, named], [named, named], [named, named + "\0"], [named, ""]):
        yield struct.Topology(subtopologies=[struct.Subtopology(subtopology_id="0", source_topics=topics)])
        twice = [struct.Subtopology(subtopology_id=number, source_topics=topics) for number in "00"]
        yield struct.Topology(epoch=-1, subtopologies=twice)
    group = struct.CopartitionGroup(source_topics=[0, 1, 99, -1])
    yield struct.Topology(
        subtopologies=[
            struct.Subtopology(
                subtopology_id="0",
                source_topics=[own, named],
                copartition_groups=[group],
                source_topic_regex=[named],
            )
        ]
    )
