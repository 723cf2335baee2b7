"""Joins whose embedded payloads are broken, huge, or lie about their lengths."""

import struct
from collections.abc import Iterator

from bench.hostile.attack import attack
from bench.hostile.field import Field
from bifrost.wire.messages import JoinGroupRequest, SyncGroupRequest


def _name(text: bytes) -> bytes:
    return struct.pack(">h", len(text)) + text


def subscription(topics: list[bytes], *, count: int | None = None, more: bytes = b"") -> bytes:
    """Return a subscription, version 0; `count` is how many topics it says there are."""
    number = len(topics) if count is None else count
    return struct.pack(">hi", 0, number) + b"".join(map(_name, topics)) + struct.pack(">i", -1) + more


def _join(payload: bytes, group: str = "hostile") -> JoinGroupRequest:
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=payload)
    return JoinGroupRequest(
        group_id=group,
        session_timeout_ms=6000,
        rebalance_timeout_ms=6000,
        protocol_type="consumer",
        protocols=[protocol],
    )


@attack("joins whose subscription has bytes too many, is not UTF-8, or lies about its length")
def malformed_joins(field: Field) -> Iterator[None]:
    payloads = [
        subscription([b"orders"], more=b"x"),
        subscription([b"\xff\xfe\xfd"]),
        subscription([b"orders"], count=2**31 - 1),
        subscription([b"orders"], count=-2),
        subscription([b"orders"])[:-3],
        b"",
        b"\x7f\xff" + bytes(100),
        struct.pack(">hih", 0, 1, 32767) + b"x",
    ]
    frames = [field.frame(_join(one, f"hostile{number}"), 3) for number, one in enumerate(payloads)]
    yield
    field.flood(frames, connections=4)


@attack("joins with a subscription of 1 MiB of names")
def large_subscriptions(field: Field) -> Iterator[None]:
    names = [b"topic%08d" % number for number in range(field.size(1 << 20) // 15)]
    frame = field.frame(_join(subscription(names)), 3)
    yield
    field.flood([frame], connections=2)


@attack("joins whose subscription says that it has two thousand million topics, in 1 MiB")
def lying_subscriptions(field: Field) -> Iterator[None]:
    names = [b"t"] * (field.size(1 << 20) // 3)
    frame = field.frame(_join(subscription(names, count=2**31 - 1)), 3)
    yield
    field.flood([frame], connections=2)


@attack("assignments of 1 MiB from no leader")
def large_assignments(field: Field) -> Iterator[None]:
    names = b"".join(
        _name(b"topic%08d" % one) + struct.pack(">i", 0) for one in range(field.size(1 << 20) // 19)
    )
    payload = struct.pack(">hi", 0, field.size(1 << 20) // 19) + names + struct.pack(">i", -1)
    one = SyncGroupRequest.SyncGroupRequestAssignment(member_id="m", assignment=payload)
    frame = field.frame(SyncGroupRequest(group_id="g", generation_id=1, member_id="m", assignments=[one]), 3)
    yield
    field.flood([frame], connections=2)
