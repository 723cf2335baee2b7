"""Consumer groups of topics with virtual partitions: fencing, transactions and tools, on a real Kafka."""

from __future__ import annotations

import time
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    DeleteGroupsRequest,
    ListGroupsRequest,
    TxnOffsetCommitRequest,
)
from support.brokers import kafka_cluster as tools
from support.brokers.tool_shell import ToolShell
from support.clients.endpoint import Endpoint
from support.clients.group_member import member_of
from support.clients.raw_client import RawClient
from support.committed_offsets import commit, commit_request, offsets_of
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.java.java_clients import JavaClients
from support.physical_names import physical_name
from support.virtual_topics import EACH, WAIT_S, expected, produce, read, size_of


@pytest.mark.parametrize("version", [2, 5, 7, 9])
def test_offsets_of_all_virtual_partitions_are_kept(
    client: RawClient, topic: str, unique: UniqueName, version: int
) -> None:
    group, size = unique("group"), size_of(topic)
    offsets = {partition: 100 + partition for partition in range(size)}
    assert commit(
        client, commit_request(group, topic, offsets | {size: 1, -1: 1}), min(version, 8)
    ) == dict.fromkeys(offsets, 0) | dict.fromkeys([size, -1], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    assert offsets_of(client, group, topic, version=version) == offsets
    assert offsets_of(client, group, topic, [size - 1, 0], version=version) == {
        size - 1: 100 + size - 1,
        0: 100,
    }


def test_offset_groups_are_not_shown_and_go_with_their_group(
    client: RawClient, direct: RawClient, topic: str, unique: UniqueName
) -> None:
    group, last = unique("group"), size_of(topic) - 1
    commit(client, commit_request(group, topic, {0: 1, last: 2}))

    def listed(one: RawClient, prefix: str) -> list[str]:
        return sorted(
            found.group_id
            for found in one.request(ListGroupsRequest(), 4).groups
            if found.group_id.startswith(prefix)
        )

    assert listed(client, group) == [group]
    assert len(listed(direct, physical_name("globex", group))) == 2

    (deleted,) = client.request(DeleteGroupsRequest(groups_names=[group]), 2).results
    assert (deleted.group_id, deleted.error_code) == (group, ErrorCode.NONE)
    assert listed(direct, physical_name("globex", group)) == []
    assert offsets_of(client, group, topic, [0, last]) == {0: -1, last: -1}


def test_offset_groups_cannot_be_named(
    client: RawClient, direct: RawClient, topic: str, unique: UniqueName
) -> None:
    """A user with rights on all that begins like its own group would else change what another group has read."""
    group, last = unique("group"), size_of(topic) - 1
    commit(client, commit_request(group, topic, {last: 2}))
    prefix = physical_name("globex", "")
    owners = [
        one.group_id.removeprefix(prefix)
        for one in direct.request(ListGroupsRequest(), 4).groups
        if one.group_id.startswith(physical_name("globex", group + "-v"))
    ]

    assert len(owners) == 1
    assert commit(client, commit_request(owners[0], topic, {0: 9})) == {0: ErrorCode.INVALID_GROUP_ID}
    (deleted,) = client.request(DeleteGroupsRequest(groups_names=owners), 2).results
    assert deleted.error_code == ErrorCode.INVALID_GROUP_ID
    assert offsets_of(client, group, topic, [last]) == {last: 2}


def test_groups_with_members_keep_their_offsets(
    endpoint: Endpoint, client: RawClient, topic: str, unique: UniqueName
) -> None:
    group, last = unique("group"), size_of(topic) - 1
    produce(endpoint, topic)
    with member_of(endpoint, group, topic):
        (kept,) = client.request(DeleteGroupsRequest(groups_names=[group]), 2).results
        # A commit from outside, and those of members that the group does not have.
        outside = commit(client, commit_request(group, topic, {0: 1, last: 1}))
        zombie = commit(client, commit_request(group, topic, {last: 1}, 1, "zombie"))
        txn = TxnOffsetCommitRequest(
            transactional_id=unique("txn"),
            group_id=group,
            producer_id=1,
            producer_epoch=0,
            generation_id=1,
            member_id="zombie",
            topics=[
                TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
                            partition_index=last, committed_offset=1
                        )
                    ],
                )
            ],
        )
        in_transaction = client.request(txn, 3).topics[0].partitions[0].error_code

        assert kept.error_code == ErrorCode.NON_EMPTY_GROUP
        assert outside == {0: ErrorCode.UNKNOWN_MEMBER_ID, last: ErrorCode.UNKNOWN_MEMBER_ID}
        assert zombie == {last: ErrorCode.UNKNOWN_MEMBER_ID}
        assert in_transaction == ErrorCode.UNKNOWN_MEMBER_ID
        assert 1 not in offsets_of(client, group, topic).values()


def test_a_member_of_a_generation_that_is_over_commits_nothing(
    endpoint: Endpoint, client: RawClient, topic: str, unique: UniqueName
) -> None:
    """The first member stops to poll until it is thrown out; what is committed in its name then is refused."""
    group, last = unique("group"), size_of(topic) - 1
    produce(endpoint, topic)
    settings = endpoint.for_confluent | {
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "session.timeout.ms": 6000,
        "max.poll.interval.ms": 6000,
    }
    with closing(Consumer(settings)) as first, closing(Consumer(settings)) as second:
        first.subscribe([topic])
        deadline = time.monotonic() + WAIT_S
        while not first.assignment() and time.monotonic() < deadline:
            first.poll(0.2)
        assert len(first.assignment()) == size_of(topic)
        member = first.memberid()
        assert commit(client, commit_request(group, topic, {last: 1}, 1, member)) == {last: ErrorCode.NONE}
        second.subscribe([topic])
        while len(second.assignment()) < size_of(topic) and time.monotonic() < deadline:
            second.poll(0.2)
        assert len(second.assignment()) == size_of(topic)
        second.commit(offsets=[TopicPartition(topic, last, 9)], asynchronous=False)

        assert commit(client, commit_request(group, topic, {last: 2}, 1, member)) == {
            last: ErrorCode.UNKNOWN_MEMBER_ID
        }
        # librdkafka 2.16 now and then never comes back from `close` while it has this to tell.
        first.poll(0.2)
    assert offsets_of(client, group, topic, [last]) == {last: 9}


@pytest.mark.parametrize("is_committed", [True, False])
def test_offsets_are_part_of_a_transaction(
    endpoint: Endpoint, client: RawClient, topic: str, unique: UniqueName, is_committed: bool
) -> None:
    group, sink = unique("group"), unique("plain")
    produce(endpoint, topic)
    before = dict.fromkeys(range(size_of(topic)), 1)
    commit(client, commit_request(group, topic, before))
    producer = Producer(endpoint.for_confluent | {"transactional.id": unique("txn")})
    producer.init_transactions(WAIT_S)
    own = {"group.id": group, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    with closing(Consumer(endpoint.for_confluent | own)) as consumer:
        consumer.subscribe([topic])
        deadline = time.monotonic() + WAIT_S
        while len(consumer.assignment()) < size_of(topic) and time.monotonic() < deadline:
            consumer.poll(0.2)
        producer.begin_transaction()
        producer.produce(sink, b"made of it")
        after = {partition: 30 + partition for partition in range(size_of(topic))}
        offsets = [TopicPartition(topic, partition, offset) for partition, offset in after.items()]
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), WAIT_S)
        if is_committed:
            producer.commit_transaction(WAIT_S)
        else:
            producer.abort_transaction(WAIT_S)

    assert offsets_of(client, group, topic) == (after if is_committed else before)


@pytest.mark.parametrize("java", ["2.8.2", "4.3.1"], indirect=True)
def test_java_commits_offsets_in_a_transaction(
    java: JavaClients, endpoint: Endpoint, client: RawClient, topic: str, unique: UniqueName
) -> None:
    """The newer one by transactions of version 2 (KIP-890)."""
    group, sink, count = unique("group"), unique("plain"), EACH * size_of(topic)
    produce(endpoint, topic)
    consumer = java.consumer(endpoint, group)
    java("subscribe", consumer, topic)
    java.poll_until(consumer, count)
    producer = java.producer(endpoint, transactional_id=unique("txn"))
    java("transaction", producer, "init", "begin")
    java("send", producer, sink, ["made of it"])
    java("send_offsets", producer, consumer)
    java("transaction", producer, "commit")
    ends = {one: java("offsets", consumer, topic, 0, one)[1] for one in range(size_of(topic))}
    java("close", consumer, producer)

    assert offsets_of(client, group, topic) == ends


def test_tools_show_and_change_what_a_group_has_of_virtual_partitions(
    shell: ToolShell, endpoint: Endpoint, dividing: GatewayProcess, topic: str, unique: UniqueName
) -> None:
    group, size = unique("group"), size_of(topic)
    produce(endpoint, topic)
    read(endpoint, topic, group, EACH * size)

    described = shell(tools.CONSUMER_GROUPS, "--describe", "--group", group)
    assert sorted(int(row["PARTITION"]) for row in described) == list(range(size))
    assert {row["LAG"] for row in described} == {"0"}

    options = ("--group", group, "--topic", topic, "--reset-offsets")
    shell(tools.CONSUMER_GROUPS, *options, "--to-latest", "--execute")
    described = shell(tools.CONSUMER_GROUPS, "--describe", "--group", group)
    assert {row["LAG"] for row in described} == {"0"}
    assert read(endpoint, topic, group, 0) == {}

    shell(tools.CONSUMER_GROUPS, *options, "--to-earliest", "--execute")
    assert read(endpoint, topic, group, EACH * size) == expected(topic)

    last = f"{topic}:{size - 1}"
    shell(tools.CONSUMER_GROUPS, "--delete-offsets", "--group", group, "--topic", last)
    described = shell(tools.CONSUMER_GROUPS, "--describe", "--group", group)
    assert sorted(int(row["PARTITION"]) for row in described) == list(range(size - 1))

    listed = shell(tools.CONSUMER_GROUPS, "--delete", "--group", group)
    assert not [row for row in listed if "Error" in row]
    assert read(endpoint, topic, group, EACH * size) == expected(topic)
