from typing import Any

import pytest

from bifrost.filters.virtual.shown_partitions import LIMIT
from bifrost.filters.virtual.streams import described_tasks
from bifrost.filters.virtual.streams.described_tasks import TOO_MANY, UNKNOWN_TASK
from bifrost.filters.virtual.streams.divided_topology import NO_TOPICS
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided, hits_of
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage
from support.stage.streams_groups import asks, described, internal, owned, part

APP, ORDERS, BILLING = (physical_name("acme", one) for one in ("app", "orders", "billing"))
AT_BROKER = (
    part("0", repartition_source_topics=[internal(ORDERS, 2)]),
    part("1", source_topics=[BILLING], state_changelog_topics=[internal(BILLING, 7)]),
)
SHOWN = (
    part("0", repartition_source_topics=[internal("orders", 5)]),
    part("1", source_topics=["billing"], state_changelog_topics=[internal("billing", 7)]),
)


@pytest.fixture
def dividing(stage: Stage) -> Stage:
    divided(stage, "orders")
    return stage


def begun(stage: Stage) -> Playbook:
    return stage.play() >> client_sends(asks("app")) << to_broker(asks(APP))


def of(answer: Any) -> Any:
    """Return an answer as the client has it, with the host by which it knows the gateway."""
    for group in answer.groups:
        for member in group.members:
            member.client_host = "/proxy.example.com"
    return answer


def refused(answer: Any, error: ErrorCode, text: str) -> Any:
    (group,) = answer.groups
    group.error_code, group.error_message, group.topology, group.members = int(error), text, None, []
    return answer


def test_members_have_virtual_tasks(dividing: Stage) -> None:
    physical = described(APP, *AT_BROKER, m=owned({"0": [1], "1": [9]}, {"0": [0]}), n=owned({}))
    virtual = of(described("app", *SHOWN, m=owned({"0": [1, 3], "1": [9]}, {"0": [0, 2, 4]}), n=owned({})))
    new = messages.build("StreamsGroupDescribeResponse", {"groups": []})
    for answer, tasks, numbers in (physical, {"0": [0]}, [0]), (virtual, {"0": [0, 2, 4]}, [0, 2, 4]):
        member = answer.groups[0].members[0]
        member.target_assignment = type(member.assignment)(**vars_of(owned(tasks)))
        member.task_offsets = [
            type(new).TaskOffset(subtopology_id="0", partition=number, offset=8) for number in numbers
        ]

    assert begun(dividing) >> broker_answers(physical) << to_client(virtual)


def vars_of(tasks: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of an assignment of a description."""
    made = described("app", m=tasks).groups[0].members[0].assignment
    return {kind: getattr(made, kind) for kind in tasks}


def test_a_group_without_a_topology_has_no_tasks(dividing: Stage) -> None:
    def told(group: str) -> Any:
        answer = described(group)
        answer.groups[0].topology = None
        return answer

    assert begun(dividing) >> broker_answers(told(APP)) << to_client(told("app"))


def test_topics_that_are_not_divided_alike_are_named(dividing: Stage) -> None:
    both = part("0", source_topics=[ORDERS, BILLING])
    text = (
        "The topics of subtopology 0 share their tasks, so they need the same virtual partitions, by rules with the "
        "same numbers, or none: orders has 5 virtual partitions on 2, billing has no virtual partitions."
    )
    expected = refused(described("app"), ErrorCode.STREAMS_INVALID_TOPOLOGY, text)

    assert begun(dividing) >> broker_answers(described(APP, both, m=owned({"0": [1]}))) << to_client(expected)


def test_a_subtopology_whose_topics_are_hidden_is_not_shown(dividing: Stage) -> None:
    hidden = part("0", source_topics=[physical_name("globex", "orders")])
    expected = refused(described("app"), ErrorCode.STREAMS_INVALID_TOPOLOGY, NO_TOPICS.format("0"))

    assert (
        begun(dividing) >> broker_answers(described(APP, hidden, m=owned({"0": [1]}))) << to_client(expected)
    )


@pytest.mark.parametrize("has_offset", [True, False])
def test_tasks_of_no_subtopology_are_not_shown(dividing: Stage, has_offset: bool) -> None:
    answer = described(APP, *AT_BROKER, m=owned({} if has_offset else {"7": [1]}))
    if has_offset:
        new = type(answer).TaskOffset
        answer.groups[0].members[0].task_end_offsets = [new(subtopology_id="7", partition=0, offset=8)]
    expected = refused(described("app"), ErrorCode.STREAMS_INVALID_TOPOLOGY, UNKNOWN_TASK.format("7"))

    assert begun(dividing) >> broker_answers(answer) << to_client(expected)


@pytest.mark.parametrize("has_room", [True, False])
def test_an_answer_has_a_bound(dividing: Stage, monkeypatch: pytest.MonkeyPatch, has_room: bool) -> None:
    monkeypatch.setattr(described_tasks, "MAX_SHOWN", 6 if has_room else 5)
    answer = described(APP, *AT_BROKER, m=owned({"0": [0, 1]}, {"1": [9]}))
    expected = of(described("app", *SHOWN, m=owned({"0": [0, 2, 4, 1, 3]}, {"1": [9]})))
    if not has_room:
        expected = refused(expected, ErrorCode.INVALID_REQUEST, TOO_MANY)

    assert begun(dividing) >> broker_answers(answer) << to_client(expected)
    assert hits_of(dividing)[LIMIT, "acme"] == (not has_room)
