"""Commits of members of streams groups on a real Kafka: those of all virtual partitions are fenced alike."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import pytest

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
from support.clients.raw_client import RawClient
from support.clients.streams_member import StreamsMember, settle
from support.committed_offsets import commit, commit_request, offsets_of
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.virtual_topics import WAIT_S, create

pytestmark = [pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0), pytest.mark.timeout(120)]

SIZE, PHYSICAL, BY_EPOCH = 12, 4, 9
EVERYTHING = dict.fromkeys(range(SIZE), 7)
UNKNOWN, STALE = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.STALE_MEMBER_EPOCH


@pytest.fixture
def topic(dividing: GatewayProcess, direct: RawClient, unique: UniqueName) -> str:
    return create(dividing.endpoint("globex"), direct, unique("even"), SIZE, PHYSICAL)


@pytest.fixture
def pair(client: RawClient, topic: str, unique: UniqueName) -> list[StreamsMember]:
    """Two members that have all tasks between them."""
    group = unique("group")
    members = [StreamsMember(client, group, topic) for _ in range(2)]
    settle(members[:1], SIZE)
    settle(members, SIZE)
    return members


def commit_of(
    client: RawClient,
    member: StreamsMember,
    topic: str,
    offsets: dict[int, int],
    *,
    epoch: int | None = None,
    version: int = BY_EPOCH,
) -> dict[int, int]:
    """Commit as a member; return the errors by virtual partition."""
    generation = member.epoch if epoch is None else epoch
    return commit(client, commit_request(member.group, topic, offsets, generation, member.member_id), version)


def commit_in_transaction(
    client: RawClient, member: StreamsMember, topic: str, partitions: Iterable[int], epoch: int
) -> set[int]:
    """Commit as a member, in a transaction of its own; return the errors."""
    name = f"txn-of-{member.member_id}-{epoch}"
    begins = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
    deadline = time.monotonic() + WAIT_S
    while (made := client.request(begins, 4)).error_code:
        assert time.monotonic() < deadline, made
        time.sleep(0.1)
    fields: dict[str, Any] = {
        "transactional_id": name,
        "producer_id": made.producer_id,
        "producer_epoch": made.producer_epoch,
        "group_id": member.group,
    }
    while client.request(AddOffsetsToTxnRequest(**fields), 3).error_code:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    new = TxnOffsetCommitRequest
    some = [
        new.TxnOffsetCommitRequestPartition(partition_index=one, committed_offset=1) for one in partitions
    ]
    named = new.TxnOffsetCommitRequestTopic(name=topic, partitions=some)
    request = new(generation_id=epoch, member_id=member.member_id, topics=[named], **fields)
    answer = client.request(request, 3)
    return {one.error_code for named in answer.topics for one in named.partitions}


def test_members_commit_what_they_have(client: RawClient, pair: list[StreamsMember], topic: str) -> None:
    for member in pair:
        offsets = {one: 100 + one for one in member.owned}
        assert commit_of(client, member, topic, offsets) == dict.fromkeys(offsets, ErrorCode.NONE)

    assert offsets_of(client, pair[0].group, topic, version=BY_EPOCH) == {
        one: 100 + one for one in range(SIZE)
    }
    first = pair[0]
    assert commit_in_transaction(client, first, topic, first.owned, first.epoch) == {ErrorCode.NONE}


def test_a_member_that_has_left_commits_nothing(
    client: RawClient, pair: list[StreamsMember], topic: str
) -> None:
    gone, left = pair
    epoch = gone.epoch
    gone.leave()
    settle([left], SIZE)

    assert commit_of(client, gone, topic, EVERYTHING, epoch=epoch) == dict.fromkeys(EVERYTHING, UNKNOWN)
    assert commit_in_transaction(client, gone, topic, EVERYTHING, epoch) == {UNKNOWN}
    assert set(offsets_of(client, left.group, topic).values()) <= {-1}


def test_a_member_whose_epoch_is_over_does_not_commit_what_others_have(
    client: RawClient, pair: list[StreamsMember], topic: str
) -> None:
    """Its partitions of the first group of partitions are judged by the coordinator itself."""
    first, second = pair
    theirs = dict.fromkeys(second.owned, 1)

    for epoch in (first.epoch - 1, first.epoch + 1):
        told = commit_of(client, first, topic, theirs, epoch=epoch)
        assert told == dict.fromkeys(theirs, STALE)
        assert commit_in_transaction(client, first, topic, theirs, epoch) == {ErrorCode.ILLEGAL_GENERATION}
    assert set(offsets_of(client, first.group, topic).values()) <= {-1}


def test_with_its_new_epoch_a_member_commits_again(
    client: RawClient, pair: list[StreamsMember], topic: str
) -> None:
    """A coordinator may take the older epoch too, for what the member has had since then (KIP-1251)."""
    first = pair[0]
    told = commit_of(client, first, topic, dict.fromkeys(first.owned, 1), epoch=first.epoch - 1)

    assert {told[one] for one in first.owned if one >= PHYSICAL} == {STALE}
    assert set(told.values()) <= {STALE, ErrorCode.NONE}
    assert set(commit_of(client, first, topic, dict.fromkeys(first.owned, 2)).values()) == {ErrorCode.NONE}
    assert {offsets_of(client, first.group, topic)[one] for one in first.owned} == {2}


def test_older_versions_have_no_epochs(client: RawClient, pair: list[StreamsMember], topic: str) -> None:
    first = pair[0]
    told = commit_of(client, first, topic, dict.fromkeys(first.owned, 1), version=8)

    assert set(told.values()) == {ErrorCode.UNSUPPORTED_VERSION}


def test_offsets_are_told_to_members_of_the_current_epoch(
    client: RawClient, pair: list[StreamsMember], topic: str
) -> None:
    first, new = pair[0], OffsetFetchRequest

    def fetched(partitions: list[int], epoch: int) -> Any:
        named = new.OffsetFetchRequestTopics(name=topic, partition_indexes=partitions)
        asked = new.OffsetFetchRequestGroup(
            group_id=first.group, member_id=first.member_id, member_epoch=epoch, topics=[named]
        )
        return client.request(new(groups=[asked], require_stable=True), BY_EPOCH).groups[0]

    for partitions in (list(range(SIZE)), [SIZE - 1]):
        stale = fetched(partitions, first.epoch - 1)
        assert (stale.error_code, stale.topics) == (STALE, [])
        current = fetched(partitions, first.epoch)
        assert current.error_code == ErrorCode.NONE
        assert sorted(one.partition_index for one in current.topics[0].partitions) == partitions


def test_from_outside_a_group_with_members_is_left_alone(
    client: RawClient, pair: list[StreamsMember], topic: str
) -> None:
    group, last, new = pair[0].group, SIZE - 1, OffsetDeleteRequest
    partition = new.OffsetDeleteRequestPartition(partition_index=last)
    deleted = new(group_id=group, topics=[new.OffsetDeleteRequestTopic(name=topic, partitions=[partition])])

    assert commit(client, commit_request(group, topic, EVERYTHING)) == dict.fromkeys(EVERYTHING, UNKNOWN)
    answer = client.request(deleted, 0)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC
    (kept,) = client.request(DeleteGroupsRequest(groups_names=[group]), 2).results
    assert kept.error_code == ErrorCode.NON_EMPTY_GROUP

    for member in pair:
        member.leave()
    assert commit(client, commit_request(group, topic, EVERYTHING)) == dict.fromkeys(EVERYTHING, 0)
    assert offsets_of(client, group, topic) == EVERYTHING
    assert client.request(deleted, 0).topics[0].partitions[0].error_code == ErrorCode.NONE
    assert offsets_of(client, group, topic, [last]) == {last: -1}
    (gone,) = client.request(DeleteGroupsRequest(groups_names=[group]), 2).results
    assert gone.error_code == ErrorCode.NONE
    assert set(offsets_of(client, group, topic).values()) <= {-1}
