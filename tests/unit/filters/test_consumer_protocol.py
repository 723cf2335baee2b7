"""Subscriptions and assignments inside the messages of the classic group protocol."""

import pytest

from bifrost.filters import namespace as translation
from bifrost.filters.consumer_protocol import ASSIGNMENT, SUBSCRIPTION, translate
from bifrost.wire.error_codes import ErrorCode
from support import messages
from support.messages import consumer_payload
from support.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage import Stage

USER_DATA = b"\x00\x00the assignor's own: orders"


def subscription(version: int, prefix: str, *, topics: tuple[str, ...] = ("orders", "billing")) -> bytes:
    """What a consumer subscribes to; fields that the version lacks are left out."""
    owned = [{"topic": f"{prefix}{topic}", "partitions": [0, 1]} for topic in topics]
    names = [f"{prefix}{topic}" for topic in topics]
    return consumer_payload(
        "Subscription",
        version,
        topics=names,
        user_data=USER_DATA,
        owned_partitions=owned,
        generation_id=4,
        rack_id="a-rack",
    )


def assignment(version: int, prefix: str, *topics: str) -> bytes:
    partitions = [{"topic": f"{prefix}{topic}", "partitions": [0, 7]} for topic in topics or ("orders",)]
    return consumer_payload("Assignment", version, assigned_partitions=partitions, user_data=None)


def join(metadata: bytes, protocol_type: str = "consumer", group_id: str = "g"):
    return messages.JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=1000,
        rebalance_timeout_ms=-1,
        member_id="",
        protocol_type=protocol_type,
        protocols=[{"name": "range", "metadata": metadata}, {"name": "sticky", "metadata": metadata}],
    )


def joined(metadata: bytes, protocol_type: str | None = None):
    members = [{"member_id": "a", "metadata": metadata}, {"member_id": "b", "metadata": metadata}]
    return messages.JoinGroupResponse(
        protocol_type=protocol_type, protocol_name="range", leader="a", member_id="a", members=members
    )


def sync(payload: bytes, protocol_type: str | None = None):
    assignments = [{"member_id": "a", "assignment": payload}, {"member_id": "b", "assignment": payload}]
    return messages.SyncGroupRequest(
        group_id="g", member_id="a", protocol_type=protocol_type, assignments=assignments
    )


def physically(request):
    """The request with its group's physical name."""
    request.group_id = f"__vt_acme_{request.group_id}"
    return request


# -- payloads


@pytest.mark.parametrize("version", range(4))
def test_a_subscription_of_every_version_is_translated_both_ways(stage: Stage, version: int) -> None:
    namespace = stage.namespaces["acme"]
    virtual, physical = subscription(version, ""), subscription(version, "__vt_acme_")
    assert virtual != physical

    assert translate(virtual, SUBSCRIPTION, translation.to_physical, namespace) == physical
    assert translate(physical, SUBSCRIPTION, translation.to_virtual, namespace) == virtual


@pytest.mark.parametrize("version", range(4))
def test_an_assignment_of_every_version_is_translated_both_ways(stage: Stage, version: int) -> None:
    namespace = stage.namespaces["acme"]
    virtual, physical = assignment(version, ""), assignment(version, "__vt_acme_")

    assert translate(virtual, ASSIGNMENT, translation.to_physical, namespace) == physical
    assert translate(physical, ASSIGNMENT, translation.to_virtual, namespace) == virtual


@pytest.mark.parametrize("version", [4, 5, 32767])
def test_a_newer_version_keeps_what_it_adds(stage: Stage, version: int) -> None:
    namespace = stage.namespaces["acme"]
    tail = b"\x00\x05what it adds"
    virtual, physical = subscription(version, "") + tail, subscription(version, "__vt_acme_") + tail

    assert translate(virtual, SUBSCRIPTION, translation.to_physical, namespace) == physical
    assert translate(physical, SUBSCRIPTION, translation.to_virtual, namespace) == virtual


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\x00",
        b"\x00\x00",
        b"\x00\x01\x7f\xff\xff\xff",
        b"\xff\xff" + subscription(0, "")[2:],
        subscription(0, "")[:-1],
        subscription(3, "")[:-3],
        subscription(0, "") + b"x",
        b"\x00\x00\x00\x00\x00\x01\x00\x02\xff\xfe\x00\x00\x00\x00",
        bytes(range(256)),
    ],
)
@pytest.mark.parametrize("kind", [SUBSCRIPTION, ASSIGNMENT])
@pytest.mark.parametrize("direction", [translation.to_physical, translation.to_virtual])
def test_what_does_not_parse_is_left_alone(stage: Stage, payload: bytes, kind: str, direction) -> None:
    assert translate(payload, kind, direction, stage.namespaces["acme"]) == payload


def test_an_empty_assignment_stays_empty(stage: Stage) -> None:
    empty = consumer_payload("Assignment", 1, assigned_partitions=[], user_data=b"x")

    assert translate(empty, ASSIGNMENT, translation.to_physical, stage.namespaces["acme"]) == empty


def test_what_the_assignor_says_to_itself_is_not_touched(stage: Stage) -> None:
    translated = translate(
        subscription(1, ""), SUBSCRIPTION, translation.to_physical, stage.namespaces["acme"]
    )

    assert USER_DATA in translated


def test_a_foreign_topic_does_not_come_back(stage: Stage) -> None:
    both = consumer_payload(
        "Subscription", 0, topics=["__vt_globex_orders", "__vt_acme_orders"], user_data=None
    )
    own = consumer_payload("Subscription", 0, topics=["orders"], user_data=None)

    assert translate(both, SUBSCRIPTION, translation.to_virtual, stage.namespaces["acme"]) == own


# -- JoinGroup


@pytest.mark.parametrize("version", range(10))
def test_members_subscribe_to_physical_topics_and_their_leader_sees_virtual_ones(
    stage: Stage, version: int
) -> None:
    assert (
        stage.play()
        >> client_sends(join(subscription(1, "")), version)
        << to_broker(physically(join(subscription(1, "__vt_acme_"))))
        >> broker_answers(joined(subscription(1, "__vt_acme_")))
        << to_client(joined(subscription(1, "")))
    )


@pytest.mark.parametrize("version", [0, 5, 9])
@pytest.mark.parametrize("protocol_type", ["connect", "", "Consumer", "sr"])
def test_other_protocols_than_consumer_are_their_members_own(
    stage: Stage, version: int, protocol_type: str
) -> None:
    # What parses as a subscription is none where the protocol type says so.
    payload = subscription(1, "")
    assert (
        stage.play()
        >> client_sends(join(payload, protocol_type), version)
        << to_broker(physically(join(payload, protocol_type)))
        >> broker_answers(joined(payload))
        << to_client(joined(payload))
    )


@pytest.mark.parametrize("version", range(10))
def test_nobody_joins_a_group_without_a_name(stage: Stage, version: int) -> None:
    request = join(subscription(1, ""), group_id="")
    refusal = messages.JoinGroupResponse(
        error_code=ErrorCode.INVALID_GROUP_ID, protocol_name=None if version >= 7 else ""
    )

    book = stage.play() >> client_sends(request, version)

    assert book << to_client(refusal)


# -- SyncGroup


@pytest.mark.parametrize("version", range(6))
def test_assignments_are_physical_at_the_broker_and_virtual_at_the_member(stage: Stage, version: int) -> None:
    protocol_type = "consumer" if version >= 5 else None
    answer, expected = (
        messages.SyncGroupResponse(protocol_type=protocol_type, assignment=assignment(1, prefix))
        for prefix in ("__vt_acme_", "")
    )
    assert (
        stage.play()
        >> client_sends(sync(assignment(1, ""), protocol_type), version)
        << to_broker(physically(sync(assignment(1, "__vt_acme_"), protocol_type)))
        >> broker_answers(answer)
        << to_client(expected)
    )


def test_assignments_of_another_protocol_are_its_members_own(stage: Stage) -> None:
    payload = assignment(1, "")
    answer = messages.SyncGroupResponse(protocol_type="connect", assignment=payload)
    assert (
        stage.play()
        >> client_sends(sync(payload, "connect"), 5)
        << to_broker(physically(sync(payload, "connect")))
        >> broker_answers(answer)
        << to_client(answer)
    )


CONNECT_ASSIGNMENT = (
    b"\x00\x01\x00\x00"  # version 1, no error
    b"\x00\x09connect-1\x00\x1bhttp://connect-1:8083/orders"  # leader and its URL
    b"\x00\x00\x00\x00\x00\x00\x00\x2a"  # config offset
    b"\x00\x00\x00\x01\x00\x06orders\x00\x00\x00\x01\x00\x00\x00\x00"  # a connector with a task
)


@pytest.mark.parametrize("version", [0, 4])
def test_an_assignment_of_connect_passes_where_the_protocol_is_not_said(stage: Stage, version: int) -> None:
    answer = messages.SyncGroupResponse(assignment=CONNECT_ASSIGNMENT)
    assert (
        stage.play()
        >> client_sends(sync(CONNECT_ASSIGNMENT), version)
        << to_broker(physically(sync(CONNECT_ASSIGNMENT)))
        >> broker_answers(answer)
        << to_client(answer)
    )


def test_a_member_that_is_not_the_leader_sends_no_assignments(stage: Stage) -> None:
    request = messages.SyncGroupRequest(group_id="g", member_id="b")
    assert (
        stage.play()
        >> client_sends(request, 3)
        << to_broker(messages.SyncGroupRequest(group_id="__vt_acme_g", member_id="b"))
        >> broker_answers(messages.SyncGroupResponse(assignment=b""))
        << to_client(messages.SyncGroupResponse(assignment=b""))
    )


# -- DescribeGroups


def described(prefix: str, host: str, protocol_type: str = "consumer"):
    is_consumer = protocol_type == "consumer"
    member = {
        "member_id": "a",
        "client_id": "a-client",
        "client_host": host,
        "member_metadata": subscription(1, prefix if is_consumer else ""),
        "member_assignment": assignment(1, prefix if is_consumer else ""),
    }
    group = {
        "group_id": f"{prefix}g",
        "group_state": "Stable",
        "protocol_type": protocol_type,
        "members": [member],
    }
    return messages.DescribeGroupsResponse(groups=[group])


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize("protocol_type", ["consumer", "connect"])
def test_an_admin_sees_virtual_topics_and_not_where_the_gateway_is(
    stage: Stage, version: int, protocol_type: str
) -> None:
    assert (
        stage.play()
        >> client_sends(messages.DescribeGroupsRequest(groups=["g", "h"]), version)
        << to_broker(messages.DescribeGroupsRequest(groups=["__vt_acme_g", "__vt_acme_h"]))
        >> broker_answers(described("__vt_acme_", "/10.0.0.9", protocol_type))
        << to_client(described("", "/proxy.example.com", protocol_type))
    )


def test_a_group_of_another_tenant_is_not_described(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(messages.DescribeGroupsRequest(groups=["g"]))
        << to_broker(messages.DescribeGroupsRequest(groups=["__vt_acme_g"]))
        >> broker_answers(described("__vt_globex_", "/10.0.0.9"))
        << to_client(messages.DescribeGroupsResponse())
    )


def test_an_error_text_about_a_group_is_in_virtual_names(stage: Stage) -> None:
    answer, expected = (
        messages.DescribeGroupsResponse(
            groups=[
                {"group_id": f"{prefix}g", "error_code": 69, "error_message": f"Group {prefix}g not found."}
            ]
        )
        for prefix in ("__vt_acme_", "")
    )
    assert (
        stage.play()
        >> client_sends(messages.DescribeGroupsRequest(groups=["g"]), 6)
        << to_broker(messages.DescribeGroupsRequest(groups=["__vt_acme_g"]))
        >> broker_answers(answer)
        << to_client(expected)
    )
