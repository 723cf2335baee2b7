"""What tools/fuzz_engine.py checks of the entries that a request makes brokers keep (tenancy/broker_state)."""

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

from bifrost.tenancy.broker_state.broker_state import BrokerState, StateLimits
from bifrost.tenancy.broker_state.kept_entries import KeptEntries
from bifrost.tenancy.broker_state.walks import entry_walk
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.schema import MessageSchema
from fuzz_ways import Failure, or_malformed

_PLENTY = StateLimits(*[10**6] * len(StateLimits._fields))


def check_entries(schema: MessageSchema, version: int, frame: bytes | memoryview, message: Any) -> None:
    """Let the walk enter a frame, and compare with what stands in the decoded message, if it could be decoded.

    Raises:
        Failure: they differ.
    """
    if schema.kind != "request" or schema.api_key is None:
        return
    walk = entry_walk(schema.api_key, version)
    if walk is None:
        return
    state = _new_state()
    has_room = or_malformed(state.of("acme").enter_request, walk, frame, 0)
    if isinstance(message, MalformedFrame) or has_room is False:  # It has an unknown tagged field.
        return
    if has_room is not True:
        raise Failure("what brokers keep of a frame is malformed, and decode reads it")
    expected = _new_state()
    _entering()[schema.api_key](expected.of("acme"), message)
    if _counts(state) != _counts(expected):
        raise Failure(f"a walk enters {_counts(state)}, and the message has {_counts(expected)}")


def _new_state() -> BrokerState:
    state = BrokerState(lambda: 0, Counter(), "acme")
    state.limit(_PLENTY)
    return state


def _counts(state: BrokerState) -> dict[str, int]:
    return {limit: len(entries) for limit, entries in state.entries().items()}


@cache
def _entering() -> dict[int, Callable[[KeptEntries, Any], None]]:
    joins = (
        ApiKey.JOIN_GROUP,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.STREAMS_GROUP_HEARTBEAT,
    )
    commits = (ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT)
    return {
        **dict.fromkeys(joins, _enter_group),
        **dict.fromkeys(commits, _enter_commit),
        ApiKey.SHARE_GROUP_HEARTBEAT: _enter_quiet_member,
        ApiKey.HEARTBEAT: _keep_member,
        ApiKey.INIT_PRODUCER_ID: _enter_transactional_id,
        ApiKey.PRODUCE: _enter_producers,
    }


def _enter_group(kept: KeptEntries, message: Any) -> None:
    if message.group_id is not None:
        kept.enter_group(message.group_id.encode())


def _enter_quiet_member(kept: KeptEntries, message: Any) -> None:
    """A member that goes on, or leaves: the walk leaves those that join to the filters."""
    _enter_group(kept, message)
    if message.member_epoch >= 0:
        kept.keep_member(message.group_id.encode(), message.member_id.encode())


def _keep_member(kept: KeptEntries, message: Any) -> None:
    for name in (message.member_id, message.group_instance_id):
        if name:
            kept.keep_member(message.group_id.encode(), name.encode())


def _enter_commit(kept: KeptEntries, message: Any) -> None:
    group = message.group_id.encode()
    kept.enter_group(group)
    _keep_member(kept, message)
    for topic in message.topics:
        for one in topic.partitions:
            metadata = (one.committed_metadata or "").encode()
            kept.enter_offset(group, _named(topic), one.partition_index, len(metadata))


def _enter_transactional_id(kept: KeptEntries, message: Any) -> None:
    if message.transactional_id is not None:
        kept.enter_transactional_id(message.transactional_id.encode())


def _enter_producers(kept: KeptEntries, message: Any) -> None:
    for topic in message.topic_data:
        for one in topic.partition_data:
            kept.enter_records(_named(topic), one.index, one.records or b"")


def _named(topic: Any) -> bytes:
    return topic.name.encode() or bytes(getattr(topic, "topic_id", b""))
