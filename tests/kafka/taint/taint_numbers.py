"""Numbers that must not be told: how many partitions the other's topic has, and the epoch of its group.

They are too small to be searched for as bytes. So they are primes that nothing of one's own comes to, and answers are
decoded: no list of partitions may be so long, and no number of a kind that counts may be one of them.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    CreatePartitionsRequest,
    MetadataRequest,
)
from bifrost.wire.programs import compile_layout
from support.clients.endpoint import Endpoint
from support.clients.raw_client import decode_response
from support.clients.routed_client import RoutedClient
from support.clients.tap import Connection
from support.forgery.victim import Victim

COUNTS = ((37, 41, 43), (53, 59, 61))
"""Partitions of each tenant's topic, one after the other."""
EPOCHS = (71, 97)
"""Epochs of each tenant's group."""
GROW_S = 3.0
LOOK_AGAIN_S = 0.2
RAISER = "raiser"
NOT_READ = frozenset({ApiKey.FETCH, ApiKey.PRODUCE, ApiKey.SHARE_FETCH})
"""Answers with records, whose other numbers are offsets."""
_COUNTING = ("num_partitions", "count", "partitions", "generation_id")
_PAYLOADS = {
    "metadata": "ConsumerProtocolSubscription",
    "member_metadata": "ConsumerProtocolSubscription",
    "assignment": "ConsumerProtocolAssignment",
    "member_assignment": "ConsumerProtocolAssignment",
}


def raise_epoch(endpoint: Endpoint, victim: Victim, epoch: int) -> None:
    """Let the epoch of the victim's group rise: its member says again and again that it wants another topic too.

    On a connection of its own, for on the way the epoch is any number.
    """
    group = victim.consumer
    with RoutedClient(endpoint, client_id=RAISER) as client:
        for turn in range(2 * epoch):
            described = client.request(ConsumerGroupDescribeRequest(group_ids=[group.group_id]), 1)
            reached = described.groups[0].group_epoch
            if reached >= epoch:
                break
            topics = [victim.topic] if turn % 2 else [victim.topic, f"nothing-{victim.tag}"]
            request = ConsumerGroupHeartbeatRequest(
                group_id=group.group_id,
                member_id=group.member_id,
                member_epoch=group.epoch,
                subscribed_topic_names=topics,
            )
            answer = client.request(request, 1)
            assert answer.error_code == ErrorCode.NONE, (turn, answer)
            group.epoch = answer.member_epoch
    assert reached == epoch


def grow(endpoint: Endpoint, topic: str, counts: Iterable[int], stop: threading.Event) -> int:
    """Give a topic one number of partitions after the other, and look at each."""
    with RoutedClient(endpoint, client_id="grower") as client:
        for count in counts:
            if stop.wait(GROW_S):
                break
            wanted = CreatePartitionsRequest.CreatePartitionsTopic(name=topic, count=count, assignments=None)
            (answer,) = client.request(CreatePartitionsRequest(topics=[wanted], timeout_ms=10_000), 3).results
            # It has so many already when this begins anew, because a broker was lost.
            assert answer.error_code in (ErrorCode.NONE, ErrorCode.INVALID_PARTITIONS), answer
            while _partitions(client, topic) < count and not stop.wait(LOOK_AGAIN_S):
                pass
    stop.wait()
    return 0


def _partitions(client: RoutedClient, topic: str) -> int:
    asked = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
    (described,) = client.request(asked, 12).topics
    return len(described.partitions)


def numbers_told(connection: Connection, secrets: frozenset[int]) -> Iterator[str]:
    """Yield each answer on a connection that has one of the numbers where it would tell something."""
    for request, answer in connection.answers():
        if request.api_key in NOT_READ or request.client_id == RAISER:
            continue
        response = decode_response(request.api_key, request.api_version, answer[4:])
        for path in counted(response, secrets):
            yield f"{ApiKey(request.api_key).name} v{request.api_version}: {path}"


def counted(struct: Any, secrets: frozenset[int], path: str = "") -> Iterator[str]:
    """Yield where in a message one of the numbers stands as a count, a number of partitions or an epoch."""
    for field in struct.FIELDS:
        value, here = getattr(struct, field.name), f"{path}.{field.name}"
        if isinstance(value, list):
            if "partition" in field.name and len(value) in secrets:
                yield f"{here} has {len(value)}"
            for item in value:
                if hasattr(item, "FIELDS"):
                    yield from counted(item, secrets, here)
        elif hasattr(value, "FIELDS"):
            yield from counted(value, secrets, here)
        elif field.name in _PAYLOADS and isinstance(value, bytes | memoryview):
            yield from _counted_in_payload(bytes(value), _PAYLOADS[field.name], secrets, here)
        elif value in secrets and (field.name in _COUNTING or field.name.endswith("_epoch")):
            yield f"{here} is {value}"


def _counted_in_payload(payload: bytes, name: str, secrets: frozenset[int], path: str) -> Iterator[str]:
    version = int.from_bytes(payload[:2], "big", signed=True)
    with suppress(MalformedFrame, ValueError):
        message = decode(compile_layout(name, version), payload, 2)
        yield from counted(message, secrets, path)
