"""Requests of several leaders, as they are read, sent in parts and answered, held against what splits make of them."""

from typing import Any

import pytest

from bifrost.routes.split_request import (
    ANSWER_TIMEOUT_S,
    EARLY_S,
    LATE_S,
    LEAST_S,
    MAX_TIMEOUT_S,
    SentPart,
    SplitRequest,
)
from bifrost.routes.straight import StraightRequest
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.errors import MalformedFrame
from unit.routes.split_case import NODES, NOT_LEADER, Case, index_of
from unit.routes.test_straight import STRAIGHT, pieces_of, routes_of

TIMED_OUT = 7


def of_all_leaders(key: ApiKey, version: int, seed: int = 1) -> Case:
    case = Case(key, version, seed)
    for name, nodes in case.leaders.items():
        nodes[:] = [NODES[number % len(NODES)] for number in range(len(nodes))]
        case.leaders[name] = (nodes * 3)[:6]
    case.request = case.build(0, case.named())
    if key == ApiKey.PRODUCE:
        case.request.acks = -1
    return case


def read(case: Case, now_ms: int = 0) -> SplitRequest | None:
    found = routes_of(case).read(pieces_of(case), now_ms)
    assert found is None or isinstance(found, SplitRequest)
    return found


def read_whole(case: Case) -> SplitRequest:
    found = read(case)
    assert found is not None
    return found


def answers_of(case: Case, parts: dict[int, Any]) -> dict[int, bytes]:
    return {node: case.answer(b"".join(part)) for node, part in parts.items()}


@pytest.mark.parametrize(("key", "version"), STRAIGHT)
def test_a_request_of_several_leaders_is_sent_and_answered_as_a_split_says(key: ApiKey, version: int) -> None:
    case = of_all_leaders(key, version)
    whole, split = read_whole(case), case.split()
    parts = dict(whole.parts(9))
    assert {node: b"".join(part) for node, part in parts.items()} == {
        node: b"".join(split.part(node)) for node in split.nodes()
    }

    done = []
    for node, frame in answers_of(case, parts).items():
        split.take(node, frame, len(case.response_head))
        done.append(whole.take(node, frame, may_be_done=True))

    assert done == [*[False] * (len(parts) - 1), True]
    assert bytes(whole.merged()) == bytes(split.merged(case.response_head))
    assert whole.answer is None
    assert whole.is_by_id == case.by_id


@pytest.mark.parametrize(("key", "version"), STRAIGHT)
@pytest.mark.parametrize("may_be_done", [False, True])
def test_a_lost_part_has_an_error_that_tells_whether_records_may_be_stored(
    key: ApiKey, version: int, may_be_done: bool
) -> None:
    case = of_all_leaders(key, version)
    whole = read_whole(case)
    parts = dict(whole.parts(9))
    lost, *others = parts
    answers = answers_of(case, parts)

    assert not whole.take(lost, None, may_be_done=may_be_done)
    assert [whole.take(one, answers[one], may_be_done=True) for one in others][-1]

    code = TIMED_OUT if may_be_done and key == ApiKey.PRODUCE else NOT_LEADER
    merged = case.listed(case.read(1, bytes(whole.merged())))
    assert len(merged) == len(case.listed(case.request))
    for name, one in merged:
        assert one.error_code == (code if case.leaders[name][index_of(one)] == lost else 0)


@pytest.mark.parametrize(("key", "version"), STRAIGHT)
def test_an_unknown_or_old_leader_is_left_to_be_looked_up(key: ApiKey, version: int) -> None:
    case = of_all_leaders(key, version)
    assert read(case, now_ms=60_000) is not None
    assert read(case, now_ms=60_001) is None
    name = case.listed(case.request)[-1][0]
    for unknown in ([-1] * 6, [], None):
        if unknown is None:
            del case.leaders[name]
        else:
            case.leaders[name] = unknown
        assert read(case) is None


def test_a_malformed_request_is_left_to_be_refused() -> None:
    case = of_all_leaders(ApiKey.LIST_OFFSETS, 7)
    frame, routes = case.frame(0, case.request), routes_of(case)
    for at in range(len(frame)):
        assert routes.read([frame[:at]], 0) is None
    assert routes.read([frame + b"\0"], 0) is None


def test_an_answer_that_does_not_parse_is_an_error() -> None:
    case = of_all_leaders(ApiKey.PRODUCE, 9)
    whole = read_whole(case)
    parts = dict(whole.parts(9))
    with pytest.raises(MalformedFrame):
        whole.take(1, answers_of(case, parts)[1][:-1], may_be_done=True)


@pytest.mark.parametrize(("count", "is_read"), [(64, True), (65, False)])
def test_a_request_of_many_partitions_is_left_to_take_its_turn(count: int, is_read: bool) -> None:
    case = of_all_leaders(ApiKey.LIST_OFFSETS, 7)
    name = next(iter(case.leaders))
    case.leaders[name] = [NODES[number % len(NODES)] for number in range(count)]
    case.request = case.build(0, [(name, list(range(count)))])
    assert (read(case) is not None) == is_read

    case.leaders[name] = [NODES[0]] * count
    assert routes_of(case).read(pieces_of(case), 0) is not None, "of one leader it goes as it is"


@pytest.mark.parametrize("version", [one for key, one in STRAIGHT if key == ApiKey.PRODUCE])
@pytest.mark.parametrize(
    ("acks", "timeout_ms", "timeout_s"),
    [
        (0, 1, LATE_S + 0.001),
        (1, 30_000, 30 - EARLY_S),
        (1, 3_000, 2.7),
        (1, 500, LEAST_S),
        (-1, 0x7FFFFFFF, MAX_TIMEOUT_S - EARLY_S),
        (-1, -5, LEAST_S),
    ],
)
def test_a_produce_tells_whether_and_until_when_it_is_answered(
    version: int, acks: int, timeout_ms: int, timeout_s: float
) -> None:
    case = of_all_leaders(ApiKey.PRODUCE, version)
    case.request.acks, case.request.timeout_ms = acks, timeout_ms
    whole = read_whole(case)
    assert (whole.is_answered, whole.timeout_s) == (acks != 0, pytest.approx(timeout_s))
    assert whole.has_timeout


def test_another_request_is_answered_within_the_time_of_clients() -> None:
    whole = read_whole(of_all_leaders(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4))
    assert (whole.is_answered, whole.timeout_s, whole.has_timeout) == (True, ANSWER_TIMEOUT_S, False)


@pytest.mark.parametrize(
    ("key", "version"), [(ApiKey.DELETE_RECORDS, 0), (ApiKey.DELETE_RECORDS, 2), (ApiKey.LIST_OFFSETS, 10)]
)
def test_a_timeout_behind_the_topics_counts_as_well(key: ApiKey, version: int) -> None:
    case = of_all_leaders(key, version)
    case.request.timeout_ms = 3_000
    whole = read_whole(case)
    assert (whole.timeout_s, whole.has_timeout) == (pytest.approx(2.7), True)

    name, nodes = next(iter(case.leaders.items()))
    case.leaders[name] = [nodes[0]] * len(nodes)
    case.request = case.build(0, [(name, [0, 1])])
    case.request.timeout_ms = 4_000
    straight = routes_of(case).read(pieces_of(case), 0)
    assert isinstance(straight, StraightRequest)
    assert straight.timeout_ms == 4_000


def test_a_request_without_partitions_goes_to_the_broker_that_is_named() -> None:
    case = Case(ApiKey.LIST_OFFSETS, 7, 1, topics=0)
    whole = SplitRequest(case.split(), case.response_head, is_produce=False, is_by_id=False)
    assert [(node, b"".join(part)) for node, part in whole.parts(9)] == [(9, case.frame(0, case.request))]
    part = SentPart(whole, 9)
    assert (part.whole, part.node) == (whole, 9)
    assert whole.take(9, case.frame(1, case.build(1, []))[4:], may_be_done=True)
