from typing import Any

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.filters.virtual.shown_partitions import LIMIT
from bifrost.filters.virtual.streams import assigned_tasks
from bifrost.filters.virtual.streams.assigned_tasks import (
    JOIN_AGAIN,
    MAX_IDS,
    NO_TOPOLOGY,
    OLD_TOPOLOGY,
    TOO_EARLY,
    TOO_MANY,
)
from bifrost.filters.virtual.streams.divided_topology import NOT_BY_PATTERN
from bifrost.filters.virtual.streams.known_members import ASKED_FOR_MS
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import FIVE_ON_TWO, divided, hits_of
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage, broker_versions
from support.stage.streams_groups import Tasks, asks, beat, described, owned, part, told

APP, ORDERS, BILLING = (physical_name("acme", one) for one in ("app", "orders", "billing"))
OF_RATIO = PartitionMap.of_ratio(3)
PARTS = part("0", source_topics=["orders"]), part("1", source_topics=["billing"])
AT_BROKER = part("0", source_topics=[ORDERS]), part("1", source_topics=[BILLING])
HERE = told(**owned({"0": [0], "1": [9]}))


@pytest.fixture
def dividing(stage: Stage) -> Stage:
    divided(stage, "orders")
    return stage


def joined(stage: Stage, epoch: int = 4) -> Playbook:
    """Let a member join, which then has tasks."""
    return (
        stage.play()
        >> client_sends(beat("app", *PARTS))
        << to_broker(beat(APP, *AT_BROKER))
        >> broker_answers(told(epoch, **owned({"0": [0], "1": [9]})))
        << to_client(told(epoch, **owned({"0": [0, 2, 4], "1": [9]})))
    )


def refused(error: ErrorCode, text: str | None) -> Any:
    answer = {"error_code": int(error), "error_message": text, "member_epoch": 0, "heartbeat_interval_ms": 0}
    return messages.build("StreamsGroupHeartbeatResponse", answer)


@pytest.mark.parametrize(
    ("partitions", "physical", "virtual"),
    [
        (FIVE_ON_TWO, [0], [0, 2, 4]),
        (FIVE_ON_TWO, [1, 0], [1, 3, 0, 2, 4]),
        (FIVE_ON_TWO, [2, 1], [1, 3]),  # The topic must not have a third one.
        (OF_RATIO, [3, 1], [9, 10, 11, 3, 4, 5]),
    ],
)
def test_a_member_gets_the_tasks_of_all_virtual_partitions(
    stage: Stage, partitions: PartitionMap, physical: list[int], virtual: list[int]
) -> None:
    divided(stage, "orders", partitions=partitions)

    assert (
        stage.play()
        >> client_sends(beat("app", *PARTS))
        << to_broker(beat(APP, *AT_BROKER))
        >> broker_answers(told(**owned({"0": physical}, {"1": [9]}, {"0": physical})))
        << to_client(told(**owned({"0": virtual}, {"1": [9]}, {"0": virtual})))
    )


@pytest.mark.parametrize(
    ("partitions", "virtual", "physical"),
    [
        (FIVE_ON_TWO, [0, 2, 4], [0]),
        (FIVE_ON_TWO, [4], [0]),
        (FIVE_ON_TWO, [3, 0], [1, 0]),
        (FIVE_ON_TWO, [5, 1], [5, 1]),  # There is no such task, and the coordinator does not know it either.
        (OF_RATIO, [11, 3], [3, 1]),
    ],
)
def test_a_task_is_named_as_long_as_the_member_has_one_of_its_virtual_ones(
    stage: Stage, partitions: PartitionMap, virtual: list[int], physical: list[int]
) -> None:
    divided(stage, "orders", partitions=partitions)
    book = stage.play() >> client_sends(beat("app", *PARTS)) << to_broker(beat(APP, *AT_BROKER))
    book = book >> broker_answers(told(**owned({}))) << to_client(told(**owned({})))

    assert (
        book
        >> client_sends(beat("app", **owned({"0": virtual}, {"1": [9]}, {"0": virtual})))
        << to_broker(beat(APP, **owned({"0": physical}, {"1": [9]}, {"0": physical})))
        >> broker_answers(told())
        << to_client(told())
    )


def test_offsets_of_tasks_are_those_of_the_furthest_behind(dividing: Stage) -> None:
    def offsets(**tasks: int) -> list[dict[str, Any]]:
        return [
            {"subtopology_id": name[1], "partition": int(name[2:]), "offset": offset}
            for name, offset in tasks.items()
        ]

    reached, ends = offsets(_00=7, _02=5, _04=9, _01=3, _17=4), offsets(_00=7, _02=11, _01=3)
    at_broker = {
        "task_offsets": offsets(_00=5, _01=3, _17=4),
        "task_end_offsets": offsets(_00=11, _01=3),
    }

    assert (
        joined(dividing)
        >> client_sends(beat("app", task_offsets=reached, task_end_offsets=ends))
        << to_broker(beat(APP, **at_broker))
    )


@pytest.mark.parametrize("field", ["active_tasks", "task_offsets", "task_end_offsets"])
def test_a_subtopology_that_there_is_not_is_refused(dividing: Stage, field: str) -> None:
    entry = {"subtopology_id": "7"} | ({"partitions": [0]} if field == "active_tasks" else {"partition": 0})
    request = beat("app", **{**owned({}), field: [entry]})
    text = "Subtopology 7 does not exist in the topology."

    assert joined(dividing) >> client_sends(request) << to_client(refused(ErrorCode.INVALID_REQUEST, text))


def test_a_member_that_this_process_does_not_know_is_told_its_tasks_once(dividing: Stage) -> None:
    """As after a reload, by which the operator has raised the number of virtual partitions."""
    tasks = owned({"0": [1]}, {"1": [3]})
    assert (
        dividing.play()
        >> client_sends(beat("app", **owned({"0": [3]})))
        << to_broker(asks(APP))
        >> broker_answers(described(APP, *AT_BROKER, other=owned({"0": [0]}), m=tasks))
        << to_broker(beat(APP, **owned({"0": [1]})))
        >> broker_answers(told())
        << to_client(told(**owned({"0": [1, 3]}, {"1": [3]})))
        >> client_sends(beat("app"))
        << to_broker(beat(APP))
        >> broker_answers(told())
        << to_client(told())
    )


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (told(**owned({"0": [0]})), told(**owned({"0": [0, 2, 4]}))),  # The coordinator says it anew.
        (told(5), told(5)),
        (told(error_code=25), told(error_code=25)),
    ],
)
def test_what_the_coordinator_says_counts(dividing: Stage, answer: Any, expected: Any) -> None:
    assert (
        dividing.play()
        >> client_sends(beat("app"))
        << to_broker(asks(APP))
        >> broker_answers(described(APP, *AT_BROKER, m=owned({"0": [1]})))
        << to_broker(beat(APP))
        >> broker_answers(answer)
        << to_client(expected)
    )


def test_one_question_is_enough_for_the_members_of_a_group(dividing: Stage) -> None:
    """The second one is told its tasks by a later heartbeat, for which the group may be asked about again."""
    tasks: Tasks = {"0": [1]}
    book = (
        dividing.play()
        >> client_sends(beat("app"))
        << to_broker(asks(APP))
        >> broker_answers(described(APP, *AT_BROKER, m=owned({"0": [0]}), n=owned(tasks)))
        << to_broker(beat(APP))
        >> broker_answers(told())
        << to_client(told(**owned({"0": [0, 2, 4]})))
        >> client_sends(beat("app", member="n", **owned({"0": [3]})))
        << to_broker(asks(APP))
        >> broker_answers(described(APP, *AT_BROKER, n=owned(tasks), o=owned({})))
        << to_broker(beat(APP, member="n", **owned({"0": [1]})))
        >> broker_answers(told(member="n"))
        << to_client(told(member="n", **owned({"0": [1, 3]})))
        >> client_sends(beat("app", member="o", **owned({"0": [3]})))
        << to_broker(beat(APP, member="o", **owned({"0": [1]})))
        >> broker_answers(told(member="o"))
        << to_client(told(member="o"))
    )
    dividing.now_ms += ASKED_FOR_MS

    assert book >> client_sends(beat("app", member="o")) << to_broker(asks(APP))


def test_a_member_with_another_epoch_is_not_known(dividing: Stage) -> None:
    """It has joined again elsewhere, perhaps with another topology."""
    other = part("0", source_topics=[BILLING]), part("1", source_topics=[ORDERS])
    tasks = owned({"0": [1], "1": [1]})

    assert (
        joined(dividing)
        >> client_sends(beat("app", epoch=6, **owned({"0": [1], "1": [1]})))
        << to_broker(asks(APP))
        >> broker_answers(described(APP, *other))
        << to_broker(beat(APP, epoch=6, **tasks))
        >> broker_answers(told(7, **tasks))
        << to_client(told(7, **owned({"0": [1], "1": [1, 3]})))
    )


@pytest.mark.parametrize("epoch", [-1, -2, 0])
def test_one_that_leaves_is_forgotten_and_has_no_tasks(dividing: Stage, epoch: int) -> None:
    """So is one that joins without a topology, which a coordinator refuses."""
    offsets = [{"subtopology_id": "0", "partition": 4, "offset": 8}]
    said = beat("app", epoch=epoch, task_offsets=offsets, task_end_offsets=offsets, **owned({"0": [4]}))

    assert (
        joined(dividing)
        >> client_sends(said)
        << to_broker(beat(APP, epoch=epoch, **owned({})))
        >> broker_answers(told(epoch))
        << to_client(told(epoch))
        >> client_sends(beat("app"))
        << to_broker(asks(APP))
    )


def test_members_with_long_ids_are_asked_about_each_time(dividing: Stage) -> None:
    member = "m" * (MAX_IDS - 2)
    book = dividing.play()
    for _ in range(2):
        book = book >> client_sends(beat("app", member=member)) << to_broker(asks(APP))
        book = book >> broker_answers(described(APP, *AT_BROKER)) << to_broker(beat(APP, member=member))
        book = book >> broker_answers(told(member=member)) << to_client(told(member=member))
    assert book


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ({"error_code": 69, "error_message": "gone"}, refused(ErrorCode.GROUP_ID_NOT_FOUND, "gone")),
        ({"error_code": 16, "error_message": None}, refused(ErrorCode.NOT_COORDINATOR, None)),
        ({"topology": None}, refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, NO_TOPOLOGY)),
    ],
)
def test_without_a_topology_no_task_is_passed_on(dividing: Stage, answer: Any, expected: Any) -> None:
    groups = [{"group_id": APP, "group_state": "Stable", "members": [], **answer}]
    told_of = messages.build("StreamsGroupDescribeResponse", {"groups": groups})
    book = dividing.play() >> client_sends(beat("app", **owned({"0": [3]}))) << to_broker(asks(APP))

    assert book >> broker_answers(told_of) << to_client(expected)


def test_a_group_whose_topics_are_not_divided_alike_any_more(dividing: Stage) -> None:
    both = part("0", source_topics=[ORDERS, BILLING])
    book = dividing.play() >> client_sends(beat("app")) << to_broker(asks(APP))

    text = (
        "The topics of subtopology 0 share their tasks, so they need the same virtual partitions, by rules with the "
        "same numbers, or none: orders has 5 virtual partitions on 2, billing has no virtual partitions."
    )
    expected = refused(ErrorCode.STREAMS_INVALID_TOPOLOGY, text)
    assert book >> broker_answers(described(APP, both)) << to_client(expected)


def test_a_topology_that_cannot_be_divided_is_refused(dividing: Stage) -> None:
    pattern = part("0", source_topic_regex=["o.*"])

    assert (
        dividing.play()
        >> client_sends(beat("app", pattern))
        << to_client(refused(ErrorCode.STREAMS_INVALID_TOPOLOGY, NOT_BY_PATTERN))
    )


def test_a_broker_that_does_not_describe_such_groups_has_none(dividing: Stage) -> None:
    dividing.versions = offered_versions(broker_versions(StreamsGroupDescribe=(9, 9)))
    expected = refused(ErrorCode.UNSUPPORTED_VERSION, TOO_EARLY)

    assert dividing.play() >> client_sends(beat("app")) << to_client(expected)


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (
            {"status": [{"status_code": 0, "status_detail": "old"}]},
            ErrorCode.STREAMS_INVALID_TOPOLOGY_EPOCH,
            OLD_TOPOLOGY,
        ),
        (owned({"7": [0]}), ErrorCode.FENCED_MEMBER_EPOCH, JOIN_AGAIN),
    ],
)
def test_tasks_of_another_topology_are_not_shown(
    dividing: Stage, answer: Any, error: ErrorCode, text: str
) -> None:
    fields = {"error_code": int(error), "error_message": text, "status": answer.get("status", [])}

    assert (
        joined(dividing)
        >> client_sends(beat("app"))
        << to_broker(beat(APP))
        >> broker_answers(told(5, **{**owned({"0": [0]}), **answer}))
        << to_client(told(5, **fields))
    )


def endpoint(active: dict[str, list[int]], standby: dict[str, list[int]]) -> dict[str, Any]:
    def partitions(topics: dict[str, list[int]]) -> list[dict[str, Any]]:
        return [{"topic": name, "partitions": some} for name, some in topics.items()]

    return {
        "user_endpoint": {"host": "here", "port": 9},
        "active_partitions": partitions(active),
        "standby_partitions": partitions(standby),
    }


def test_who_has_which_partitions_is_told_by_topic(dividing: Stage) -> None:
    physical = [endpoint({ORDERS: [1], BILLING: [7]}, {ORDERS: [0, 2]})]
    virtual = [endpoint({"orders": [1, 3], "billing": [7]}, {"orders": [0, 2, 4]})]

    assert (
        joined(dividing)
        >> client_sends(beat("app"))
        << to_broker(beat(APP))
        >> broker_answers(told(partitions_by_user_endpoint=physical))
        << to_client(told(partitions_by_user_endpoint=virtual))
    )


@pytest.mark.parametrize("has_room", [True, False])
def test_an_answer_has_a_bound(dividing: Stage, monkeypatch: pytest.MonkeyPatch, has_room: bool) -> None:
    monkeypatch.setattr(assigned_tasks, "MAX_SHOWN", 8 if has_room else 7)
    physical = [endpoint({ORDERS: [1]}, {BILLING: [7]})]
    shown = [endpoint({"orders": [1, 3]}, {"billing": [7]})]
    answer = {**owned({"0": [1]}, {"0": [0]}), "partitions_by_user_endpoint": physical}
    expected = {**owned({"0": [1, 3]}, {"0": [0, 2, 4]}), "partitions_by_user_endpoint": shown}
    if not has_room:
        expected = {"error_code": int(ErrorCode.INVALID_REQUEST), "error_message": TOO_MANY}

    assert (
        dividing.play()
        >> client_sends(beat("app", *PARTS))
        << to_broker(beat(APP, *AT_BROKER))
        >> broker_answers(told(**answer))
        << to_client(told(**expected))
    )
    assert hits_of(dividing)[LIMIT, "acme"] == (not has_room)
