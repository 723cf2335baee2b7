from typing import Any

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.filters.virtual.groups.told_members import ASKED_FOR_MS, MAX_IDS, MAX_MEMBERS, ToldMembers
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage, broker_versions

APP, ORDERS = physical_name("acme", "app"), physical_name("acme", "orders")
ID = bytes(15) + b"\7"
ASKS = messages.build("ConsumerGroupDescribeRequest", {"group_ids": [APP]})


@pytest.fixture
def dividing(stage: Stage) -> Stage:
    stage.topic_ids.learn(ID, ORDERS.encode())
    divided(stage, "orders")
    return stage


def entries(partitions: list[int], **fields: Any) -> Any:
    return {"topic_partitions": [{"topic_id": ID, "partitions": partitions, **fields}]}


def beat(group: str, member: str = "m", epoch: int = 4, *, says_all: bool = False) -> Any:
    fields: dict[str, Any] = {"group_id": group, "member_id": member, "member_epoch": epoch}
    if says_all:
        fields |= {"rebalance_timeout_ms": 9, "subscribed_topic_names": [], "topic_partitions": []}
    return messages.build("ConsumerGroupHeartbeatRequest", fields)


def told(partitions: list[int] | None, member: str = "m", epoch: int = 4, error_code: int = 0) -> Any:
    fields = {"member_id": member, "member_epoch": epoch, "error_code": error_code}
    assignment = None if partitions is None else entries(partitions)
    return messages.build("ConsumerGroupHeartbeatResponse", {**fields, "assignment": assignment})


def described(**members: list[int]) -> Any:
    listed = [
        {"member_id": name, "assignment": entries(some, topic_name=ORDERS)} for name, some in members.items()
    ]
    groups = [{"group_id": APP, "group_state": "Stable", "members": listed}]
    return messages.build("ConsumerGroupDescribeResponse", {"groups": groups})


def test_a_member_that_this_process_does_not_know_is_told_its_assignment_once(dividing: Stage) -> None:
    assert (
        dividing.play()
        >> client_sends(beat("app"), 1)
        << to_broker(ASKS)
        >> broker_answers(described(other=[0], m=[1]))
        << to_broker(beat(APP))
        >> broker_answers(told(None))
        << to_client(told([1, 3]))
        >> client_sends(beat("app"), 1)
        << to_broker(beat(APP))
        >> broker_answers(told(None))
        << to_client(told(None))
    )


@pytest.mark.parametrize("says_all", [True, False])
def test_one_that_the_coordinator_has_told_is_known(dividing: Stage, says_all: bool) -> None:
    book = dividing.play()
    if says_all:
        book = book >> client_sends(beat("app", says_all=True), 1) << to_broker(beat(APP, says_all=True))
    else:
        states = messages.build("DescribeGroupsRequest", {"groups": [APP]})
        empty = {"groups": [{"group_id": APP, "group_state": "Dead"}]}
        book = book >> client_sends(beat("app", "", 0), 0) << to_broker(states)
        book = book >> broker_answers(messages.build("DescribeGroupsResponse", empty))
        book = book << to_broker(beat(APP, "", 0))

    assert (
        book
        >> broker_answers(told([0]))
        << to_client(told([0, 2, 4]))
        >> client_sends(beat("app"), 1)
        << to_broker(beat(APP))
        >> broker_answers(told(None))
        << to_client(told(None))
    )


def test_one_that_has_left_is_forgotten(dividing: Stage) -> None:
    assert (
        dividing.play()
        >> client_sends(beat("app", says_all=True), 1)
        << to_broker(beat(APP, says_all=True))
        >> broker_answers(told([0]))
        << to_client(told([0, 2, 4]))
        >> client_sends(beat("app", epoch=-1), 1)
        << to_broker(beat(APP, epoch=-1))
        >> broker_answers(told(None, epoch=-1))
        << to_client(told(None, epoch=-1))
        >> client_sends(beat("app"), 1)
        << to_broker(ASKS)
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (told([0]), told([0, 2, 4])),  # The coordinator says it anew.
        (told(None, epoch=5), told(None, epoch=5)),
        (
            told(None, error_code=int(ErrorCode.FENCED_MEMBER_EPOCH)),
            told(None, error_code=int(ErrorCode.FENCED_MEMBER_EPOCH)),
        ),
    ],
)
def test_what_the_coordinator_says_counts(dividing: Stage, answer: Any, expected: Any) -> None:
    assert (
        dividing.play()
        >> client_sends(beat("app"), 1)
        << to_broker(ASKS)
        >> broker_answers(described(m=[1]))
        << to_broker(beat(APP))
        >> broker_answers(answer)
        << to_client(expected)
    )


def test_a_group_is_not_asked_about_all_the_time(dividing: Stage) -> None:
    assert (
        dividing.play()
        >> client_sends(beat("app"), 1)
        << to_broker(ASKS)
        >> broker_answers(described(other=[1]))
        << to_broker(beat(APP))
        >> broker_answers(told(None))
        << to_client(told(None))
        >> client_sends(beat("app"), 1)
        << to_broker(beat(APP))
    )


def test_members_with_long_ids_are_not_told(dividing: Stage) -> None:
    member = "m" * (MAX_IDS - 2)

    assert dividing.play() >> client_sends(beat("app", member), 1) << to_broker(beat(APP, member))


def test_a_broker_that_does_not_describe_such_groups_is_not_asked(dividing: Stage) -> None:
    dividing.versions = offered_versions(broker_versions(ConsumerGroupDescribe=(9, 9)))

    assert dividing.play() >> client_sends(beat("app"), 1) << to_broker(beat(APP))


def test_what_is_remembered_is_bounded() -> None:
    members = ToldMembers()
    for number in range(MAX_MEMBERS + 1):
        members.note(("", "app", str(number)))

    assert not members.has(("", "app", "0"))
    assert members.has(("", "app", str(MAX_MEMBERS)))
    assert members.may_ask("", "app", 5)
    assert not members.may_ask("", "app", 4 + ASKED_FOR_MS)
    assert members.may_ask("", "app", 5 + ASKED_FOR_MS)
    assert members.may_ask("eu", "app", 5)
