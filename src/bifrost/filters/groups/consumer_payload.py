"""Reads one payload of the consumer protocol strictly, translates it and encodes it again.

    payload   := version int16, ConsumerProtocolSubscription | ConsumerProtocolAssignment
    user data of `sticky` := topics [topic, partitions], generation int32      (v1; v0 has no generation)
    user data of `cooperative-sticky` := the same (librdkafka, franz-go) | generation int32 (Java)

The broker parses these payloads more leniently than its clients: it ignores bytes behind a payload and replaces bad
UTF-8. So no byte of the original is forwarded: a payload that cannot be read to the last byte is refused, any other is
encoded again. A subscription names topics in KIP-848 groups too, where the broker itself makes the assignment, and an
assignment is read when a group is upgraded to one (ConsumerGroup.fromClassicGroup).

User data is written and read by the members of one group only. No broker parses it, and it comes back only to members
of the group and to the tenant's own admins (DescribeGroups). So it can name nothing to a broker or to another tenant.
Where a known assignor's user data names topics, it is translated like the rest, so that all topics at the broker have
physical names. If it cannot be read, it is dropped, which is how StickyAssignor treats it. What other assignors write
(Kafka Streams' `stream` among them) is the client's own and stays as it is.
"""

from collections.abc import Callable

from bifrost.filters.steps import Close, Need
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.codec import decode, encode_body, release
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.message import Message
from bifrost.wire.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.rewriting import Names, rewrite

Direction = Callable[[Namespace, Message, int], object]

SUBSCRIPTION = "ConsumerProtocolSubscription"
ASSIGNMENT = "ConsumerProtocolAssignment"

EMPTY = bytes(6) + b"\xff\xff\xff\xff"
"""A subscription or an assignment of version 0 without topics and user data."""

_STICKY = "sticky"
_COOPERATIVE_STICKY = "cooperative-sticky"
_NULL = b"\xff\xff\xff\xff"
"""Bytes that are null: length -1."""
_INT32_BYTES = 4


class MalformedPayload(ValueError):
    """A payload that is not exactly a subscription or an assignment."""


def translate(
    payload: bytes, schema: str, direction: Direction, namespace: Namespace, *, assignor: str | None = None
) -> bytes:
    """Return a payload with its topics named for the other side.

    An empty payload names nothing and stays empty: members without partitions get such an assignment.

    Args:
        payload: the bytes as they stand in the message.
        schema: SUBSCRIPTION or ASSIGNMENT.
        direction: `to_physical` or `to_virtual` of filters/namespace.py.
        namespace: the tenant's.
        assignor: the protocol's name in the group, which says what the user data of a subscription is.
    Raises:
        MalformedPayload: it is not exactly such a payload, or a name has no room for the prefix.
    """
    if not payload:
        return payload
    try:
        version, message = _decode(payload, schema)
        _rename(message, version, direction, namespace)
        if isinstance(message, ConsumerProtocolSubscription) and message.user_data:
            message.user_data = _user_data(bytes(message.user_data), direction, namespace, assignor)
    except MalformedFrame as error:
        raise MalformedPayload(str(error)) from None
    layout = compile_layout(schema, version)
    translated = version.to_bytes(2, "big") + encode_body(layout, message)
    release(layout, message)
    return translated


def is_assignment_to_a_broker(payload: bytes) -> bool:
    """Whether a broker could read an assignment from a payload, with all that it tolerates: a tail, bad UTF-8."""
    if len(payload) < 2 or payload[0] & 0x80:
        return False
    try:
        # Without a slot the engine only walks over the fields and does not check strings.
        program = compile_program(ASSIGNMENT, 0, {})
        rewrite(program, payload, 2, Names(lambda *_: None), allow_trailing=True)
    except MalformedFrame:
        return False
    return True


def _decode(payload: bytes, schema: str) -> tuple[int, Message]:
    if len(payload) < 2:
        raise MalformedPayload("no version")
    version = int.from_bytes(payload[:2], "big", signed=True)
    if version < 0:
        raise MalformedPayload("negative version")
    # Newer versions may only append (ConsumerProtocol.java), so what is known can be read from one. The rest would be
    # passed on unread; it is dropped, and the version says so.
    newest = _NEWEST[schema]
    known = min(version, newest)
    try:
        return known, decode(compile_layout(schema, known), payload, 2, allow_trailing=version > newest)
    except MalformedFrame:
        # segmentio/kafka-go (issue 1156) and sarama-cluster say version 1 and end after the fields of version 0.
        if schema != SUBSCRIPTION or version != 1:
            raise
        return known, decode(compile_layout(schema, 0), payload, 2)


def _rename(message: Message, version: int, direction: Direction, namespace: Namespace) -> None:
    step = direction(namespace, message, version)
    if isinstance(step, Need | Close):
        raise MalformedPayload("it is about something that is not the tenant's")


def _user_data(data: bytes, direction: Direction, namespace: Namespace, assignor: str | None) -> bytes | None:
    """Return a subscription's user data for the other side; None when a known assignor cannot have written it."""
    if assignor not in (_STICKY, _COOPERATIVE_STICKY):
        return data
    # Source: StickyAssignor and CooperativeStickyAssignor (Java), rdkafka_sticky_assignor.c, kafka-python, sarama.
    for topics, generation in ((data[:-_INT32_BYTES], data[-_INT32_BYTES:]), (data, b"")):
        # An assignment has this form: a list of topics followed by null.
        try:
            layout = compile_layout(ASSIGNMENT, 0)
            message: ConsumerProtocolAssignment = decode(layout, topics + _NULL, 0)
        except MalformedFrame:
            continue
        if message.user_data is None:
            _rename(message, 0, direction, namespace)
            return encode_body(layout, message)[: -len(_NULL)] + generation
    is_generation = assignor == _COOPERATIVE_STICKY and len(data) == _INT32_BYTES
    return data if is_generation else None


_NEWEST = {
    SUBSCRIPTION: ConsumerProtocolSubscription.SCHEMA.versions.high,
    ASSIGNMENT: ConsumerProtocolAssignment.SCHEMA.versions.high,
}
