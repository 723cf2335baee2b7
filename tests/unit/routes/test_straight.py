"""Straight requests, held against what splits make of the same frames, at every version."""

from itertools import pairwise

import pytest

from bifrost.routes.leaders import LeaderTable
from bifrost.routes.split_request import SplitRequest
from bifrost.routes.straight import StraightRequest, StraightRoutes
from bifrost.routes.straight_ways import straight_way
from bifrost.wire.api_keys import ApiKey
from unit.routes.split_case import NOT_LEADER, Case, index_of
from unit.routes.test_split import VERSIONS

NODE = 2
STRAIGHT = [one for one in VERSIONS if one[0] != ApiKey.FETCH]


def routes_of(case: Case) -> StraightRoutes:
    by_name, by_id = (LeaderTable(10_000) for _ in range(2))
    table = by_id if case.by_id else by_name
    for name, nodes in case.leaders.items():
        table.put(name, nodes, 0)
    return StraightRoutes(by_name, by_id, straight_way)


def of_one_leader(key: ApiKey, version: int, seed: int = 1) -> Case:
    case = Case(key, version, seed)
    for nodes in case.leaders.values():
        nodes[:] = [NODE] * len(nodes)
    return case


def read(case: Case, now_ms: int = 0) -> StraightRequest | None:
    found = routes_of(case).read(pieces_of(case), now_ms)
    return None if isinstance(found, SplitRequest) else found


def pieces_of(case: Case) -> list[bytes | memoryview]:
    """The request in several pieces, its header in one."""
    frame, start = case.frame(0, case.request), 4 + len(case.head)
    cuts = sorted({start, len(frame), *(case.random.randrange(start, len(frame)) for _ in range(6))})
    return [frame[:start], *(memoryview(frame)[a:b] for a, b in pairwise(cuts))]


def in_order(case: Case, error_code: int = 0) -> bytes:
    named: dict[bytes, list[int]] = {}
    for name, one in case.listed(case.request):
        index = one if isinstance(one, int) else getattr(one, "partition_index", getattr(one, "index", None))
        named.setdefault(name, []).append(one.partition if index is None else index)
    return case.frame(1, case.build(1, list(named.items()), error_code))[4:]


@pytest.mark.parametrize(("key", "version"), STRAIGHT)
def test_a_request_of_one_leader_and_its_answer_pass_as_they_are(key: ApiKey, version: int) -> None:
    case = of_one_leader(key, version)
    straight, answer, split = read(case), in_order(case), case.split()
    assert straight is not None
    assert [straight.node] == split.nodes()
    assert (straight.is_sure, straight.is_answered) == (True, key != ApiKey.PRODUCE or case.request.acks != 0)
    assert b"".join(straight.segments) == case.frame(0, case.request)

    split.take(NODE, answer, len(case.response_head))

    assert straight.take(answer)
    assert straight.answer is answer
    assert split.merged(case.response_head) is answer


@pytest.mark.parametrize("version", [one for key, one in STRAIGHT if key == ApiKey.PRODUCE])
@pytest.mark.parametrize("code", [0, NOT_LEADER])
def test_records_that_are_sent_are_not_missed_when_the_answer_comes(version: int, code: int) -> None:
    case = of_one_leader(ApiKey.PRODUCE, version)
    for _, one in case.listed(case.request):
        one.records = case.random.randbytes(20_000)
    straight, answer = read(case), in_order(case, code)
    assert straight is not None

    straight.let_go()

    left = b"".join(straight.segments)
    assert int.from_bytes(left[:4], "big") == len(left) - 4 < 20_000
    assert [(name, index_of(one)) for name, one in case.listed(case.read(0, left))] == [
        (name, index_of(one)) for name, one in case.listed(case.request)
    ]
    assert all(not one.records for _, one in case.listed(case.read(0, left)))
    assert straight.take(answer) == (code == 0)
    split, whole = case.split(straight.segments or [left]), case.split()
    for one in (split, whole):
        one.take(NODE, answer, len(case.response_head))
    assert bytes(split.merged(case.response_head)) == bytes(whole.merged(case.response_head))


def test_few_records_and_lengths_that_are_written_in_another_way_stay() -> None:
    case = of_one_leader(ApiKey.PRODUCE, 9)
    name = next(iter(case.leaders))
    for size, is_kept in ((4000, True), (20_000, False)):
        case.request.topic_data = case.build(0, [(name, [0])]).topic_data
        case.listed(case.request)[0][1].records = b"r" * size
        frame = case.frame(0, case.request)
        usual = (size + 1 & 0x7F | 0x80).to_bytes() + (
            size + 1 >> 7 & 0x7F | (size >= 1 << 14) << 7
        ).to_bytes()
        usual += b"\1" if size >= 1 << 14 else b""
        assert frame.count(usual + b"rrr") == 1
        longer = frame.replace(usual + b"rrr", usual[:-1] + (usual[-1] | 0x80).to_bytes() + b"\0rrr")
        for one, stays in ((frame, is_kept), (longer, True)):
            straight = routes_of(case).read([one], 0)
            assert isinstance(straight, StraightRequest)
            straight.let_go()
            assert (straight.segments == [one]) == stays


@pytest.mark.parametrize(("key", "version"), STRAIGHT)
def test_an_answer_with_an_error_or_in_another_order_is_left_to_the_split(key: ApiKey, version: int) -> None:
    case = of_one_leader(key, version)
    straight, whole = read(case), in_order(case)
    assert straight is not None

    assert not straight.take(case.answer(case.frame(0, case.request)))
    assert not straight.take(in_order(case, NOT_LEADER))
    for at in range(len(whole)):
        assert not straight.take(whole[:at])
    assert not straight.take(whole + b"\0")
    assert straight.answer is None
    assert straight.take(whole)


@pytest.mark.parametrize(("key", "version"), STRAIGHT)
def test_a_request_of_several_leaders_or_of_an_unknown_one_is_left_to_the_split(
    key: ApiKey, version: int
) -> None:
    case = of_one_leader(key, version)
    assert read(case, now_ms=60_000) is not None
    assert read(case, now_ms=60_001) is None

    last = list(case.leaders)[-1]
    case.leaders[last] = [-1] * len(case.leaders[last])
    assert read(case) is None
    case.leaders[last] = [NODE + 1] * len(case.leaders[last])
    assert read(case) is None
    case.leaders[last] = []
    assert read(case) is None
    del case.leaders[last]
    assert read(case) is None


@pytest.mark.parametrize("version", [one for key, one in STRAIGHT if key == ApiKey.PRODUCE])
@pytest.mark.parametrize(("acks", "timeout_ms"), [(0, 1), (1, 30_000), (-1, 0x7FFFFFFF), (-1, -5)])
def test_a_produce_tells_its_acks_and_timeout(version: int, acks: int, timeout_ms: int) -> None:
    case = of_one_leader(ApiKey.PRODUCE, version)
    case.request.acks, case.request.timeout_ms = acks, timeout_ms

    straight = read(case)

    assert straight is not None
    assert (straight.is_answered, straight.timeout_ms) == (acks != 0, max(0, timeout_ms))


def test_a_leader_that_was_learnt_long_ago_is_not_sure() -> None:
    case = of_one_leader(ApiKey.DELETE_RECORDS, 2)
    straight = read(case, now_ms=5001)
    assert straight is not None
    assert not straight.is_sure
    assert straight.timeout_ms == 0, "the default of the request's own"


def test_other_requests_and_those_in_many_pieces_are_left_to_the_split() -> None:
    for key in (ApiKey.FETCH, ApiKey.METADATA):
        assert straight_way(key, 12) is None
    assert read(of_one_leader(ApiKey.FETCH, 12)) is None
    case = of_one_leader(ApiKey.LIST_OFFSETS, 7)
    frame = case.frame(0, case.request)
    routes = routes_of(case)
    assert routes.read([frame], 0) is not None
    assert routes.read([frame[:10], frame[10:]], 0) is None
    pieces = [frame[:-80], *(frame[at : at + 1] for at in range(len(frame) - 80, len(frame)))]
    assert len(frame) > 110
    assert routes.read(pieces, 0) is None
    for at in range(len(frame)):
        assert routes.read([frame[:at]], 0) is None


@pytest.mark.parametrize(("key", "version"), STRAIGHT)
def test_what_a_split_says_of_an_answer_is_the_same_for_a_placed_one(key: ApiKey, version: int) -> None:
    case = of_one_leader(key, version)
    placed, led = case.split(), case.split()
    placed.place(NODE, True)
    for split in (placed, led):
        split.take(NODE, case.answer(case.frame(0, case.request), NOT_LEADER), len(case.response_head))

    assert placed.nodes() == led.nodes()
    assert placed.stale() == led.stale()
    assert bytes(placed.merged(case.response_head)) == bytes(led.merged(case.response_head))
