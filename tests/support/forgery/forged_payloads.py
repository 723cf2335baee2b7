"""Payloads of the consumer protocol that are no payloads, or say more than they should, around the names of topics.

A broker reads subscriptions and assignments with more patience than its clients: it ignores bytes behind them and
replaces bad UTF-8. What a gateway cannot read it must not pass on.
"""

from __future__ import annotations

from collections.abc import Iterator

from bifrost.wire.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from support.forgery.victim import consumer_payload

VERSIONS = (0, 1, 2, 3)
ODD_VERSIONS = (-1, -(2**15), 4, 2**15 - 1)
HUGE, NEGATIVE = (2**31 - 1).to_bytes(4, "big"), (-2 & 0xFFFFFFFF).to_bytes(4, "big")
COUNT_AT = 2
"""Where the number of topics stands, behind the version."""


def subscriptions(own: str, named: str) -> Iterator[tuple[str, bytes]]:
    """Yield (label, payload) of subscriptions that name one's own topic and another."""
    partition = ConsumerProtocolSubscription.TopicPartition(topic=named, partitions=[0, 1, 2])
    for version in VERSIONS:
        for label, user_data in _user_data(named):
            message = ConsumerProtocolSubscription(topics=[own, named], user_data=user_data)
            if version >= 1:
                message.owned_partitions = [partition]
            if version >= 3:
                message.rack_id = "rack-1"
            yield from _spoilt(f"v{version} {label}", consumer_payload(message, version), own, named)


def assignments(own: str, named: str) -> Iterator[tuple[str, bytes]]:
    """Yield the same of assignments."""
    made = ConsumerProtocolAssignment.TopicPartition
    for version in VERSIONS:
        message = ConsumerProtocolAssignment(
            assigned_partitions=[made(topic=own, partitions=[0]), made(topic=named, partitions=[0, 1])]
        )
        yield from _spoilt(f"v{version}", consumer_payload(message, version), own, named)


def _user_data(named: str) -> Iterator[tuple[str, bytes | None]]:
    """Yield what StickyAssignor writes, and what it cannot read."""
    topic = ConsumerProtocolAssignment.TopicPartition(topic=named, partitions=[0, 1])
    listed = consumer_payload(ConsumerProtocolAssignment(assigned_partitions=[topic], user_data=None), 0)
    # An assignment without its version and without user data is a list of topics, which a generation follows.
    sticky = listed[2:-4] + (7).to_bytes(4, "big")
    yield "no user data", None
    yield "sticky", sticky
    yield "sticky cut off", sticky[:-5]
    yield "sticky and more", sticky + b"\0"


def _spoilt(label: str, payload: bytes, own: str, named: str) -> Iterator[tuple[str, bytes]]:
    yield f"{label} whole", payload
    yield f"{label} and a byte", payload + b"\0"
    yield f"{label} and itself", payload + payload
    yield f"{label} without a byte", payload[:-1]
    yield f"{label} half", payload[: len(payload) // 2]
    yield f"{label} bad UTF-8", payload.replace(own.encode(), b"\xff" + own.encode()[1:])
    yield (
        f"{label} bad UTF-8 in the other name",
        payload.replace(named.encode(), b"\xc3" + named.encode()[1:]),
    )
    for count in (HUGE, NEGATIVE):
        yield f"{label} count {count.hex()}", payload[:COUNT_AT] + count + payload[COUNT_AT + 4 :]
    for version in ODD_VERSIONS:
        yield f"{label} as v{version}", version.to_bytes(2, "big", signed=True) + payload[2:]


NOTHING = (("empty", b""), ("a byte", b"\0"), ("a version", b"\0\1"))
"""Payloads that name nothing."""
