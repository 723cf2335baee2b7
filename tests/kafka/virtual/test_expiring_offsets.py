"""Committed offsets of virtual partitions live as long as those of their consumer group, at brokers that keep them a
minute: while the group has members, however they were committed, and a minute longer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from functools import partial

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.virtual_partitions.commit_stamps import read_stamp, without_stamp
from bifrost.wire.messages import ListGroupsRequest, OffsetFetchRequest
from support.brokers.kafka_versions import cluster_of, version_under_test
from support.brokers.warm_cluster import warmed
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.committed_offsets import commit, commit_request, offsets_of
from support.gateways.admin_port import value
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import HOST, GatewayProcess
from support.physical_names import physical_name
from support.virtual_topics import PHYSICAL, SIZES, WAIT_S, create

RETENTION_S = 60
EXPIRING = {
    "offsets.retention.minutes": "1",
    "offsets.retention.check.interval.ms": "1000",
    "group.initial.rebalance.delay.ms": "1000",
}
pytestmark = pytest.mark.timeout(300)  # It waits for more than 90 s where nothing else runs.
LATE_S = 30
"""How much later than the retention offsets may be gone, on a busy machine."""
ALL = dict.fromkeys(range(SIZES["even"]), 7)
NONE = dict.fromkeys(ALL, -1)
FIRST_GROUP = PHYSICAL["even"]
"""The virtual partitions below this one are those that the brokers have."""


@pytest.fixture(scope="session")
def expiring() -> Iterator[EmbeddedKafka]:
    with cluster_of(version_under_test(), properties=EXPIRING) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def warm(expiring: EmbeddedKafka) -> EmbeddedKafka:
    return warmed(expiring)


@pytest.fixture
def direct(expiring: EmbeddedKafka) -> Iterator[RawClient]:
    with RawClient(Endpoint(HOST, expiring.broker_port(1))) as client:
        yield client


def member(endpoint: Endpoint, group: str, topic: str) -> Consumer:
    """Return a member that has all partitions."""
    own = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    consumer = Consumer(endpoint.for_confluent | own)
    consumer.subscribe([topic])
    deadline = time.monotonic() + WAIT_S
    while len(consumer.assignment()) < len(ALL):
        assert time.monotonic() < deadline, "the member was assigned nothing"
        consumer.poll(0.1)
    return consumer


def commit_plainly(consumer: Consumer, topic: str) -> None:
    consumer.commit(offsets=[TopicPartition(topic, *one) for one in ALL.items()], asynchronous=False)


def commit_in_transaction(producer: Producer, consumer: Consumer, topic: str) -> None:
    producer.begin_transaction()
    offsets = [TopicPartition(topic, *one) for one in ALL.items()]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), WAIT_S)
    producer.commit_transaction(WAIT_S)


def test_offsets_expire_with_those_of_their_group(
    dividing: GatewayProcess, endpoint: Endpoint, client: RawClient, direct: RawClient, unique: UniqueName
) -> None:
    topic = create(endpoint, direct, unique("even"), SIZES["even"], PHYSICAL["even"])
    names = "plain-works", "transactional-works", "plain-left", "transactional-left", "outside"
    groups = {name: unique(name) for name in names}
    producer = Producer(endpoint.for_confluent | {"transactional.id": unique("txn")})
    producer.init_transactions(WAIT_S)

    def offsets(name: str) -> dict[int, int]:
        return NONE | offsets_of(client, groups[name], topic, list(ALL))

    def let_members_poll() -> None:
        for one in working:
            one.poll(0)

    with ExitStack() as stack:
        members = {
            name: stack.enter_context(closing(member(endpoint, groups[name], topic)))
            for name in names
            if name.endswith("works")
        }
        working = list(members.values())
        commit_plainly(members["plain-works"], topic)
        commit_in_transaction(producer, members["transactional-works"], topic)
        # By group: the time after which its offsets are kept for RETENTION_S at the least.
        since_s = {}
        for name, commit_all in (
            ("plain-left", commit_plainly),
            ("transactional-left", partial(commit_in_transaction, producer)),
        ):
            with closing(member(endpoint, groups[name], topic)) as one:
                commit_all(one, topic)
                since_s[name] = time.monotonic()
        # A consumer in no group, of two virtual partitions that share a physical one, and of one beside it.
        last = max(ALL)
        since_s["outside"] = time.monotonic()
        commit(client, commit_request(groups["outside"], topic, {last: 7, last - FIRST_GROUP: 7}))
        began_s, gone_s = time.monotonic(), {}
        while len(gone_s) < 3 and time.monotonic() < began_s + RETENTION_S + LATE_S:
            let_members_poll()
            for name in since_s.keys() - gone_s.keys():
                left = [offset for offset in offsets(name).values() if offset >= 0]
                answered_s = time.monotonic()
                if not left:
                    gone_s[name] = answered_s
                elif answered_s < since_s[name] + RETENTION_S - 5:
                    assert len(left) == (2 if name == "outside" else len(ALL)), (name, left)
            time.sleep(0.5)

        assert set(gone_s) == set(names) - members.keys()
        assert min(gone_s[name] - since_s[name] for name in gone_s) > RETENTION_S - 5
        # Those of groups whose members are there, long after brokers have deleted what no group keeps.
        while time.monotonic() < began_s + 1.5 * RETENTION_S:
            let_members_poll()
            time.sleep(0.5)
        assert offsets("plain-works") == ALL
        assert offsets("transactional-works") == ALL

    labels = {"tenant": "globex"}
    assert value(dividing, "kafka_proxy_virtual_partition_kept_offset_groups_total", **labels) > 0
    assert value(dividing, "kafka_proxy_virtual_partition_expired_offsets_total", **labels) > 0
    assert value(dividing, "kafka_proxy_virtual_partition_offset_upkeep_failures_total", **labels) == 0


def test_a_client_gets_its_own_metadata_and_the_brokers_have_it_with_a_stamp(
    client: RawClient, endpoint: Endpoint, direct: RawClient, unique: UniqueName
) -> None:
    topic = create(endpoint, direct, unique("even"), SIZES["even"], PHYSICAL["even"])
    group, last = unique("group"), max(ALL)

    def told(one: RawClient, group_id: str) -> list[tuple[int, str]]:
        answer = one.request(OffsetFetchRequest(group_id=group_id, topics=None), 7)
        return [
            (partition.partition_index, partition.metadata)
            for named in answer.topics
            for partition in named.partitions
        ]

    request = commit_request(group, topic, {0: 7, last: 8})
    for one in request.topics[0].partitions:
        one.committed_metadata = f"of {one.partition_index}"
    assert commit(client, request) == {0: 0, last: 0}

    assert sorted(told(client, group)) == [(0, "of 0"), (last, f"of {last}")]
    physical = physical_name("globex", group)
    (owner,) = [
        one.group_id
        for one in direct.request(ListGroupsRequest(), 4).groups
        if one.group_id.startswith(physical) and one.group_id != physical
    ]
    [(_, stored)] = told(direct, owner)
    stamp = read_stamp(stored)
    assert stamp is not None
    assert abs(stamp.committed_s - time.time()) < WAIT_S
    assert (stamp.is_transactional, without_stamp(stored)) == (False, f"of {last}")
