"""Whole Fetch requests of sessions, held against Kafka's own rules for the partitions of a session and their order."""

import random
from typing import Any

import pytest

from bifrost.routes.leaders import LeaderTable
from bifrost.routes.session_frame import whole_fetch
from bifrost.routes.shapes import shapes_of
from bifrost.routes.split import Split
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.headers import REQUEST_PREFIX
from bifrost.wire.messages import FetchRequest, FetchResponse
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import request_schema, response_schema

VERSIONS = [one for one in request_schema(ApiKey.FETCH).versions if one >= 7]
NODE = 1
Key = tuple[bytes, int]


def after(version: int) -> bytes:
    if version >= 12:
        return b"\x01\x01\x00"
    return bytes(6) if version >= 11 else bytes(4)


class Session:
    """A session by Kafka's rules (FetchSession), beside the frames that the code writes for it."""

    def __init__(self, version: int, seed: int = 0) -> None:
        self.version, self.random = version, random.Random(seed)
        self.shapes = shapes_of(ApiKey.FETCH, version)
        self.head = REQUEST_PREFIX.pack(ApiKey.FETCH, version, 5, 2) + b"me"
        if request_schema(ApiKey.FETCH).request_header_version(version) >= 2:
            self.head += b"\0"
        self.offsets: dict[Key, int] = {}
        self.kept: Split | None = None
        self.names = [bytes([65 + n]) * 16 for n in range(4)]

    def request(self, asked: list[tuple[Key, int]], forgotten: list[Key] = ()) -> Split:  # type: ignore[assignment]
        message: Any = FetchRequest(max_wait_ms=self.random.randrange(1000), min_bytes=1, rack_id="rack")
        message.topics = [
            self.topic(
                FetchRequest.FetchTopic(), name, [FetchRequest.FetchPartition(partition=n, fetch_offset=at)]
            )
            for (name, n), at in asked
        ]
        message.forgotten_topics_data = [
            self.topic(FetchRequest.ForgottenTopic(), name, [n]) for name, n in forgotten
        ]
        frame = encode(compile_layout("FetchRequest", self.version), message, self.head)
        return Split(self.shapes.request, self.shapes.template, [frame], 4 + len(self.head))

    def topic(self, made: Any, name: bytes, partitions: list[Any]) -> Any:
        if self.version >= 13:
            made.topic_id = name
        else:
            made.topic = name.decode()
        made.partitions = partitions
        return made

    def step(self, asked: list[tuple[Key, int]], forgotten: list[Key]) -> list[tuple[Key, int]]:
        """Send a request of the session; return what the whole Fetch asks for."""
        split = self.request(asked, forgotten)
        assert self.shapes.forgotten is not None
        assert self.kept is not None
        left = split.behind(self.shapes.forgotten)
        assert left.partitions == len(forgotten)
        whole = whole_fetch(split, self.kept, left if forgotten else None, after(self.version))
        for key, at in asked:
            self.offsets[key] = at
        for key in forgotten:
            self.offsets.pop(key, None)
        self.kept = Split(self.shapes.request, self.shapes.template, [whole], 4 + len(self.head))
        message: Any = decode(compile_layout("FetchRequest", self.version), whole, 4 + len(self.head))
        assert int.from_bytes(whole[:4], "big") == len(whole) - 4
        assert message.forgotten_topics_data == []
        assert message.rack_id == ""
        return self.listed(message.topics)

    def listed(self, topics: Any) -> list[tuple[Key, int]]:
        return [
            (
                (topic.topic_id if self.version >= 13 else topic.topic.encode(), one.partition),
                one.fetch_offset,
            )
            for topic in topics
            for one in topic.partitions
        ]

    def answer(self, with_records: list[Key]) -> None:
        """Answer what is kept; partitions with records go behind the others (FetchSession)."""
        assert self.kept is not None
        table = LeaderTable(1000)
        for name in self.names:
            table.put(name, [NODE] * 10, 0)
        assert self.kept.lead(table, NODE, 0) == []
        message: Any = FetchResponse()
        message.responses = []
        for name, n in self.offsets:
            records = b"records" if (name, n) in with_records else b""
            partition = FetchResponse.PartitionData(partition_index=n, high_watermark=1, records=records)
            message.responses.append(self.topic(FetchResponse.FetchableTopicResponse(), name, [partition]))
        head = bytes(4)
        if response_schema(ApiKey.FETCH).response_header_version(self.version) >= 1:
            head += b"\0"
        frame = bytes(encode(compile_layout("FetchResponse", self.version), message, head))[4:]
        self.kept.take(NODE, frame, len(head))
        self.kept.merged(head, fills=True, session_id=9, only_changed=True)
        self.kept.release()
        for key in [one for one in self.offsets if one in with_records]:
            self.offsets[key] = self.offsets.pop(key)

    def begin(self, count: int) -> None:
        keys = [(name, n) for name in self.names for n in range(10)][:count]
        self.offsets = dict.fromkeys(keys, 0)
        self.kept = self.request(list(self.offsets.items()))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_whole_fetch_names_what_the_session_has(version: int) -> None:
    session = Session(version)
    session.begin(3)
    first, second, third = session.offsets

    assert session.step([], []) == [(first, 0), (second, 0), (third, 0)]
    assert session.step([(second, 7)], []) == [(first, 0), (second, 7), (third, 0)]
    assert session.step([], [first]) == [(second, 7), (third, 0)]
    new = (session.names[1], 3)
    assert session.step([(new, 5)], []) == [(second, 7), (third, 0), (new, 5)]


@pytest.mark.parametrize("version", [7, 11, 12, VERSIONS[-1]])
def test_partitions_with_records_go_behind_the_others(version: int) -> None:
    session = Session(version)
    session.begin(3)
    first, second, third = session.offsets
    session.answer([first])

    assert session.step([(first, 1)], []) == [(second, 0), (third, 0), (first, 1)]


def test_a_partition_that_is_added_and_forgotten_is_forgotten() -> None:
    # FetchSession.update removes after it has added.
    session = Session(VERSIONS[-1])
    session.begin(2)
    first, second = session.offsets

    assert session.step([(first, 4), ((session.names[2], 1), 0)], [first, (session.names[2], 1)]) == [
        (second, 0)
    ]


def test_a_partition_that_is_named_twice_is_asked_for_once() -> None:
    session = Session(VERSIONS[-1])
    session.begin(1)
    (first,) = session.offsets
    new = (session.names[3], 2)

    found = session.step([(new, 0), (new, 0)], [])

    assert found == [(first, 0), (new, 0)]


def test_a_session_that_forgets_all_is_empty() -> None:
    session = Session(12)
    session.begin(2)

    assert session.step([], list(session.offsets)) == []


@pytest.mark.parametrize("version", [7, 12, 13, VERSIONS[-1]])
@pytest.mark.parametrize("seed", range(20))
def test_random_sessions_are_as_kafkas(version: int, seed: int) -> None:
    session = Session(version, seed)
    session.begin(12)
    chance = session.random
    everything = [(name, n) for name in session.names for n in range(10)]

    for _ in range(30):
        session.answer(chance.sample(list(session.offsets), chance.randint(0, len(session.offsets))))
        asked = [(one, chance.randrange(1000)) for one in chance.sample(everything, chance.randint(0, 5))]
        forgotten = chance.sample(everything, chance.randint(0, 4))
        assert session.step(asked, forgotten) == list(session.offsets.items())


def test_bytes_behind_the_topics_that_do_not_parse_are_malformed() -> None:
    session = Session(7)
    split = session.request([((b"A" * 16, 0), 0)])
    by_rack = shapes_of(ApiKey.FETCH, 11).forgotten
    assert by_rack is not None

    with pytest.raises(MalformedFrame):
        split.behind(by_rack)
