"""Answers that are put together of several have the room of those that they are made of, until their memory is free."""

import pytest

from bifrost.forwarding.room import Room
from bifrost.routes.split import Split
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.framer import Framer
from unit.routes.split_case import NODES, Case, index_of

VERSION = 12
MIB = 1 << 20


class Fetch:
    """A Fetch of a partition of each of some brokers, and what these answer."""

    def __init__(self, record_bytes: int = 400_000, brokers: int = 3) -> None:
        self.case = case = Case(ApiKey.FETCH, VERSION, 1)
        nodes = NODES[:brokers]
        case.leaders = {next(iter(case.leaders)): list(nodes)}
        case.request = case.build(0, [(name, list(range(len(nodes)))) for name in case.leaders])
        self.split = case.split()
        self.records = case.random.randbytes(record_bytes)
        self.answers = {node: self._answer(node) for node in nodes}

    def _answer(self, node: int) -> bytes:
        asked = self.case.listed(self.case.read(0, b"".join(self.split.part(node))))
        message = self.case.build(1, [(name, [index_of(one)]) for name, one in asked])
        for _, one in self.case.listed(message):
            one.records = self.records
        return self.case.frame(1, message)[4:]

    def take(self, room: Room, split: Split | None = None) -> None:
        for node in self.answers:
            self.take_of(node, room, split)

    def take_of(self, node: int, room: Room, split: Split | None = None) -> None:
        frame = received(self.answers[node], room)
        (split or self.split).take(node, frame, len(self.case.response_head))

    def merged(self, room: Room | None, split: Split | None = None) -> memoryview:
        split = split or self.split
        found = split.merged(self.case.response_head, fills=True, room=room)
        split.release()
        assert isinstance(found, memoryview)
        return found


def received(frame: bytes, room: Room) -> bytes | memoryview:
    """A broker's answer, as a connection receives it that counts in a room."""
    framer, stream, at = Framer(1 << 26), len(frame).to_bytes(4, "big") + frame, 0
    framer.enter(room, is_answer=True)
    while True:
        place = framer.get_buffer(-1)
        size = min(len(place), len(stream) - at)
        place[:size] = stream[at : at + size]
        at += size
        frames = framer.buffer_updated(size)
        assert framer.see()
        if frames:
            return frames[0]


@pytest.mark.parametrize("is_named", [True, False])
def test_an_answer_of_several_is_counted_until_it_is_free(is_named: bool) -> None:
    whole = Room(None)
    room, fetch = Room(whole), Fetch()
    fetch.take(room)
    assert room.answers == sum(map(len, fetch.answers.values()))

    answer = fetch.merged(room if is_named else None)

    assert fetch.case.read(1, bytes(answer)).responses
    assert len(answer) <= room.answers <= len(answer) + 1_000
    assert room.answers == room.used == room.blocks == whole.used == whole.answers
    part = answer[100:200]
    del answer
    assert room.answers > MIB, "a part of it is not written yet"
    del part
    assert (room.used, room.answers, whole.used, whole.answers) == (0, 0, 0, 0)


def test_one_of_many_small_answers_is_counted_as_well() -> None:
    room, fetch = Room(), Fetch(record_bytes=20_000)
    fetch.take(room)
    before = room.answers

    answer = fetch.merged(room)

    assert before == 0
    assert room.answers >= len(answer) > 60_000
    del answer
    assert room.used == 0


def test_a_full_room_counts_what_is_held() -> None:
    room, fetch = Room(), Fetch()
    fetch.take(room)
    room.most = 1000

    answer = fetch.merged(room)

    assert room.used >= len(answer)
    assert room.is_full
    del answer
    assert room.used == 0


def test_answers_that_a_later_request_takes_over_are_counted_once() -> None:
    room, fetch = Room(), Fetch(brokers=3)
    first, second, third = fetch.answers
    earlier, later = fetch.split, fetch.case.split()
    fetch.take(room, earlier)
    for node in (first, second):
        later.adopt(earlier, node)

    answer = fetch.merged(room, later)

    kept = len(fetch.answers[third])
    assert len(answer) + kept <= room.answers <= len(answer) + kept + 1_000
    del answer
    assert room.answers == kept, "the third one's answer waits for the next request"
    latest = fetch.case.split()
    latest.adopt(earlier, third)
    assert latest.data_bytes == len(fetch.records)
    assert len(fetch.merged(room, latest)) > kept - 1_000
    assert room.used == 0


def test_a_request_has_no_answers_any_more_that_a_later_one_has_taken_over() -> None:
    room, fetch = Room(), Fetch(record_bytes=100)
    earlier, later = fetch.split, fetch.case.split()
    fetch.take(room, earlier)
    node = next(iter(fetch.answers))
    later.adopt(earlier, node)
    again = fetch.case.split()
    again.adopt(earlier, node)

    assert later.data_bytes == 100
    assert again.data_bytes == 0
