"""What the broker sees of client IDs and member IDs, and what the tenant does, on every way through a session."""

from typing import Any

import pytest

from bifrost.session.close_reason import CloseReason
from bifrost.wire.message import Message
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.playbook import CLIENT_ID, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

TAIL = "3f0c91d2-6c1a-{}b7e-9d53-0a8e5f3b2c11"
OF_TENANT, AT_BROKER = f"app-{TAIL.format(8)}", physical_name("acme", f"app-{TAIL.format(4)}")
STATIC = f"instance-{TAIL.format(4)}"


def heartbeat(group_id: str, member_id: str, instance: str | None = None) -> Message:
    values: dict[str, Any] = {"group_id": group_id, "generation_id": 1, "member_id": member_id}
    return messages.build("HeartbeatRequest", values | {"group_instance_id": instance})


HEARTBEATS = [(heartbeat("g", OF_TENANT), 4), (messages.build("MetadataRequest", {"topics": None}), 12)]
"""One that is rewritten in place and one that is decoded; the second asks for a page of topics first."""


@pytest.mark.parametrize(
    ("client_id", "expected"),
    [
        (b"app", physical_name("acme", "app").encode()),
        (b"", prefix_of("acme").encode()),
        (None, prefix_of("acme").encode()),
    ],
)
@pytest.mark.parametrize("version", [3, 4])
def test_the_broker_sees_the_prefix_before_the_client_id(
    stage: Stage, version: int, client_id: bytes | None, expected: bytes
) -> None:
    book = stage.play("acme")

    # The second finds the way of the first.
    for _ in range(2):
        book >> client_sends(heartbeat("g", "m"), version, client_id=client_id)
        assert expected == client_id_of(book.said.to_broker[-1])
        book << to_broker(heartbeat(physical_name("acme", "g"), "m"), client_id=client_id)
    assert book


def client_id_of(frame: bytes) -> bytes:
    return frame[10 : 10 + int.from_bytes(frame[8:10], "big")]


def test_what_is_decoded_has_it_as_well_and_what_the_gateway_asks_for_itself(stage: Stage) -> None:
    book = stage.play("initech")

    book >> client_sends(messages.build("MetadataRequest", {"topics": None}), 12)

    page = book.said.to_broker.popleft()
    assert int.from_bytes(page[:2], "big") == 75
    assert client_id_of(page) == prefix_of("initech").encode() + CLIENT_ID


def test_a_tenant_may_keep_its_client_ids() -> None:
    stage = Stage(namespaces_client_ids=False)

    book = stage.play("acme") >> client_sends(heartbeat("g", OF_TENANT), 4, client_id=None)

    assert book.said.to_broker[0][8:10] == b"\xff\xff"
    assert book << to_broker(heartbeat(physical_name("acme", "g"), OF_TENANT), client_id=None)


def test_a_client_id_without_room_for_the_prefix_ends_the_connection(stage: Stage) -> None:
    book = stage.play("acme") >> client_sends(heartbeat("g", "m"), 4, client_id=b"x" * 32_757)
    book << to_broker(heartbeat(physical_name("acme", "g"), "m"), client_id=b"x" * 32_757)

    book >> client_sends(heartbeat("g", "m"), 4, client_id=b"x" * 32_758)

    assert book.said.ended is not None
    assert book.said.ended[0] is CloseReason.MALFORMED
    assert not book.said.to_broker


def test_a_new_member_is_called_after_its_own_client_id(stage: Stage) -> None:
    subscription = messages.consumer_payload("Subscription", 0, topics=["orders"])
    physical = messages.consumer_payload("Subscription", 0, topics=[physical_name("acme", "orders")])
    joined = {"protocol_type": "consumer", "generation_id": 1, "protocol_name": "range"}

    def join(group_id: str, member_id: str, metadata: bytes) -> Message:
        values = {"group_id": group_id, "member_id": member_id, "protocol_type": "consumer"}
        protocols = [{"name": "range", "metadata": metadata}]
        return messages.build("JoinGroupRequest", values | {"protocols": protocols})

    def answer(member_id: str, metadata: bytes) -> Message:
        members = [
            {"member_id": member_id, "metadata": metadata},
            {"member_id": STATIC, "group_instance_id": "instance", "metadata": metadata},
        ]
        return messages.build(
            "JoinGroupResponse", joined | {"leader": member_id, "member_id": member_id, "members": members}
        )

    assert (
        stage.play("acme")
        >> client_sends(join("g", "", subscription), 9)
        << to_broker(join(physical_name("acme", "g"), "", physical))
        >> broker_answers(answer(AT_BROKER, physical))
        << to_client(answer(OF_TENANT, subscription))
        >> client_sends(join("g", OF_TENANT, subscription), 9)
        << to_broker(join(physical_name("acme", "g"), AT_BROKER, physical))
    )


@pytest.mark.parametrize("version", [0, 3, 4])
def test_a_member_is_known_by_it_afterwards(stage: Stage, version: int) -> None:
    book = stage.play("acme")
    for _ in range(2):
        (
            book
            >> client_sends(heartbeat("g", OF_TENANT), version)
            << to_broker(heartbeat(physical_name("acme", "g"), AT_BROKER))
        )
        (
            book
            >> broker_answers(messages.build("HeartbeatResponse", {}))
            << to_client(messages.build("HeartbeatResponse", {}))
        )
    assert book


def test_a_static_member_keeps_its_id(stage: Stage) -> None:
    assert (
        stage.play("acme")
        >> client_sends(heartbeat("g", STATIC, "instance"), 4)
        << to_broker(heartbeat(physical_name("acme", "g"), STATIC, "instance"))
    )


def described(group_id: str, member_id: str, client_id: str, host: str) -> Message:
    members = [
        {"member_id": member_id, "client_id": client_id, "client_host": host},
        {"member_id": STATIC, "client_id": "from-before", "client_host": host},
    ]
    return messages.build(
        "DescribeGroupsResponse",
        {"groups": [{"group_id": group_id, "protocol_type": "consumer", "members": members}]},
    )


def test_a_description_shows_the_client_s_own_ids(stage: Stage) -> None:
    assert (
        stage.play("acme")
        >> client_sends(messages.build("DescribeGroupsRequest", {"groups": ["g"]}), 5)
        << to_broker(messages.build("DescribeGroupsRequest", {"groups": [physical_name("acme", "g")]}))
        >> broker_answers(
            described(physical_name("acme", "g"), AT_BROKER, physical_name("acme", "app"), "/10.0.0.9")
        )
        << to_client(described("g", OF_TENANT, "app", "/proxy.example.com"))
    )
