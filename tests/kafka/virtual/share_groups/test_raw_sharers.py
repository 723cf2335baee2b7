"""Share sessions (KIP-932) of virtual partitions on a real Kafka, by members that send what a test says."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap, PhysicalPartition
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import topic_id_of
from support.clients.share_member import ACCEPT, RELEASE, ShareMember
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.virtual_topics import EACH, PHYSICAL, RATIO, produce

pytestmark = pytest.mark.needs_api(ApiKey.SHARE_FETCH, 1)

LOCK_S = 30.0
"""`group.share.record.lock.duration.ms`, by default."""
WAIT_S = 30.0


@pytest.fixture
def partitions(topic: str, size: int) -> PartitionMap:
    kind = topic.partition("-")[0]
    return PartitionMap.of_ratio(RATIO) if kind == "ratio" else PartitionMap(size, PHYSICAL[kind])


@pytest.fixture
def members(
    dividing: GatewayProcess, topic: str, unique: UniqueName
) -> Iterator[tuple[ShareMember, ShareMember]]:
    """Two members of a group, each with a connection."""
    group = unique("sharers")
    clients = [RawClient.authenticated(dividing.broker_endpoint("globex")) for _ in range(2)]
    topic_id, version = topic_id_of(clients[0], topic), clients[0].newest(ApiKey.SHARE_FETCH)
    first, second = (
        ShareMember(client, group, topic, topic_id, version, number) for number, client in enumerate(clients)
    )
    first.join()
    second.join()
    yield first, second
    for client in clients:
        client.close()


def acquired(answer: Any) -> dict[int, set[int]]:
    """Return the acquired offsets of each partition."""
    assert answer.error_code == ErrorCode.NONE, answer
    return {
        one.partition_index: {
            offset
            for some in one.acquired_records
            for offset in range(some.first_offset, some.last_offset + 1)
        }
        for topic in answer.responses
        for one in topic.partitions
        if one.acquired_records
    }


def errors_of(answer: Any) -> dict[int, int]:
    """Return the error of each partition."""
    assert answer.error_code == ErrorCode.NONE, answer
    return {one.partition_index: one.error_code for topic in answer.responses for one in topic.partitions}


def fetch_until(member: ShareMember, asked: list[int], count: int) -> dict[int, set[int]]:
    """Fetch partitions until so many offsets are acquired."""
    found: dict[int, set[int]] = {}
    deadline = time.monotonic() + WAIT_S
    while sum(map(len, found.values())) < count:
        assert time.monotonic() < deadline, found
        answer = member.fetch(member.take_epoch(), asked, max_records=10_000, batch_size=10_000)
        for number, offsets in acquired(answer).items():
            found.setdefault(number, set()).update(offsets)
        asked = []
    return found


def test_nothing_is_acquired_before_all_virtual_partitions_are_named(
    members: tuple[ShareMember, ShareMember],
    endpoint: Endpoint,
    topic: str,
    size: int,
    partitions: PartitionMap,
) -> None:
    produce(endpoint, topic, size=size)
    first, second = members
    *some, last = partitions.all_of(PhysicalPartition(0))
    assert acquired(first.fetch(first.take_epoch(), some)) == {}
    assert acquired(first.fetch(first.take_epoch())) == {}
    # Nothing is locked: another member gets all at the first delivery.
    every = [*some, last]
    found = fetch_until(second, every, EACH * len(every))
    assert found.keys() == set(every)
    assert {len(one) for one in found.values()} == {EACH}

    # What it releases goes to the member that has named the last one.
    released = [(one, offset, offset, RELEASE) for one in every for offset in sorted(found[one])]
    result = second.acknowledge(second.take_epoch(), released)
    assert errors_of(result) == dict.fromkeys(every, ErrorCode.NONE)
    assert second.fetch(-1).error_code == ErrorCode.NONE
    assert fetch_until(first, [last], EACH * len(every)) == found


def test_a_virtual_partition_that_is_given_up_ends_the_fetch_of_its_neighbours(
    members: tuple[ShareMember, ShareMember],
    endpoint: Endpoint,
    topic: str,
    size: int,
    partitions: PartitionMap,
) -> None:
    first, _ = members
    every = list(partitions.all_of(PhysicalPartition(0)))
    assert acquired(first.fetch(first.take_epoch(), every)) == {}
    assert acquired(first.fetch(first.take_epoch(), forgotten=every[:1])) == {}
    produce(endpoint, topic, size=size)

    assert acquired(first.fetch(first.take_epoch(), wait_ms=500)) == {}
    found = fetch_until(first, every[:1], EACH * len(every))
    assert found.keys() == set(every)


def test_what_a_lost_connection_had_acquired_is_free_at_once(
    members: tuple[ShareMember, ShareMember], endpoint: Endpoint, topic: str, size: int
) -> None:
    produce(endpoint, topic, size=size)
    first, second = members
    found = fetch_until(first, list(range(size)), EACH * size)

    assert isinstance(first.client, RawClient)
    first.client.close()
    began = time.monotonic()

    assert fetch_until(second, list(range(size)), EACH * size) == found
    assert time.monotonic() - began < LOCK_S / 2, "the broker released it when its connection ended"


def test_each_record_is_acknowledged_where_it_was_acquired(
    members: tuple[ShareMember, ShareMember], endpoint: Endpoint, topic: str, size: int
) -> None:
    """Each offset of a virtual partition alone, in any order; then nothing is left for another member."""
    produce(endpoint, topic, size=size)
    first, second = members
    found = fetch_until(first, list(range(size)), EACH * size)
    for number in reversed(range(size)):
        every = [(number, offset, offset, ACCEPT) for offset in sorted(found[number])]
        result = first.acknowledge(first.take_epoch(), every)
        assert errors_of(result) == {number: ErrorCode.NONE}

    assert first.fetch(-1).error_code == ErrorCode.NONE
    assert acquired(second.fetch(second.take_epoch(), range(size), wait_ms=500)) == {}
    assert acquired(second.fetch(second.take_epoch(), wait_ms=500)) == {}


def test_partitions_that_there_are_not_are_refused(
    members: tuple[ShareMember, ShareMember], size: int
) -> None:
    """Where the number has a ratio a broker says so, once all virtual partitions of one are named."""
    first, _ = members
    absent = range(size, size + RATIO)
    answer = first.fetch(first.take_epoch(), [0, *absent])

    assert errors_of(answer) == dict.fromkeys(absent, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
