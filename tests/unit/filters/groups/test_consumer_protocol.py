"""Subscriptions and assignments inside the messages of the classic group protocol."""

import pytest

from bifrost.filters.groups.consumer_payload import EMPTY
from bifrost.tenancy.namespace import MAX_MEMBERS_OF_OTHER_PROTOCOLS
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.messages import consumer_payload
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

PREFIX, GROUP = prefix_of("acme"), physical_name("acme", "g")
USER_DATA = b"\x00\x00the assignor's own: orders"


def subscription(
    version: int,
    prefix: str,
    *,
    topics: tuple[str, ...] = ("orders", "billing"),
    user_data: bytes | None = USER_DATA,
) -> bytes:
    """What a consumer subscribes to; fields that the version lacks are left out."""
    owned = [{"topic": f"{prefix}{topic}", "partitions": [0, 1]} for topic in topics]
    names = [f"{prefix}{topic}" for topic in topics]
    return consumer_payload(
        "Subscription",
        version,
        topics=names,
        user_data=user_data,
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
        protocols=[{"name": "range", "metadata": metadata}, {"name": "stream", "metadata": metadata}],
    )


def joined(metadata: bytes, protocol_type: str | None = None):
    members = [{"member_id": "a", "metadata": metadata}, {"member_id": "b", "metadata": metadata}]
    return messages.JoinGroupResponse(
        protocol_type=protocol_type, protocol_name="range", leader="a", member_id="a", members=members
    )


MALFORMED = {
    "one byte behind": subscription(1, "") + b"x",
    "bad UTF-8": subscription(1, "").replace(b"orders", b"ord\xffrs", 1),
    "negative version": b"\xff\xff" + subscription(1, "")[2:],
    "negative count": b"\x00\x01\xff\xff\xff\xfe" + subscription(1, "")[6:],
    "cut off": subscription(1, "")[:-1],
    "physical name behind": b"\x00\x00\x00\x00\x00\x01\x00\x13"
    + physical_name("globex", "invoice").encode()
    + b"\xff\xff\xff\xffx",
}


def sync(payload: bytes, protocol_type: str | None = None):
    assignments = [{"member_id": "a", "assignment": payload}, {"member_id": "b", "assignment": payload}]
    return messages.SyncGroupRequest(
        group_id="g", member_id="a", protocol_type=protocol_type, assignments=assignments
    )


def physically(request):
    """The request with its group's physical name."""
    request.group_id = physical_name("acme", request.group_id)
    return request


# -- JoinGroup


@pytest.mark.parametrize("version", range(10))
def test_members_subscribe_to_physical_topics_and_their_leader_sees_virtual_ones(
    stage: Stage, version: int
) -> None:
    assert (
        stage.play()
        >> client_sends(join(subscription(1, "")), version)
        << to_broker(physically(join(subscription(1, PREFIX))))
        >> broker_answers(joined(subscription(1, PREFIX)))
        << to_client(joined(subscription(1, "")))
    )


@pytest.mark.parametrize("version", range(10))
@pytest.mark.parametrize("shape", MALFORMED)
def test_a_subscription_that_cannot_be_read_is_refused(stage: Stage, version: int, shape: str) -> None:
    request = join(MALFORMED[shape])
    request.member_id = "m"
    refusal = messages.JoinGroupResponse(
        error_code=ErrorCode.UNKNOWN_SERVER_ERROR,
        member_id="m",
        protocol_name=None if version >= 7 else "",
    )

    assert stage.play() >> client_sends(request, version) << to_client(refusal)


@pytest.mark.parametrize("version", [0, 5, 9])
def test_one_bad_subscription_among_good_ones_is_refused(stage: Stage, version: int) -> None:
    request = join(subscription(1, ""))
    request.protocols[1].metadata += b"x"

    book = stage.play() >> client_sends(request, version)

    assert book << to_client(
        messages.JoinGroupResponse(
            error_code=ErrorCode.UNKNOWN_SERVER_ERROR, protocol_name=None if version >= 7 else ""
        )
    )


@pytest.mark.parametrize("version", [0, 5, 9])
@pytest.mark.parametrize("shape", MALFORMED)
def test_the_leader_sees_an_empty_subscription_for_one_that_cannot_be_read(
    stage: Stage, version: int, shape: str
) -> None:
    assert (
        stage.play()
        >> client_sends(join(subscription(1, "")), version)
        << to_broker(physically(join(subscription(1, PREFIX))))
        >> broker_answers(joined(MALFORMED[shape]))
        << to_client(joined(EMPTY))
    )


def test_the_protocols_name_says_what_the_user_data_is(stage: Stage) -> None:
    request = join(subscription(1, ""))
    request.protocols[1].name = "sticky"
    expected = physically(join(subscription(1, PREFIX)))
    expected.protocols[1].name = "sticky"
    expected.protocols[1].metadata = subscription(1, PREFIX, user_data=None)
    answer, shown = joined(subscription(1, PREFIX)), joined(subscription(1, "", user_data=None))
    answer.protocol_name = shown.protocol_name = "sticky"

    assert (
        stage.play()
        >> client_sends(request, 9)
        << to_broker(expected)
        >> broker_answers(answer)
        << to_client(shown)
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
def test_no_member_joins_a_group_without_a_name(stage: Stage, version: int) -> None:
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
        for prefix in (PREFIX, "")
    )
    assert (
        stage.play()
        >> client_sends(sync(assignment(1, ""), protocol_type), version)
        << to_broker(physically(sync(assignment(1, PREFIX), protocol_type)))
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


def joins(version: int, protocol_type: str = "connect", error_code: int = 0, *, member_id: str = "a"):
    """What a member says and hears when it joins; its subscription is empty."""
    request = messages.JoinGroupRequest(group_id="g", member_id=member_id, protocol_type=protocol_type)
    answer = messages.JoinGroupResponse(
        error_code=error_code, member_id=member_id, protocol_name=None if version >= 7 else ""
    )
    expected = messages.JoinGroupRequest(group_id=GROUP, member_id=member_id, protocol_type=protocol_type)
    return client_sends(request, version), to_broker(expected), broker_answers(answer), to_client(answer)


def after_joining(stage: Stage, version: int, *joining):
    asks, asked, answers, answered = joins(version, *joining)
    return stage.play() >> asks << asked >> answers << answered


REFUSED_SYNC = messages.SyncGroupResponse(error_code=ErrorCode.UNKNOWN_SERVER_ERROR)


@pytest.mark.parametrize("version", range(6))
def test_an_assignment_of_connect_passes_where_the_protocol_is_not_said(stage: Stage, version: int) -> None:
    answer = messages.SyncGroupResponse(assignment=CONNECT_ASSIGNMENT)
    assert (
        after_joining(stage, version)
        >> client_sends(sync(CONNECT_ASSIGNMENT), version)
        << to_broker(physically(sync(CONNECT_ASSIGNMENT)))
        >> broker_answers(answer)
        << to_client(answer)
    )


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize(
    "payload",
    [assignment(1, ""), assignment(1, "") + b"x", assignment(1, "").replace(b"orders", b"ord\xffrs")],
)
def test_what_a_broker_could_read_as_an_assignment_does_not_pass_where_the_protocol_is_not_said(
    stage: Stage, version: int, payload: bytes
) -> None:
    book = after_joining(stage, version) >> client_sends(sync(payload), version)

    assert book << to_client(REFUSED_SYNC)


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize(
    "joining",
    [
        None,
        ("consumer",),
        ("connect", ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("connect", ErrorCode.MEMBER_ID_REQUIRED),
    ],
)
def test_whose_protocol_is_not_known_is_taken_for_a_consumer(
    stage: Stage, version: int, joining: tuple[str, int] | None
) -> None:
    book = stage.play() if joining is None else after_joining(stage, version, *joining)

    assert book >> client_sends(sync(CONNECT_ASSIGNMENT), version) << to_client(REFUSED_SYNC)


def test_the_protocol_of_a_member_is_that_of_its_own_group(stage: Stage) -> None:
    book = after_joining(stage, 3)
    for group_id, member_id in (("g2", "a"), ("g", "b"), ("ga", ""), ("", "ga")):
        request = sync(CONNECT_ASSIGNMENT)
        request.group_id, request.member_id = group_id or "h", member_id

        book = book >> client_sends(request, 3) << to_client(REFUSED_SYNC)

    assert book


def test_members_of_other_protocols_are_forgotten_one_by_one(stage: Stage) -> None:
    book = after_joining(stage, 3)
    for number in range(MAX_MEMBERS_OF_OTHER_PROTOCOLS - 1):
        stage.namespaces["acme"].members_of_other_protocols.put(b"%d" % number, True)
    book = (
        book >> client_sends(sync(CONNECT_ASSIGNMENT), 3) << to_broker(physically(sync(CONNECT_ASSIGNMENT)))
    )
    assert book >> broker_answers(messages.SyncGroupResponse()) << to_client(messages.SyncGroupResponse())

    stage.namespaces["acme"].members_of_other_protocols.put(b"one more", True)

    assert len(stage.namespaces["acme"].members_of_other_protocols) == MAX_MEMBERS_OF_OTHER_PROTOCOLS
    assert book >> client_sends(sync(CONNECT_ASSIGNMENT), 3) << to_client(REFUSED_SYNC)


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("shape", MALFORMED)
def test_an_assignment_that_cannot_be_read_is_refused(stage: Stage, version: int, shape: str) -> None:
    request = sync(MALFORMED[shape], "consumer" if version >= 5 else None)

    assert stage.play() >> client_sends(request, version) << to_client(REFUSED_SYNC)


@pytest.mark.parametrize("version", range(6))
def test_an_empty_assignment_passes(stage: Stage, version: int) -> None:
    """So do members without partitions get theirs from some leaders."""
    protocol_type = "consumer" if version >= 5 else None
    answer = messages.SyncGroupResponse(protocol_type=protocol_type, assignment=b"")
    assert (
        stage.play()
        >> client_sends(sync(b"", protocol_type), version)
        << to_broker(physically(sync(b"", protocol_type)))
        >> broker_answers(answer)
        << to_client(answer)
    )


@pytest.mark.parametrize("version", range(6))
@pytest.mark.parametrize("shape", MALFORMED)
def test_a_member_gets_an_empty_assignment_for_one_that_cannot_be_read(
    stage: Stage, version: int, shape: str
) -> None:
    protocol_type = "consumer" if version >= 5 else None
    answer, expected = (
        messages.SyncGroupResponse(protocol_type=protocol_type, assignment=payload)
        for payload in (MALFORMED[shape], EMPTY)
    )
    request = messages.SyncGroupRequest(group_id="g", member_id="b", protocol_type=protocol_type)
    assert (
        stage.play()
        >> client_sends(request, version)
        << to_broker(messages.SyncGroupRequest(group_id=GROUP, member_id="b", protocol_type=protocol_type))
        >> broker_answers(answer)
        << to_client(expected)
    )


def test_a_member_that_is_not_the_leader_sends_no_assignments(stage: Stage) -> None:
    request = messages.SyncGroupRequest(group_id="g", member_id="b")
    assert (
        stage.play()
        >> client_sends(request, 3)
        << to_broker(messages.SyncGroupRequest(group_id=GROUP, member_id="b"))
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
        << to_broker(messages.DescribeGroupsRequest(groups=[GROUP, physical_name("acme", "h")]))
        >> broker_answers(described(PREFIX, "/10.0.0.9", protocol_type))
        << to_client(described("", "/proxy.example.com", protocol_type))
    )


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize("shape", MALFORMED)
def test_an_admin_sees_empty_payloads_for_those_that_cannot_be_read(
    stage: Stage, version: int, shape: str
) -> None:
    answer, expected = described(PREFIX, "/10.0.0.9"), described("", "/proxy.example.com")
    for response, payload in ((answer, MALFORMED[shape]), (expected, EMPTY)):
        member = response.groups[0].members[0]
        member.member_metadata = member.member_assignment = payload
    assert (
        stage.play()
        >> client_sends(messages.DescribeGroupsRequest(groups=["g"]), version)
        << to_broker(messages.DescribeGroupsRequest(groups=[GROUP]))
        >> broker_answers(answer)
        << to_client(expected)
    )


def test_a_group_of_another_tenant_is_not_described(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(messages.DescribeGroupsRequest(groups=["g"]))
        << to_broker(messages.DescribeGroupsRequest(groups=[GROUP]))
        >> broker_answers(described(prefix_of("globex"), "/10.0.0.9"))
        << to_client(messages.DescribeGroupsResponse())
    )


def test_an_error_text_about_a_group_is_in_virtual_names(stage: Stage) -> None:
    answer, expected = (
        messages.DescribeGroupsResponse(
            groups=[
                {"group_id": f"{prefix}g", "error_code": 69, "error_message": f"Group {prefix}g not found."}
            ]
        )
        for prefix in (PREFIX, "")
    )
    assert (
        stage.play()
        >> client_sends(messages.DescribeGroupsRequest(groups=["g"]), 6)
        << to_broker(messages.DescribeGroupsRequest(groups=[GROUP]))
        >> broker_answers(answer)
        << to_client(expected)
    )
