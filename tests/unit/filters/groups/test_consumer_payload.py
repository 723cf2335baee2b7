"""Payloads of the consumer protocol: read to the last byte and written anew, or refused."""

import pytest

from bifrost.filters import namespace as translation
from bifrost.filters.groups.consumer_payload import (
    ASSIGNMENT,
    EMPTY,
    SUBSCRIPTION,
    MalformedPayload,
    is_assignment_to_a_broker,
    translate,
)
from bifrost.tenancy.namespace import Namespace
from bifrost.wire.codec import decode
from bifrost.wire.programs import compile_layout
from support.physical_names import physical_name, prefix_of
from support.stage.messages import consumer_payload
from support.stage.stage import Stage

USER_DATA = b"\x00\x00the assignor's own: orders"
KINDS = [SUBSCRIPTION, ASSIGNMENT]
NULL = b"\xff\xff\xff\xff"


@pytest.fixture
def acme(stage: Stage) -> Namespace:
    return stage.namespaces["acme"]


def subscription(version: int, prefix: str = "", *, user_data: bytes | None = USER_DATA) -> bytes:
    """What a consumer subscribes to; fields that the version lacks are left out."""
    topics = ("orders", "billing")
    return consumer_payload(
        "Subscription",
        version,
        topics=[f"{prefix}{topic}" for topic in topics],
        user_data=user_data,
        owned_partitions=[{"topic": f"{prefix}{topic}", "partitions": [0, 1]} for topic in topics],
        generation_id=4,
        rack_id="a-rack",
    )


def assignment(version: int, prefix: str = "", topic: str = "orders") -> bytes:
    partitions = [{"topic": f"{prefix}{topic}", "partitions": [0, 7]}]
    return consumer_payload("Assignment", version, assigned_partitions=partitions, user_data=USER_DATA)


def of_kind(kind: str, version: int, prefix: str = "") -> bytes:
    return subscription(version, prefix) if kind == SUBSCRIPTION else assignment(version, prefix)


def outwards(payload: bytes, kind: str, namespace: Namespace, assignor: str | None = None) -> bytes:
    return translate(payload, kind, translation.to_physical, namespace, assignor=assignor)


def back(payload: bytes, kind: str, namespace: Namespace, assignor: str | None = None) -> bytes:
    return translate(payload, kind, translation.to_virtual, namespace, assignor=assignor)


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_every_version_is_translated_both_ways(acme: Namespace, kind: str, version: int) -> None:
    virtual, physical = of_kind(kind, version), of_kind(kind, version, prefix_of("acme"))
    assert virtual != physical

    assert outwards(virtual, kind, acme) == physical
    assert back(physical, kind, acme) == virtual


@pytest.mark.parametrize("version", [4, 5, 32767])
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_newer_version_adds_is_dropped_and_the_version_with_it(
    acme: Namespace, kind: str, version: int
) -> None:
    newer = (
        version.to_bytes(2, "big")
        + of_kind(kind, 3)[2:]
        + b"\x00\x11"
        + physical_name("globex", "users").encode()
    )

    assert outwards(newer, kind, acme) == of_kind(kind, 3, prefix_of("acme"))


def malformed(good: bytes) -> dict[str, bytes]:
    """Every way in which bytes are no such payload, made from a good one with two topics or one."""
    head, count, rest = good[:2], good[2:6], good[6:]
    return {
        "one byte": b"\x00",
        "only a version": head,
        "negative version": b"\xff\xff" + count + rest,
        "least version": b"\x80\x00" + count + rest,
        "one byte behind": good + b"x",
        "a whole payload behind": good + good,
        "cut off": good[:-1],
        "cut off in a name": good[:9],
        "null list": head + NULL + rest,
        "negative count": head + b"\xff\xff\xff\xfe" + rest,
        "count beyond the end": head + b"\x7f\xff\xff\xff" + rest,
        "one too many": head + (int.from_bytes(count, "big") + 1).to_bytes(4, "big") + rest,
        "null name": head + count + b"\xff\xff" + rest,
        "negative length of a name": head + count + b"\xff\xfe" + rest[2:],
        "bad UTF-8": good.replace(b"orders", b"ord\xffrs", 1),
        "overlong UTF-8": good.replace(b"orders", b"ord\xc0\xafs", 1),
        "half a surrogate pair": good.replace(b"orders", b"ord\xed\xa0\x80", 1),
    }


SHAPES = sorted(malformed(subscription(0)))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_exactly_a_payload_is_refused_in_both_directions(
    acme: Namespace, kind: str, version: int, shape: str
) -> None:
    payload = malformed(of_kind(kind, version))[shape]

    with pytest.raises(MalformedPayload):
        outwards(payload, kind, acme)
    with pytest.raises(MalformedPayload):
        back(payload, kind, acme)


@pytest.mark.parametrize("kind", KINDS)
def test_length_of_the_user_data_below_null_is_refused(acme: Namespace, kind: str) -> None:
    with pytest.raises(MalformedPayload):
        outwards(bytes(6) + b"\xff\xff\xff\xfe", kind, acme)


@pytest.mark.parametrize("kind", KINDS)
def test_a_newer_version_must_have_all_of_what_is_known(acme: Namespace, kind: str) -> None:
    with pytest.raises(MalformedPayload):
        outwards(b"\x00\x04" + of_kind(kind, 3)[2:-1], kind, acme)


def test_a_name_that_leaves_no_room_for_the_prefix_is_refused(acme: Namespace) -> None:
    payload = consumer_payload("Subscription", 0, topics=["x" * 0x7FFF], user_data=None)

    with pytest.raises(MalformedPayload):
        outwards(payload, SUBSCRIPTION, acme)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_payload_names_nothing_and_stays_empty(acme: Namespace, kind: str) -> None:
    assert outwards(b"", kind, acme) == b""
    assert back(b"", kind, acme) == b""


@pytest.mark.parametrize("kind", KINDS)
def test_the_payload_that_stands_in_for_an_unreadable_one_can_be_read(acme: Namespace, kind: str) -> None:
    assert back(EMPTY, kind, acme) == EMPTY
    assert consumer_payload(kind.removeprefix("ConsumerProtocol"), 0) == EMPTY


def test_version_1_may_end_after_the_fields_of_version_0(acme: Namespace) -> None:
    # segmentio/kafka-go and sarama-cluster join so.
    short = b"\x00\x01" + subscription(0)[2:]
    whole = consumer_payload(
        "Subscription",
        1,
        topics=[physical_name("acme", "orders"), physical_name("acme", "billing")],
        user_data=USER_DATA,
    )

    assert outwards(short, SUBSCRIPTION, acme) == whole
    with pytest.raises(MalformedPayload):
        outwards(short + b"x", SUBSCRIPTION, acme)
    with pytest.raises(MalformedPayload):
        outwards(b"\x00\x02" + subscription(0)[2:], SUBSCRIPTION, acme)


def test_a_foreign_topic_does_not_come_back(acme: Namespace) -> None:
    both = consumer_payload(
        "Subscription",
        0,
        topics=[physical_name("globex", "orders"), physical_name("acme", "orders")],
        user_data=None,
    )
    own = consumer_payload("Subscription", 0, topics=["orders"], user_data=None)

    assert back(both, SUBSCRIPTION, acme) == own


def test_a_physical_name_of_another_tenant_is_a_name_under_the_tenants_own_prefix(acme: Namespace) -> None:
    payload = consumer_payload("Subscription", 0, topics=[physical_name("globex", "users")], user_data=None)
    denied = consumer_payload(
        "Subscription",
        0,
        topics=[physical_name("acme", f"/{physical_name('globex', 'users')}")],
        user_data=None,
    )

    assert outwards(payload, SUBSCRIPTION, acme) == denied
    assert back(denied, SUBSCRIPTION, acme) == payload


# -- user data


def previous(prefix: str = "", topic: str = "orders") -> bytes:
    """A previous assignment as the sticky assignors write it, without the generation."""
    partitions = [{"topic": f"{prefix}{topic}", "partitions": [3, 5]}]
    payload = consumer_payload("Assignment", 0, assigned_partitions=partitions, user_data=None)
    return payload[2 : -len(NULL)]


GENERATION = b"\x00\x00\x00\x07"
NO_GENERATION = b"\xff\xff\xff\xff"


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize("generation", [b"", GENERATION, NO_GENERATION])
def test_topics_in_a_sticky_assignors_user_data_are_translated(
    acme: Namespace, assignor: str, generation: bytes
) -> None:
    virtual = subscription(1, user_data=previous() + generation)
    physical = subscription(1, prefix_of("acme"), user_data=previous(prefix_of("acme")) + generation)

    assert outwards(virtual, SUBSCRIPTION, acme, assignor) == physical
    assert back(physical, SUBSCRIPTION, acme, assignor) == virtual


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_no_previous_assignment_stays_none(acme: Namespace, assignor: str) -> None:
    for user_data in (None, b"", bytes(4), bytes(8)):
        virtual = subscription(0, user_data=user_data)

        assert outwards(virtual, SUBSCRIPTION, acme, assignor) == subscription(
            0, prefix_of("acme"), user_data=user_data
        )


def test_generation_that_the_java_client_writes_is_kept(acme: Namespace) -> None:
    for generation in (GENERATION, NO_GENERATION):
        physical = outwards(subscription(1, user_data=generation), SUBSCRIPTION, acme, "cooperative-sticky")

        assert physical == subscription(1, prefix_of("acme"), user_data=generation)


@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
@pytest.mark.parametrize(
    "user_data",
    [
        USER_DATA,
        b"x",
        previous() + GENERATION + b"x",
        previous()[:-1],
        previous().replace(b"orders", b"ord\xffrs") + GENERATION,
        b"\xff\xff\xff\xfe" + GENERATION,
        previous() + NULL + GENERATION,
    ],
)
def test_what_a_sticky_assignor_cannot_have_written_is_dropped(
    acme: Namespace, assignor: str, user_data: bytes
) -> None:
    virtual = subscription(2, user_data=user_data)
    physical = subscription(2, prefix_of("acme"), user_data=None)

    assert outwards(virtual, SUBSCRIPTION, acme, assignor) == physical
    assert back(subscription(2, prefix_of("acme"), user_data=user_data), SUBSCRIPTION, acme, assignor) == (
        subscription(2, user_data=None)
    )


@pytest.mark.parametrize("assignor", [None, "range", "roundrobin", "stream", "Sticky", "a custom one"])
def test_user_data_of_other_assignors_is_the_clients_own(acme: Namespace, assignor: str | None) -> None:
    for user_data in (USER_DATA, previous() + GENERATION, b"\xff\xfe"):
        physical = outwards(subscription(1, user_data=user_data), SUBSCRIPTION, acme, assignor)

        assert physical == subscription(1, prefix_of("acme"), user_data=user_data)


def test_a_foreign_topic_in_user_data_does_not_come_back(acme: Namespace) -> None:
    foreign = subscription(1, prefix_of("acme"), user_data=previous(prefix_of("globex")) + GENERATION)

    virtual = back(foreign, SUBSCRIPTION, acme, "sticky")

    assert virtual == subscription(1, user_data=bytes(4) + GENERATION)


# -- what a broker could read


@pytest.mark.parametrize("version", range(4))
def test_a_broker_reads_an_assignment_with_bad_utf_8_or_a_tail(version: int) -> None:
    good = assignment(version)

    for payload in (good, good + b"x", good.replace(b"orders", b"ord\xffrs"), b"\x7f\xff" + good[2:]):
        assert is_assignment_to_a_broker(payload)


@pytest.mark.parametrize(
    "shape", sorted(set(SHAPES) - {"bad UTF-8", "overlong UTF-8", "half a surrogate pair"})
)
def test_a_broker_reads_no_assignment_from_what_has_another_shape(shape: str) -> None:
    is_read = shape in ("one byte behind", "a whole payload behind")

    assert is_assignment_to_a_broker(malformed(assignment(1))[shape]) == is_read


def test_nothing_can_be_read_from_an_empty_payload() -> None:
    assert not is_assignment_to_a_broker(b"")


def test_layouts_of_all_versions_are_known() -> None:
    """So that a version that Kafka adds is met by a test first."""
    for kind in KINDS:
        assert decode(compile_layout(kind, 3), of_kind(kind, 3), 2).user_data == USER_DATA
        with pytest.raises(ValueError, match="versions 0-3"):
            compile_layout(kind, 4)
