"""Answers to Fetch in the memory of a broker's answer, held against those that are copied, at every version."""

from typing import Any

import pytest

from bifrost.routes.in_place import answer_in_place
from bifrost.routes.shapes import shapes_of
from bifrost.routes.split import Split
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.framer import Framer
from bifrost.wire.schema import request_schema
from unit.routes.split_case import NODES, NOT_LEADER, Case, index_of

VERSIONS = list(request_schema(ApiKey.FETCH).versions)
WITH_SESSIONS = [one for one in VERSIONS if one >= 7]
RECORD_BYTES = 70_000
OTHER_NUMBER = b"\0\0\0\7"


def received(frame: bytes) -> memoryview:
    """A broker's answer in memory of its own, as a connection receives it."""
    framer, stream, at = Framer(1 << 24), len(frame).to_bytes(4, "big") + frame, 0
    while True:
        room = framer.get_buffer(-1)
        size = min(len(room), len(stream) - at, 40_000)
        room[:size] = stream[at : at + size]
        at += size
        if frames := framer.buffer_updated(size):
            assert isinstance(frames[0], memoryview)
            return frames[0]


class Fetch:
    """A Fetch, and what one broker has answered to its part."""

    def __init__(self, version: int, seed: int, error_code: int = 0, *, is_small: bool = False) -> None:
        self.case = case = Case(ApiKey.FETCH, version, seed, record_bytes=10 if is_small else RECORD_BYTES)
        for nodes in case.leaders.values():
            nodes[:] = [NODES[number % len(NODES)] for number in range(len(nodes))]
        self.split = case.split()
        self.node = self.split.nodes()[0]
        part = b"".join(self.split.part(self.node))
        asked = case.listed(case.read(0, part))
        named: dict[bytes, list[int]] = {}
        for name, one in asked:
            named.setdefault(name, []).append(index_of(one))
        message = case.build(1, list(named.items())[::-1], error_code)
        if not is_small:
            _, first = case.listed(message)[0]
            first.records = case.random.randbytes(RECORD_BYTES)
        self.sent = case.frame(1, message)[4:]
        # The answer is kept from an earlier Fetch, which had another number.
        self.frame = received(OTHER_NUMBER + self.sent[4:])

    def take(self, split: Split | None = None) -> Split:
        split = split or self.split
        split.take(self.node, self.frame, len(self.case.response_head))
        return split

    def copied(self, **how: Any) -> bytes:
        """The answer that is put together of the same."""
        split = self.case.split()
        split.take(self.node, self.sent, len(self.case.response_head))
        return bytes(split.merged(self.case.response_head, **how))

    def told(self, frame: bytes) -> tuple[dict[tuple[bytes, int], Any], Any]:
        """What an answer has of each partition, and what it has besides."""
        message = self.case.read(1, frame)
        listed = self.case.listed(message)
        found = {(name, index_of(one)): one for name, one in listed}
        assert len(found) == len(listed), "a partition is there once"
        message.responses = []
        return found, message


@pytest.mark.parametrize("version", VERSIONS)
def test_an_answer_in_place_says_what_a_copied_one_does(version: int) -> None:
    for seed in range(8):
        fetch = Fetch(version, seed)
        split = fetch.take()

        answer = answer_in_place(split, fetch.case.response_head, fills=True, session_id=0)

        assert isinstance(answer, memoryview)
        found, wanted = fetch.told(bytes(answer)), fetch.told(fetch.copied(fills=True))
        assert found == wanted
        assert len(found[0]) == len(fetch.case.listed(fetch.case.request))
        assert bytes(answer)[:4] == fetch.case.response_head[:4]


@pytest.mark.parametrize("version", WITH_SESSIONS)
@pytest.mark.parametrize("fills", [True, False])
def test_an_answer_of_a_session_has_its_id_and_is_remembered(version: int, fills: bool) -> None:
    fetch = Fetch(version, 2)
    split = fetch.take()
    answer = answer_in_place(split, fetch.case.response_head, fills=fills, session_id=0x01020304)
    assert answer is not None
    found, rest = fetch.told(bytes(answer))
    wanted, _ = fetch.told(fetch.copied(fills=fills, session_id=0x01020304))
    assert (found, rest.session_id) == (wanted, 0x01020304)

    # The next answer has only what is new.
    later = fetch.case.split()
    split.release()
    later.carry(split)
    later.take(fetch.node, fetch.sent, len(fetch.case.response_head))
    again = fetch.case.read(1, bytes(later.merged(fetch.case.response_head, session_id=5, only_changed=True)))
    with_records = {key for key, one in found.items() if one.records}
    assert {(name, index_of(one)) for name, one in fetch.case.listed(again)} == with_records


@pytest.mark.parametrize("version", WITH_SESSIONS)
@pytest.mark.parametrize("has_news", [True, False])
def test_what_has_nothing_new_in_a_session_is_left_out_of_a_copy(version: int, has_news: bool) -> None:
    fetch = Fetch(version, 3)
    head, message = fetch.case.response_head, fetch.case.read(1, fetch.sent)
    (_, first), *others = fetch.case.listed(message)
    assert others
    for _, one in others:
        one.records = b"a batch" if has_news else b""
    sent = OTHER_NUMBER + fetch.case.frame(1, message)[8:]
    before, now = fetch.split, fetch.case.split()
    before.take(fetch.node, received(sent), len(head))
    assert answer_in_place(before, head, fills=False, session_id=5) is not None
    before.release()
    now.carry(before)
    now.take(fetch.node, received(sent), len(head))

    in_place = answer_in_place(now, head, fills=False, session_id=5)

    assert (in_place is not None) == has_news
    answer = in_place or now.merged(head, session_id=5, only_changed=True)
    told = [one.records for _, one in fetch.case.listed(fetch.case.read(1, bytes(answer)))]
    assert told == [first.records, *(one.records for _, one in others if has_news)]


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_answered_to_an_earlier_fetch_is_taken_over_in_place(version: int) -> None:
    fetch = Fetch(version, 3)
    earlier, later = fetch.take(), fetch.case.split()
    later.adopt(earlier, fetch.node)
    answer = answer_in_place(later, fetch.case.response_head, fills=True, session_id=0)
    assert answer is not None
    assert fetch.told(bytes(answer)) == fetch.told(fetch.copied(fills=True))


def test_the_longest_throttle_is_told() -> None:
    fetch = Fetch(12, 1)
    split = fetch.take()
    other = next(one for one in split.nodes() if one != fetch.node)
    empty = fetch.case.build(1, [])
    empty.throttle_time_ms = 77
    split.take(other, fetch.case.frame(1, empty)[4:], len(fetch.case.response_head))
    answer = answer_in_place(split, fetch.case.response_head, fills=True, session_id=0)
    assert answer is not None
    assert fetch.told(bytes(answer))[1].throttle_time_ms == 77


@pytest.mark.parametrize("version", VERSIONS)
def test_anything_else_is_copied(version: int) -> None:
    head = Fetch(version, 1).case.response_head

    def in_place(split: Split) -> object:
        return answer_in_place(split, head, fills=True, session_id=0)

    assert in_place(Fetch(version, 1).split) is None, "nothing is answered"
    assert in_place(Fetch(version, 1, NOT_LEADER).take()) is None, "it has errors"
    small = Fetch(version, 1, is_small=True)
    small.split.take(small.node, small.sent, len(head))
    assert in_place(small.split) is None, "its memory is not its own"
    several = Fetch(version, 1)
    split = several.take()
    other = next(one for one in split.nodes() if one != several.node)
    answered = several.case.answer(b"".join(split.part(other)))
    split.take(other, answered, len(head))
    assert in_place(split) is None, "two brokers have answered"
    assert several.told(bytes(split.merged(head, fills=True)))[0].keys()


def test_what_the_broker_was_not_asked_for_is_not_passed_on() -> None:
    fetch = Fetch(12, 1)
    shapes = shapes_of(ApiKey.FETCH, 12)
    asked = fetch.case.listed(fetch.case.request)
    led = [
        (name, index_of(one)) for name, one in asked if fetch.case.leaders[name][index_of(one)] == fetch.node
    ]
    fewer = fetch.case.build(0, [(name, [index]) for name, index in led[1:]])
    frame = fetch.case.frame(0, fewer)
    split = Split(shapes.request, shapes.template, [frame], 4 + len(fetch.case.head))
    split.lead(fetch.case.table(), 9, -1)
    fetch.take(split)
    assert answer_in_place(split, fetch.case.response_head, fills=True, session_id=0) is None


def test_without_room_behind_the_answer_it_is_copied() -> None:
    fetch = Fetch(12, 1)
    # Its memory is of whole pieces of 64 KiB, and such large ones are not kept for others: it is full to the last byte.
    size = 160 * 65_536
    message = fetch.case.read(1, fetch.sent)
    _, first = fetch.case.listed(message)[0]
    first.records = bytes(size - len(fetch.sent))
    first.records += bytes(size - len(fetch.case.frame(1, message)[4:]))
    full = fetch.case.frame(1, message)[4:]
    assert len(full) == size
    fetch.frame = received(full)
    assert answer_in_place(fetch.take(), fetch.case.response_head, fills=True, session_id=0) is None
