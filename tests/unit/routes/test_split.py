"""Requests taken apart by leader and answers put together, held against the codec at every version."""

import random
from itertools import pairwise
from typing import Any

import pytest

from bifrost.routes.frame_cutter import cut_frames
from bifrost.routes.leaders import LeaderTable
from bifrost.routes.route_kinds import ROUTE_KINDS, RouteKind
from bifrost.routes.shapes import shapes_of
from bifrost.routes.split import Split
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.message import message_class
from bifrost.wire.schema import request_schema

from .split_case import NOT_LEADER, Case, index_of

APIS = sorted(key for key, kind in ROUTE_KINDS.items() if kind in (RouteKind.LEADERS, RouteKind.FETCH))
VERSIONS = [(key, version) for key in APIS for version in request_schema(key).versions]


def pieces_of(frame: bytes, rng: random.Random) -> list[bytes | memoryview]:
    """The frame in several pieces, cut anywhere but in its length."""
    cuts = sorted({4, len(frame), *(rng.randrange(4, len(frame)) for _ in range(6))})
    return [frame[: cuts[0]], *(memoryview(frame)[a:b] for a, b in pairwise(cuts))]


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_each_broker_gets_its_partitions_with_their_fields(key: ApiKey, version: int) -> None:
    for seed in range(5):
        case = Case(key, version, seed)
        frame = case.frame(0, case.request)
        split = case.split(pieces_of(frame, case.random) if seed else [frame])

        parts = {node: b"".join(split.part(node)) for node in split.nodes()}

        wanted: dict[int, list[tuple[bytes, Any]]] = {}
        for name, one in case.listed(case.request):
            wanted.setdefault(case.leaders[name][index_of(one)], []).append((name, one))
        assert split.partitions == len(case.listed(case.request))
        assert list(parts) == list(wanted)
        for node, part in parts.items():
            assert int.from_bytes(part[:4], "big") == len(part) - 4
            assert part[4 : 4 + len(case.head)] == case.head
            assert case.listed(case.read(0, part)) == wanted[node]


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_answers_are_put_together_in_the_order_of_the_request(key: ApiKey, version: int) -> None:
    for seed in range(5):
        case = Case(key, version, seed)
        split = case.split()
        answers = {node: case.answer(b"".join(split.part(node))) for node in split.nodes()}
        told = {
            (name, index_of(one)): one
            for frame in answers.values()
            for name, one in case.listed(case.read(1, frame))
        }

        for node, frame in answers.items():
            split.take(node, frame, len(case.response_head))
        merged = case.read(1, bytes(split.merged(case.response_head)))

        wanted = [(name, index_of(one)) for name, one in case.listed(case.request)]
        found = case.listed(merged)
        if len(answers) == 1:
            assert sorted((name, index_of(one)) for name, one in found) == sorted(wanted)
        else:
            assert [(name, index_of(one)) for name, one in found] == wanted
        assert all(told[name, index_of(one)] == one for name, one in found)


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_a_broker_that_is_away_gives_its_partitions_the_error(key: ApiKey, version: int) -> None:
    case = Case(key, version, 3)
    split = case.split()
    away, *others = split.nodes()

    split.fail(away, NOT_LEADER)
    for node in others:
        split.take(node, case.answer(b"".join(split.part(node))), len(case.response_head))
    found = case.listed(case.read(1, bytes(split.merged(case.response_head))))

    assert others
    assert [(name, index_of(one)) for name, one in found] == [
        (name, index_of(one)) for name, one in case.listed(case.request)
    ]
    has_code = hasattr(found[0][1], "error_code")
    for name, one in found:
        is_away = case.leaders[name][index_of(one)] == away
        assert not has_code or one.error_code == (NOT_LEADER if is_away else 0)
    assert split.has_error
    assert set(split.stale()) == {name for name, one in found if case.leaders[name][index_of(one)] == away}


def test_records_leave_as_slices_of_the_frame() -> None:
    case = Case(ApiKey.PRODUCE, 9, 1, record_bytes=70_000)
    case.record_bytes = 70_000
    case.request = case.build(0, case.named())
    for _, one in case.listed(case.request):
        one.records = bytes(70_000)
    frame = case.frame(0, case.request)
    split = case.split([frame])

    parts = [split.part(node) for node in split.nodes()]

    assert len(parts) > 1
    copied = sum(len(one) for part in parts for one in part if isinstance(one, bytes))
    sliced = [one for part in parts for one in part if isinstance(one, memoryview)]
    assert all(one.obj is frame for one in sliced)
    assert copied < 2000 < sum(map(len, sliced))


def test_a_request_for_one_broker_goes_as_it_is() -> None:
    case = Case(ApiKey.PRODUCE, 9, 1)
    case.leaders = {name: [2] * len(nodes) for name, nodes in case.leaders.items()}
    segments = pieces_of(case.frame(0, case.request), case.random)
    split = case.split(segments)

    assert split.nodes() == [2]
    assert split.part(2) is segments


def test_an_answer_of_one_broker_comes_back_as_it_is() -> None:
    case = Case(ApiKey.FETCH, 12, 1)
    case.leaders = {name: [2] * len(nodes) for name, nodes in case.leaders.items()}
    split = case.split()
    answer = case.answer(b"".join(split.part(2)))

    split.take(2, answer, len(case.response_head))

    assert split.merged(case.response_head) is answer


def test_unknown_topics_are_named_and_those_without_a_leader_go_elsewhere() -> None:
    case = Case(ApiKey.LIST_OFFSETS, 5, 1)
    split = case.made()
    table = LeaderTable(100)
    first, *others = case.leaders

    table.put(first, [7] * 6, 5)
    assert split.lead(table, 9, 5) == others
    assert split.lead(table, 9, 5, 1) == others[:1], "no more than are wanted"
    for name in others[:-1]:
        table.put(name, [], 5)
    table.put(others[-1], [-1] * 6, 5)

    assert split.lead(table, 9, 1_005) == []
    assert split.nodes() == [7, 9]
    assert split.lead(table, 9, 1_006) == others, "they were asked for too long ago"
    assert split.lead(table, 9, 60_006) == [first, *others], "also those that have a leader"


@pytest.mark.parametrize(("age_ms", "code"), [(5_000, 1), (5_001, NOT_LEADER)])
def test_a_follower_does_not_say_where_a_log_ends(age_ms: int, code: int) -> None:
    case = Case(ApiKey.FETCH, 12, 1)
    case.leaders = {name: [2] * len(nodes) for name, nodes in case.leaders.items()}
    split = case.split()
    split.lead(case.table(), 9, age_ms)

    split.take(2, case.answer(b"".join(split.part(2)), 1), len(case.response_head))

    found = case.listed(case.read(1, bytes(split.merged(case.response_head))))
    assert {one.error_code for _, one in found} == {code}
    assert bool(split.stale()) is (code == NOT_LEADER)


def test_hints_of_leaders_are_left_out() -> None:
    case = Case(ApiKey.FETCH, 16, 2)
    split = case.split()
    for node in split.nodes():
        answer = case.read(1, case.answer(b"".join(split.part(node)), NOT_LEADER))
        for _, one in case.listed(answer):
            one.current_leader.leader_id, one.current_leader.leader_epoch = 2, 8
            one.diverging_epoch.epoch, one.diverging_epoch.end_offset = 3, 4
        endpoint = message_class("FetchResponse").NodeEndpoint(node_id=2, host="b", port=1)  # type: ignore[attr-defined]
        answer.node_endpoints = [endpoint]
        split.take(node, case.frame(1, answer)[4:], len(case.response_head))

    merged = case.read(1, bytes(split.merged(case.response_head)))

    assert merged.node_endpoints == []
    for _, one in case.listed(merged):
        assert (one.current_leader.leader_id, one.current_leader.leader_epoch) == (-1, -1)
        assert (one.diverging_epoch.epoch, one.diverging_epoch.end_offset) == (3, 4)


@pytest.mark.parametrize("key", [ApiKey.PRODUCE, ApiKey.FETCH])
def test_the_longest_throttle_time_is_told(key: ApiKey) -> None:
    case = Case(key, 8, 2)
    split = case.split()
    for number, node in enumerate(split.nodes()):
        answer = case.read(1, case.answer(b"".join(split.part(node))))
        answer.throttle_time_ms = 100 - number
        split.take(node, case.frame(1, answer)[4:], len(case.response_head))

    assert len(split.nodes()) > 1
    assert case.read(1, bytes(split.merged(case.response_head))).throttle_time_ms == 100


def test_fields_before_the_topics_are_changed_in_a_part() -> None:
    case = Case(ApiKey.FETCH, 11, 4)
    case.request.session_id, case.request.session_epoch, case.request.rack_id = 5, 6, "r"
    offsets = shapes_of(ApiKey.FETCH, 11).offsets
    split = case.split()
    node = split.nodes()[0]

    changes = [(offsets["session_id"], bytes(4)), (offsets["session_epoch"], b"\xff\xff\xff\xff")]
    part = case.read(0, b"".join(split.part(node, changes, after=bytes(4) + bytes(2))))

    assert (part.session_id, part.session_epoch, part.rack_id) == (0, -1, "")
    assert (part.max_wait_ms, part.isolation_level) == (
        case.request.max_wait_ms,
        case.request.isolation_level,
    )
    with pytest.raises(ValueError, match="outside"):
        split.part(node, [(1000, b"\0")])


def test_what_is_not_answered_is_filled_with_the_watermarks_known_last() -> None:
    case = Case(ApiKey.FETCH, 11, 4)
    first, later = case.split(), case.split()
    for node in first.nodes():
        answer = case.read(1, case.answer(b"".join(first.part(node))))
        for _, one in case.listed(answer):
            one.high_watermark, one.last_stable_offset, one.log_start_offset = 70 + index_of(one), 60, 50
        first.take(node, case.frame(1, answer)[4:], len(case.response_head))

    later.carry(first)
    found = case.listed(case.read(1, bytes(later.merged(case.response_head, fills=True))))

    assert len(found) == later.partitions
    for _, one in found:
        assert (one.error_code, one.records, one.preferred_read_replica) == (0, b"", -1)
        assert (one.high_watermark, one.last_stable_offset, one.log_start_offset) == (
            70 + index_of(one),
            60,
            50,
        )


def test_answers_to_an_earlier_request_serve_those_who_ask_in_the_same_words() -> None:
    case = Case(ApiKey.FETCH, 11, 4, record_bytes=500)
    earlier = case.split()
    for _, one in case.listed(case.request)[:2]:
        one.fetch_offset = 99
    later = case.split()
    changed = [(name, index_of(one)) for name, one in case.listed(case.request)[:2]]
    data = 0
    for node in earlier.nodes():
        answer = case.answer(b"".join(earlier.part(node)))
        earlier.take(node, answer, len(case.response_head))
        for name, one in case.listed(case.read(1, answer)):
            data += 0 if (name, index_of(one)) in changed else len(one.records)
    for node in later.nodes():
        is_changed = any(case.leaders[name][index] == node for name, index in changed)
        assert earlier.covers(later, node) is not is_changed
        later.adopt(earlier, node)

    found = case.listed(case.read(1, bytes(later.merged(case.response_head))))

    assert later.data_bytes == data > 0
    assert [(name, index_of(one)) for name, one in found] == [
        (name, index_of(one)) for name, one in case.listed(case.request)[2:]
    ]


@pytest.mark.parametrize(("key", "version"), VERSIONS)
def test_a_frame_that_is_cut_or_spoilt_is_refused_or_read_and_no_more(key: ApiKey, version: int) -> None:
    case = Case(key, version, 6, topics=2, record_bytes=40)
    shapes, frame = shapes_of(key, version), case.frame(0, case.request)
    start = 4 + len(case.head)
    split = case.split()
    node = split.nodes()[0]
    answer = case.answer(b"".join(split.part(node)))
    for at in range(start, len(frame)):
        with pytest.raises(MalformedFrame):
            Split(shapes.request, shapes.template, [frame[:at]], start)
    for at in range(len(case.response_head), len(answer)):
        with pytest.raises(MalformedFrame):
            case.split().take(node, answer[:at], len(case.response_head))
    for _ in range(300):
        spoilt = bytearray(frame)
        spoilt[case.random.randrange(start, len(frame))] = case.random.randrange(256)
        told = bytearray(answer)
        told[case.random.randrange(len(case.response_head), len(answer))] = case.random.randrange(256)
        try:
            one = Split(shapes.request, shapes.template, pieces_of(bytes(spoilt), case.random), start)
            one.lead(case.table(), 9, -1)
            for number in one.nodes():
                one.part(number)
            other = case.split()
            other.take(node, bytes(told), len(case.response_head))
            other.merged(case.response_head, fills=True)
        except MalformedFrame:
            pass


def test_duplicates_of_a_topic_are_answered_each() -> None:
    case = Case(ApiKey.LIST_OFFSETS, 5, 1, topics=1)
    (name,) = case.leaders
    case.leaders[name] = [1, 2, 1]
    case.request = case.build(0, [(name, [0]), (name, [1, 2])])
    split = case.split()

    for node in split.nodes():
        split.take(node, case.answer(b"".join(split.part(node))), len(case.response_head))

    found = case.listed(case.read(1, bytes(split.merged(case.response_head))))
    assert [index_of(one) for _, one in found] == [0, 1, 2]


def test_frames_that_came_together_are_cut() -> None:
    frames = [(size).to_bytes(4, "big") + bytes(size) for size in (1, 5000, 30)]
    whole = b"".join(frames)

    found = cut_frames([whole[:10], memoryview(whole)[10:3000], whole[3000:]])

    assert [b"".join(one) for one in found] == frames
    assert cut_frames([frames[0]])[0][0] is frames[0]
    with pytest.raises(ValueError, match="not whole"):
        cut_frames([whole[:-1]])
