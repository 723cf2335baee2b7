"""Consumer groups of topics with virtual partitions: fencing, transactions and tools, on a real Kafka."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    DeleteGroupsRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from support.brokers import kafka_cluster as tools
from support.brokers.kafka_cluster import KafkaTools, write_client_properties
from support.clients.endpoint import Endpoint
from support.clients.group_member import member_of
from support.clients.raw_client import RawClient
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.java.java_clients import JavaClients, JavaError
from support.physical_names import physical_name
from support.virtual_topics import EACH, WAIT_S, expected, produce, read, size_of

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


class Shell:
    """A shell whose tools are told who they are."""

    def __init__(self, run: KafkaTools, endpoint: Endpoint, directory: Path) -> None:
        self._run = run
        config = write_client_properties(directory / "client.properties", endpoint.for_java)
        self._options = ("--bootstrap-server", endpoint.bootstrap, "--command-config", str(config))

    def __call__(self, tool: str, *arguments: str) -> list[dict[str, str]]:
        """Run a tool, and return the table that it prints."""
        lines = self._run(tool, *self._options, *arguments).stdout.splitlines()
        rows = [line.split() for line in lines if line.strip()]
        return [dict(zip(rows[0], row, strict=False)) for row in rows[1:]]


@pytest.fixture
def shell(kafka_tool: KafkaTools, endpoint: Endpoint, tmp_path: Path) -> Shell:
    return Shell(kafka_tool, endpoint, tmp_path)


def test_tools_show_and_change_what_a_group_has_of_virtual_partitions(
    shell: Shell, endpoint: Endpoint, dividing: GatewayProcess, topic: str, unique: UniqueName
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


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0)
@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_java_says_how_to_go_on_without_the_newer_protocol(
    java: JavaClients, endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    consumer = java.consumer(endpoint, unique("group"), group_protocol="consumer")
    java("subscribe", consumer, topic)

    with pytest.raises(JavaError, match=r"group\.protocol=classic"):
        java.poll_until(consumer, 1)
    java("close", consumer)


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0)
def test_librdkafka_says_that_the_newer_protocol_is_not_there(
    endpoint: Endpoint, topic: str, unique: UniqueName
) -> None:
    settings = endpoint.for_confluent | {"group.id": unique("group"), "group.protocol": "consumer"}
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe([topic])
        message = consumer.poll(WAIT_S)

    assert message is not None
    error = message.error()
    assert error is not None
    assert error.code() == KafkaError._FATAL
    assert "API version not supported" in error.str()
