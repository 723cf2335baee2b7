"""Members of share groups (KIP-932), as Kafka's own Java client has them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

from support.clients.endpoint import Endpoint
from support.java.java_clients import JavaClients

WAIT_S = 60.0


def read_from_the_start(java: JavaClients, endpoint: Endpoint, group: str) -> str:
    """Let a share group begin with the first record, and return it."""
    admin = java.admin(endpoint)
    java("read_groups_from_the_start", admin, group)
    java("close", admin)
    return group


def sharers(
    java: JavaClients, endpoint: Endpoint, topic: str, group: str, count: int, **options: str
) -> Sequence[int]:
    """Return members of a group that have subscribed to a topic."""
    made = [java.share_consumer(endpoint, group, **options) for _ in range(count)]
    for one in made:
        java("subscribe", one, topic)
    return made


def poll_until(is_done: Callable[[], bool], poll: Callable[[], object]) -> None:
    """Poll until it is done."""
    deadline = time.monotonic() + WAIT_S
    while not is_done():
        assert time.monotonic() < deadline
        poll()


def poll_all(java: JavaClients, members: Sequence[int], read: Counter[tuple[int, str]], count: int) -> None:
    """Poll with all members in turn until so many different records were read, each counted with its partition."""

    def poll() -> None:
        for one in members:
            read.update((partition, value) for _, partition, _, value in java("poll", one))

    poll_until(lambda: len(read) >= count, poll)


def read_again(java: JavaClients, endpoint: Endpoint, topic: str, group: str) -> list[object]:
    """Return what another member gets in two seconds: nothing, if all was acknowledged."""
    (later,) = sharers(java, endpoint, topic, group, 1)
    again = [one for _ in range(4) for one in java("poll", later, 500)]
    java("close", later)
    return again
