"""Commits of members of the newer protocol on a real Kafka: those of all virtual partitions are fenced alike."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AddOffsetsToTxnRequest,
    DeleteGroupsRequest,
    InitProducerIdRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    TxnOffsetCommitRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.newer_member import NewerMember, settle
from support.clients.raw_client import RawClient
from support.clients.raw_operations import topic_id_of
from support.committed_offsets import commit, commit_request, offsets_of
from support.gateways.gateway_fixtures import UniqueName
from support.java.java_clients import JavaClients
from support.virtual_topics import EACH, WAIT_S, produce

pytestmark = pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0)

BY_EPOCH, LEAVES_FOR_NOW = 9, -2
UNKNOWN, STALE = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH


@pytest.fixture
def pair(client: RawClient, topic: str, size: int, unique: UniqueName) -> list[NewerMember]:
    """Two members that have all partitions between them."""
    group, topic_id = unique("group"), topic_id_of(client, topic)
    members = [NewerMember(client, group, topic, topic_id) for _ in range(2)]
    settle(members[:1], size)
    settle(members, size)
    return members


def commit_of(
    client: RawClient,
    member: NewerMember,
    offsets: dict[int, int],
    *,
    epoch: int | None = None,
    version: int = BY_EPOCH,
) -> dict[int, int]:
    """Commit as a member; return the errors by virtual partition."""
    generation = member.epoch if epoch is None else epoch
    request = commit_request(member.group, member.topic, offsets, generation, member.member_id)
    return commit(client, request, version)


class Transaction:
    """A producer in a transaction that may commit offsets of the group."""

    def __init__(self, client: RawClient, member: NewerMember) -> None:
        self._client, name = client, f"txn-of-{member.group}"
        begins = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        deadline = time.monotonic() + WAIT_S
        while (made := client.request(begins, 4)).error_code:
            assert time.monotonic() < deadline, made
            time.sleep(0.1)
        self._fields: dict[str, Any] = {
            "transactional_id": name,
            "producer_id": made.producer_id,
            "producer_epoch": made.producer_epoch,
            "group_id": member.group,
        }
        while client.request(AddOffsetsToTxnRequest(**self._fields), 3).error_code:
            assert time.monotonic() < deadline
            time.sleep(0.1)

    def commit(self, member: NewerMember, partitions: Iterable[int], epoch: int) -> dict[int, int]:
        """Commit offsets in the name of a member; return the errors by virtual partition."""
        new = TxnOffsetCommitRequest
        some = [
            new.TxnOffsetCommitRequestPartition(partition_index=one, committed_offset=1) for one in partitions
        ]
        named = new.TxnOffsetCommitRequestTopic(name=member.topic, partitions=some)
        request = new(generation_id=epoch, member_id=member.member_id, topics=[named], **self._fields)
        answer = self._client.request(request, 3)
        return {one.partition_index: one.error_code for topic in answer.topics for one in topic.partitions}


def test_members_commit_what_they_have(
    client: RawClient, pair: list[NewerMember], topic: str, size: int
) -> None:
    for member in pair:
        offsets = {one: 100 + one for one in member.owned}
        assert commit_of(client, member, offsets) == dict.fromkeys(offsets, ErrorCode.NONE)

    assert offsets_of(client, pair[0].group, topic, version=BY_EPOCH) == {
        one: 100 + one for one in range(size)
    }


def test_a_member_that_has_left_commits_nothing(
    client: RawClient, pair: list[NewerMember], topic: str, size: int
) -> None:
    gone, left = pair
    epoch, everything = gone.epoch, dict.fromkeys(range(size), 1)
    gone.leave()
    settle([left], size)

    assert commit_of(client, gone, everything, epoch=epoch) == dict.fromkeys(everything, UNKNOWN)
    assert Transaction(client, gone).commit(gone, everything, epoch) == dict.fromkeys(everything, UNKNOWN)
    assert set(offsets_of(client, left.group, topic).values()) <= {-1}


def test_a_member_whose_epoch_is_over_does_not_commit_what_others_have(
    client: RawClient, pair: list[NewerMember], topic: str, size: int
) -> None:
    """Its partitions of the first group of partitions are judged by the coordinator itself."""
    first, second = pair
    theirs = dict.fromkeys(second.owned, 1)

    assert commit_of(client, first, theirs, epoch=first.epoch - 1) == dict.fromkeys(theirs, STALE)
    assert commit_of(client, first, theirs, epoch=first.epoch + 1) == dict.fromkeys(theirs, STALE)
    transaction = Transaction(client, first)
    for epoch in (first.epoch - 1, first.epoch + 1):
        assert transaction.commit(first, theirs, epoch) == dict.fromkeys(theirs, ErrorCode.ILLEGAL_GENERATION)
    assert set(offsets_of(client, first.group, topic).values()) <= {-1}


def test_a_static_member_that_was_replaced_commits_nothing(
    client: RawClient, topic: str, size: int, unique: UniqueName
) -> None:
    group, topic_id, everything = unique("group"), topic_id_of(client, topic), dict.fromkeys(range(size), 1)
    before = NewerMember(client, group, topic, topic_id, instance_id="one")
    settle([before], size)
    epoch = before.epoch
    before.leave(LEAVES_FOR_NOW)
    after = NewerMember(client, group, topic, topic_id, instance_id="one")
    settle([after], size)

    def told(member: NewerMember, epoch: int) -> dict[int, int]:
        request = commit_request(group, topic, everything, epoch, member.member_id)
        request.group_instance_id = "one"
        return commit(client, request, BY_EPOCH)

    assert told(before, epoch) == dict.fromkeys(everything, UNKNOWN)
    assert told(after, after.epoch) == dict.fromkeys(everything, ErrorCode.NONE)


def test_with_its_new_epoch_a_member_commits_again(
    client: RawClient, pair: list[NewerMember], topic: str, physical: int
) -> None:
    """Coordinators with KIP-1251 take the older epoch too, for what the member has had since then."""
    first = pair[0]
    told = commit_of(client, first, dict.fromkeys(first.owned, 1), epoch=first.epoch - 1)
    elsewhere = {one for one in first.owned if one not in of_the_first_group(topic, physical)}

    assert {told[one] for one in elsewhere} == {STALE}
    assert set(told.values()) <= {STALE, ErrorCode.NONE}
    assert set(commit_of(client, first, dict.fromkeys(first.owned, 2)).values()) == {ErrorCode.NONE}
    assert {offsets_of(client, first.group, topic)[one] for one in first.owned} == {2}


def of_the_first_group(topic: str, physical: int) -> set[int]:
    """Return the virtual partitions whose offsets are in the consumer group itself."""
    return {one * 3 for one in range(physical)} if topic.startswith("ratio") else set(range(physical))


def test_older_versions_have_no_epochs(client: RawClient, pair: list[NewerMember]) -> None:
    first = pair[0]
    told = commit_of(client, first, dict.fromkeys(first.owned, 1), version=8)

    assert set(told.values()) == {ErrorCode.UNSUPPORTED_VERSION}


def test_offsets_are_told_to_members_of_the_current_epoch(
    client: RawClient, pair: list[NewerMember], topic: str, size: int
) -> None:
    """Also where a member asks only for partitions whose offsets are elsewhere."""
    first, new = pair[0], OffsetFetchRequest

    def fetched(partitions: list[int], epoch: int) -> Any:
        named = new.OffsetFetchRequestTopics(name=topic, partition_indexes=partitions)
        asked = new.OffsetFetchRequestGroup(
            group_id=first.group, member_id=first.member_id, member_epoch=epoch, topics=[named]
        )
        return client.request(new(groups=[asked], require_stable=True), BY_EPOCH).groups[0]

    for partitions in (list(range(size)), [size - 1]):
        stale = fetched(partitions, first.epoch - 1)
        assert (stale.error_code, stale.topics) == (STALE, [])
        current = fetched(partitions, first.epoch)
        assert current.error_code == ErrorCode.NONE
        assert sorted(one.partition_index for one in current.topics[0].partitions) == partitions


def test_from_outside_a_group_with_members_is_left_alone(
    client: RawClient, pair: list[NewerMember], topic: str, size: int
) -> None:
    group, last = pair[0].group, size - 1
    everything = dict.fromkeys(range(size), 7)
    deleted = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequest.OffsetDeleteRequestTopic(
                name=topic,
                partitions=[OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=last)],
            )
        ],
    )

    assert commit(client, commit_request(group, topic, everything)) == dict.fromkeys(everything, UNKNOWN)
    answer = client.request(deleted, 0)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    (kept,) = client.request(DeleteGroupsRequest(groups_names=[group]), 2).results
    assert kept.error_code == ErrorCode.NON_EMPTY_GROUP

    for member in pair:
        member.leave()
    assert commit(client, commit_request(group, topic, everything)) == dict.fromkeys(everything, 0)
    assert offsets_of(client, group, topic) == everything
    assert client.request(deleted, 0).topics[0].partitions[0].error_code == ErrorCode.NONE
    assert offsets_of(client, group, topic, [last]) == {last: -1}
    (gone,) = client.request(DeleteGroupsRequest(groups_names=[group]), 2).results
    assert gone.error_code == ErrorCode.NONE
    assert set(offsets_of(client, group, topic).values()) <= {-1}


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
@pytest.mark.parametrize("is_committed", [True, False])
def test_offsets_are_part_of_a_transaction(
    endpoint: Endpoint, client: RawClient, topic: str, size: int, unique: UniqueName, is_committed: bool
) -> None:
    group, sink = unique("group"), unique("plain")
    produce(endpoint, topic, size=size)
    before = dict.fromkeys(range(size), 1)
    commit(client, commit_request(group, topic, before))
    producer = Producer(endpoint.for_confluent | {"transactional.id": unique("txn")})
    producer.init_transactions(WAIT_S)
    own = {"group.id": group, "group.protocol": "consumer", "enable.auto.commit": False}
    consumer = Consumer(endpoint.for_confluent | own)
    consumer.subscribe([topic])
    while len(consumer.assignment()) < size:
        consumer.poll(0.2)
    producer.begin_transaction()
    producer.produce(sink, b"made of it")
    after = {partition: 30 + partition for partition in range(size)}
    offsets = [TopicPartition(topic, partition, offset) for partition, offset in after.items()]
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), WAIT_S)
    if is_committed:
        producer.commit_transaction(WAIT_S)
    else:
        producer.abort_transaction(WAIT_S)
    consumer.close()

    assert offsets_of(client, group, topic) == (after if is_committed else before)


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_java_commits_offsets_in_a_transaction(
    java: JavaClients, endpoint: Endpoint, client: RawClient, topic: str, size: int, unique: UniqueName
) -> None:
    group, sink = unique("group"), unique("plain")
    produce(endpoint, topic, size=size)
    consumer = java.consumer(endpoint, group, group_protocol="consumer")
    java("subscribe", consumer, topic)
    java.poll_until(consumer, EACH * size)
    producer = java.producer(endpoint, transactional_id=unique("txn"))
    java("transaction", producer, "init", "begin")
    java("send", producer, sink, ["made of it"])
    java("send_offsets", producer, consumer)
    java("transaction", producer, "commit")
    ends = {one: java("offsets", consumer, topic, 0, one)[1] for one in range(size)}
    java("close", consumer, producer)

    assert offsets_of(client, group, topic) == ends
