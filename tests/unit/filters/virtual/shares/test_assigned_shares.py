"""Members of share groups of a topic with five virtual partitions on two: 0, 2 and 4 lie in 0, and 1 and 3 in 1."""

from __future__ import annotations

from typing import Any

import pytest

from bifrost.filters.virtual.groups import assigned_partitions, described_members
from bifrost.filters.virtual.groups.assigned_partitions import TOO_MANY
from bifrost.filters.virtual.groups.described_members import TOO_MANY as TOO_MANY_DESCRIBED
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

APP, ORDERS = physical_name("acme", "app"), physical_name("acme", "orders")
ID = bytes(15) + b"\7"
ASKS = messages.build("ShareGroupDescribeRequest", {"group_ids": [APP]})


@pytest.fixture
def sharing(stage: Stage) -> Stage:
    stage.topic_ids.learn(ID, ORDERS.encode())
    divided(stage, "orders")
    return stage


def entries(partitions: list[int], **fields: Any) -> Any:
    return {"topic_partitions": [{"topic_id": ID, "partitions": partitions, **fields}]}


def beat(group: str, epoch: int = 0, topics: list[str] | None = None) -> Any:
    fields = {"group_id": group, "member_id": "m", "member_epoch": epoch, "subscribed_topic_names": topics}
    return messages.build("ShareGroupHeartbeatRequest", fields)


def told(partitions: list[int] | None, epoch: int = 4, **fields: Any) -> Any:
    assignment = None if partitions is None else entries(partitions)
    fields = {"member_id": "m", "member_epoch": epoch, "assignment": assignment, **fields}
    return messages.build("ShareGroupHeartbeatResponse", fields)


def described(name: str, group: str, host: str, partitions: list[int], **fields: Any) -> Any:
    members = [
        {"member_id": "m", "client_host": host, "assignment": entries(partitions, topic_name=name)},
        {"member_id": "idle", "client_host": host, "assignment": {"topic_partitions": []}},
    ]
    groups = [{"group_id": group, "group_state": "Stable", "members": members, **fields}]
    return messages.build("ShareGroupDescribeResponse", {"groups": groups})


def test_a_member_is_shown_all_virtual_partitions_of_each_physical_one(sharing: Stage) -> None:
    assert (
        sharing.play()
        >> client_sends(beat("app", topics=["orders"]), 1)
        << to_broker(beat(APP, topics=[ORDERS]))
        >> broker_answers(told([1, 0]))
        << to_client(told([1, 3, 0, 2, 4]))
        >> client_sends(beat("app", 4), 1)
        << to_broker(beat(APP, 4))
        >> broker_answers(told(None))
        << to_client(told(None))
    )


def test_a_member_that_this_process_does_not_know_is_told_its_assignment_once(sharing: Stage) -> None:
    assert (
        sharing.play()
        >> client_sends(beat("app", 4), 1)
        << to_broker(ASKS)
        >> broker_answers(described(ORDERS, APP, "/1.2.3.4", [1]))
        << to_broker(beat(APP, 4))
        >> broker_answers(told(None))
        << to_client(told([1, 3]))
        >> client_sends(beat("app", 4), 1)
        << to_broker(beat(APP, 4))
        >> broker_answers(told(None))
        << to_client(told(None))
    )


def test_an_assignment_that_is_too_large_is_an_error(sharing: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assigned_partitions, "MAX_SHOWN", 4)
    refused = told(None, error_code=int(ErrorCode.INVALID_REQUEST), error_message=TOO_MANY)

    assert (
        sharing.play()
        >> client_sends(beat("app", topics=["orders"]), 1)
        << to_broker(beat(APP, topics=[ORDERS]))
        >> broker_answers(told([1, 0]))
        << to_client(refused)
    )
    assert hits_of(sharing) == {("virtual_partitions_shown", "acme"): 1}


def test_members_are_described_with_virtual_partitions(sharing: Stage) -> None:
    assert (
        sharing.play()
        >> client_sends(messages.build("ShareGroupDescribeRequest", {"group_ids": ["app"]}), 1)
        << to_broker(ASKS)
        >> broker_answers(described(ORDERS, APP, "/1.2.3.4", [0]))
        << to_client(described("orders", "app", "/proxy.example.com", [0, 2, 4]))
    )


def test_a_description_that_is_too_large_is_an_error(sharing: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(described_members, "MAX_SHOWN", 2)
    fields = {"error_code": int(ErrorCode.INVALID_REQUEST), "error_message": TOO_MANY_DESCRIBED}
    refused = described("orders", "app", "/", [], **fields)
    refused.groups[0].members = []

    assert (
        sharing.play()
        >> client_sends(messages.build("ShareGroupDescribeRequest", {"group_ids": ["app"]}), 1)
        << to_broker(ASKS)
        >> broker_answers(described(ORDERS, APP, "/1.2.3.4", [0]))
        << to_client(refused)
    )
