"""Members of share groups (KIP-932) of topics with virtual partitions, as Kafka's own Java client has them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from bifrost.wire.api_keys import ApiKey
from support.clients.endpoint import Endpoint
from support.gateways.gateway_fixtures import UniqueName
from support.java.java_clients import JavaClients
from support.virtual_topics import EACH, expected, produce, size_of

WAIT_S = 60.0

pytestmark = [
    pytest.mark.parametrize("java", ["4.3.1"], indirect=True, scope="module"),
    pytest.mark.needs_api(ApiKey.SHARE_FETCH, 1),
    pytest.mark.timeout(300),
]


@pytest.fixture
def group(java: JavaClients, endpoint: Endpoint, unique: UniqueName) -> str:
    """A share group that begins with the first record."""
    name = unique("sharers")
    admin = java.admin(endpoint)
    java("read_groups_from_the_start", admin, name)
    java("close", admin)
    return name


def members(
    java: JavaClients, endpoint: Endpoint, topic: str, group: str, count: int, **options: str
) -> Sequence[int]:
    made = [java.share_consumer(endpoint, group, **options) for _ in range(count)]
    for one in made:
        java("subscribe", one, topic)
    return made


def poll_until(is_done: Callable[[], bool], poll: Callable[[], object]) -> None:
    deadline = time.monotonic() + WAIT_S
    while not is_done():
        assert time.monotonic() < deadline
        poll()


def values(topic: str, *runs: str) -> Counter[tuple[int, str]]:
    """Return what there is, each record with its virtual partition."""
    return Counter((partition, value) for partition, some in expected(topic, *runs).items() for value in some)


@pytest.mark.parametrize("count", [1, 3])
def test_everything_is_read_and_acknowledged_once(
    java: JavaClients, endpoint: Endpoint, topic: str, group: str, count: int
) -> None:
    produce(endpoint, topic)
    read: Counter[tuple[int, str]] = Counter()
    sharers = members(java, endpoint, topic, group, count)

    def poll() -> None:
        for one in sharers:
            read.update((partition, value) for _, partition, _, value in java("poll", one))

    poll_until(lambda: sum(read.values()) >= EACH * size_of(topic), poll)
    produce(endpoint, topic, "more")
    poll_until(lambda: sum(read.values()) >= 2 * EACH * size_of(topic), poll)
    poll()  # It acknowledges what the last one has brought.
    java("close", *sharers)
    (later,) = members(java, endpoint, topic, group, 1)
    again = [java("poll", later, 500) for _ in range(4)]
    java("close", later)

    assert read == values(topic, "", "more")
    assert again == [[]] * 4, "what was acknowledged is delivered again"
