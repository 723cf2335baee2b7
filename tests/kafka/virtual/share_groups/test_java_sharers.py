"""Members of share groups (KIP-932) of topics with virtual partitions, as Kafka's own Java client has them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from bifrost.wire.api_keys import ApiKey
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.share_member import set_group_config
from support.gateways.gateway_fixtures import UniqueName
from support.java.java_clients import JavaClients
from support.java.sharers import poll_all, poll_until, read_again, read_from_the_start, sharers
from support.virtual_topics import EACH, create, expected, produce, values_of

KEYED_SIZE, KEYED_PHYSICAL = 12, 4

pytestmark = [
    pytest.mark.parametrize("java", ["4.3.1"], indirect=True, scope="module"),
    pytest.mark.needs_api(ApiKey.SHARE_FETCH, 1),
    pytest.mark.timeout(300),
]


@pytest.fixture
def group(java: JavaClients, endpoint: Endpoint, unique: UniqueName) -> str:
    return read_from_the_start(java, endpoint, unique("sharers"))


def values(topic: str, size: int, *runs: str) -> Counter[tuple[int, str]]:
    """Return what there is, each record with its virtual partition."""
    found = expected(topic, *runs, size=size)
    return Counter((partition, value) for partition, some in found.items() for value in some)


def read_all(java: JavaClients, consumer: int, count: int) -> Counter[tuple[int, str]]:
    """Return so many records, each with its virtual partition, and what comes within half a second after them."""
    read: Counter[tuple[int, str]] = Counter()

    def poll(timeout_ms: int = 200) -> None:
        read.update((partition, value) for _, partition, _, value in java("poll", consumer, timeout_ms))

    poll_until(lambda: sum(read.values()) >= count, poll)
    poll(500)
    return read


@pytest.mark.parametrize("count", [1, 6])
def test_everything_is_read_and_acknowledged_once(
    java: JavaClients, endpoint: Endpoint, topic: str, size: int, group: str, count: int
) -> None:
    """Also by more members than there are physical partitions: a coordinator gives one to several of them."""
    produce(endpoint, topic, size=size)
    read: Counter[tuple[int, str]] = Counter()
    members = sharers(java, endpoint, topic, group, count)
    poll_all(java, members, read, EACH * size)
    produce(endpoint, topic, "more", size=size)
    poll_all(java, members, read, 2 * EACH * size)
    for one in members:
        assert java("poll", one) == []  # It acknowledges what the last one has brought.
    java("close", *members)
    again = read_again(java, endpoint, topic, group)

    assert read == values(topic, size, "", "more")
    assert again == [], "what was acknowledged is delivered again"


def test_what_is_released_comes_again_and_what_is_rejected_does_not(
    java: JavaClients, endpoint: Endpoint, topic: str, size: int, group: str
) -> None:
    produce(endpoint, topic, size=size)
    every = [value for partition in range(size) for value in values_of(partition)]
    released, rejected = every[::10], every[1::10]
    answers = dict.fromkeys(released, "RELEASE") | dict.fromkeys(rejected, "REJECT")
    (member,) = sharers(java, endpoint, topic, group, 1, share_acknowledgement_mode="explicit")
    found: list[list[Any]] = []

    poll_until(
        lambda: len(found) >= len(every) + len(released),
        lambda: found.extend(java("poll_shared", member, answers)),
    )
    more = java("poll_shared", member, {}, 1000)
    java("close", member)

    assert [one for one in found if one[4] is not None] == []
    assert more == []
    assert Counter(value for _, _, value, _, _ in found) == Counter(every + released)
    assert sorted(value for _, _, value, count, _ in found if count == 2) == sorted(released)


@pytest.mark.needs_api(ApiKey.SHARE_FETCH, 2)
def test_no_more_records_come_than_were_asked_for(
    java: JavaClients, endpoint: Endpoint, topic: str, size: int, group: str
) -> None:
    """A broker acquires parts of batches then (KIP-1206)."""
    produce(endpoint, topic, size=size)
    options = {"share_acquire_mode": "record_limit", "max_poll_records": "5"}
    (member,) = sharers(java, endpoint, topic, group, 1, share_acknowledgement_mode="explicit", **options)
    batches: list[list[list[Any]]] = []

    poll_until(
        lambda: sum(map(len, batches)) >= EACH * size,
        lambda: batches.append(java("poll_shared", member, {})),
    )
    java("close", member)

    assert max(map(len, batches)) <= 5
    assert Counter((partition, value) for some in batches for partition, _, value, _, _ in some) == values(
        topic, size
    )


@pytest.mark.parametrize("isolation", ["read_committed", "read_uncommitted"])
def test_transactions_are_read_as_the_group_is_told(
    java: JavaClients,
    endpoint: Endpoint,
    topic: str,
    size: int,
    group: str,
    unique: UniqueName,
    isolation: str,
) -> None:
    with RawClient.authenticated(endpoint) as client:
        set_group_config(client, group, "share.isolation.level", isolation)
    producer = java.producer(endpoint, transactional_id=unique("transaction"), compression_type="lz4")
    java("transaction", producer, "init")
    ends = ("commit", "abort", "commit")
    for run, end in enumerate(ends):
        java("transaction", producer, "begin")
        for partition in range(size):
            java(
                "send",
                producer,
                topic,
                [f"{end} {run} {partition} {number}" for number in range(5)],
                partition,
            )
        java("transaction", producer, end)
    java("close", producer)
    wanted = Counter(
        (partition, f"{end} {run} {partition} {number}")
        for run, end in enumerate(ends)
        for partition in range(size)
        for number in range(5)
        if end == "commit" or isolation == "read_uncommitted"
    )
    (member,) = sharers(java, endpoint, topic, group, 1)
    read = read_all(java, member, sum(wanted.values()))
    java("close", member)

    assert read == wanted


@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_sealed_batches_are_opened(
    java: JavaClients, endpoint: Endpoint, direct: RawClient, group: str, unique: UniqueName, codec: str
) -> None:
    name = create(endpoint, direct, unique("even-sealed"), 12, 4)
    produce(endpoint, name, size=12, **{"compression.type": codec})
    (member,) = sharers(java, endpoint, name, group, 1)
    read = read_all(java, member, EACH * 12)
    java("close", member)

    assert read == values(name, 12)


@pytest.mark.parametrize("is_transactional", [False, True])
def test_keys_of_compacted_topics_are_as_they_were_written(
    java: JavaClients,
    endpoint: Endpoint,
    direct: RawClient,
    group: str,
    unique: UniqueName,
    is_transactional: bool,
) -> None:
    name = create(endpoint, direct, unique("keyed"), KEYED_SIZE, KEYED_PHYSICAL)
    options = {"transactional_id": unique("transaction")} if is_transactional else {}
    producer = java.producer(endpoint, **options)
    if is_transactional:
        java("transaction", producer, "init", "begin")
    for partition in range(KEYED_SIZE):
        pairs = [[f"k{number}", f"{partition} {number}"] for number in range(5)]
        java("send_pairs", producer, name, [*pairs, ["gone", None]], partition)
    if is_transactional:
        java("transaction", producer, "commit")
    java("close", producer)
    wanted = Counter(
        (partition, f"k{number}", f"{partition} {number}")
        for partition in range(KEYED_SIZE)
        for number in range(5)
    ) + Counter((partition, "gone", None) for partition in range(KEYED_SIZE))
    (member,) = sharers(java, endpoint, name, group, 1)
    read: Counter[tuple[int, str, str | None]] = Counter()

    poll_until(
        lambda: sum(read.values()) >= sum(wanted.values()),
        lambda: read.update(map(tuple, java("poll_pairs", member))),
    )
    java("close", member)

    assert read == wanted
