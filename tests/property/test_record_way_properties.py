"""Messages of topics with ways come out as they do without: sealed, opened, checked, refused or waited for.

Random requests and answers, of which some are spoilt, go through two sessions: one where topics have ways, and one
where the filters of records see every batch. What was sealed is opened to compare it: nonces are used once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from bifrost.encryption.dek import Dek, WritingDek
from bifrost.encryption.place import Place
from bifrost.encryption.sealed_batch import read_sealed
from bifrost.encryption.sealed_values import read_sealed_values, seal_values
from bifrost.filters.records import record_topics
from bifrost.filters.records.tenant_records import TenantRecords
from bifrost.filters.steps import RecordNeeds
from bifrost.records.codec.client_batch import build_batch, read_columns, split_batches
from bifrost.records.codec.columns import ColumnRecord
from bifrost.session.client_session import ClientSession
from bifrost.session.close_reason import SessionEnded
from bifrost.session.needs import TURN
from bifrost.wire.codec import decode
from bifrost.wire.errors import WireError
from bifrost.wire.headers import request_body_offset
from bifrost.wire.message import Message
from bifrost.wire.programs import compile_layout
from support.encryption.sealing import KEY, WRAPPED, packed_again, sealed, sealing, with_checksum
from support.physical_names import physical_name
from support.records.record_columns import CODECS, batch_of, marker_of, only_batch, plenty, random_records
from support.stage import messages
from support.stage.on_ways import on_ways, place_of, validating, value_of
from support.stage.on_ways import sealing as sealing_filter
from support.stage.playbook import CLIENT_ID, request_frame, response_frame
from support.stage.stage import Stage

FRAMES = 150
TENANT = "initech"
TOPICS = ("sealed", "values", "checked", "both", "plain")
SEALED = ("sealed", "both")
PLACES = {topic: physical_name(TENANT, topic) for topic in TOPICS}
VERSION = 12


class Twins:
    """Two sessions of the same tenant, before brokers that give them the same answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, hot_steps: int) -> None:
        self.records: list[TenantRecords] = []
        self.stages = [Stage(), Stage()]
        for stage in self.stages:
            filters = (
                validating("checked", "both"),
                sealing_filter("sealed", "both"),
                sealing_filter("values", mode="values"),
            )
            self.records.append(on_ways(stage, *filters, tenant=TENANT)[0])
        self._monkeypatch, self._hot_steps = monkeypatch, hot_steps
        self._ways = dict(record_topics._WITH_WAYS)

    def sessions(self) -> Iterator[ClientSession]:
        """Yield a new session with ways, and one without."""
        for ways, stage in zip((self._ways, {}), self.stages, strict=True):
            self._monkeypatch.setattr(record_topics, "_WITH_WAYS", ways)
            session = stage.play(TENANT).session
            session.hot_steps = self._hot_steps
            session.to_client.clear()
            yield session


def played(session: ClientSession, *frames: tuple[str, bytes]) -> list[object]:
    """Feed a session; return what came of it."""
    try:
        for side, frame in frames:
            feed = session.receive_from_client if side == "client" else session.receive_from_broker
            feed(frame)
            while TURN in session.needs:
                session.meet(TURN)
    except (SessionEnded, WireError) as error:
        return [type(error).__name__, str(error)]
    return [
        [bytes(b"".join(session.to_client))],
        [comparable(bytes(b"".join(session.to_broker)))],
        [need.keys if isinstance(need, RecordNeeds) else need for need in session.needs],
    ]


def comparable(frame: bytes) -> object:
    """Return a request for the broker with its sealed batches opened."""
    if not frame:
        return None
    offset, _ = request_body_offset(frame[4:], len(physical_name(TENANT, CLIENT_ID.decode())), True)
    request: Any = decode(compile_layout("ProduceRequest", VERSION), frame[4:], offset)
    names = {name: topic for topic, name in PLACES.items()}
    for topic in request.topic_data:
        for partition in topic.partition_data:
            place = place_of(names[topic.name], partition.index, TENANT)
            if names[topic.name] in SEALED:
                partition.records = b"".join(opened(partition.records or b"", place.binding))
            elif names[topic.name] == "values":
                partition.records = list(with_opened_values(partition.records or b"", place.binding))
    return request


def with_opened_values(records: bytes, binding: bytes) -> Iterator[object]:
    """Yield the headers of batches, but for what depends on nonces, and their records."""
    for batch in split_batches(memoryview(records), is_whole=True):
        if batch.is_control:
            yield bytes(batch.data)
            continue
        found = read_sealed_values(read_columns(batch, plenty()))
        columns = found.open(binding, dict.fromkeys(found.dek_headers, Dek(KEY, WRAPPED)), plenty())
        yield batch._replace(data=memoryview(b""), length=0, crc=0), list(columns.records())


def opened(records: bytes, binding: bytes) -> Iterator[bytes]:
    for batch in split_batches(memoryview(records), is_whole=True):
        found = None if batch.is_control else read_sealed(batch, plenty())
        yield bytes(batch.data) if found is None else b"S" + found.open(binding, Dek(KEY, WRAPPED), plenty())


def some_batch(chance: random.Random, topic: str, sequence: int) -> bytes:
    """Return a batch of a client's."""
    if topic in ("checked", "both") and chance.random() < 0.9:
        values = [value_of(chance.choice((7, 7, 7, 7, 7, 7, 8))) for _ in range(chance.randrange(1, 9))]
        records = [ColumnRecord(i, i, b"k", one) for i, one in enumerate(values)]
    else:
        found = random_records(chance, chance.choice((1, 2, 30, 300)))
        records = [one._replace(offset_delta=i) for i, one in enumerate(found)]
    codec = chance.choice((0, 0, 0, *range(len(CODECS))))
    producer = (7, 3, sequence) if chance.random() < 0.7 else (-1, -1, -1)
    made = batch_of(records, codec=codec, attributes=chance.choice((0, 0x10)), producer=producer)
    return marker_of(made) if chance.random() < 0.05 else made


def spoilt(chance: random.Random, data: bytes) -> bytes:
    """Spoil records now and then."""
    kind = chance.randrange(12)
    made = bytearray(data)
    if kind < 7 or not data:
        return data
    if kind == 7:
        return data[: chance.randrange(len(data))]
    if kind == 8:
        return data + chance.randbytes(chance.randrange(1, 70))
    made[chance.randrange(len(made))] ^= 1 << chance.randrange(8)
    if kind == 9 or len(made) < 62:
        return bytes(made)
    # The checksum of the first batch is made right, if it is still one.
    size = min(int.from_bytes(made[8:12], "big") + 12, len(made))
    return with_checksum(made[:size]) + made[size:] if size >= 61 else bytes(made)


def some_partitions(chance: random.Random, topic: str, *, is_stored: bool) -> list[bytes]:
    """Return the records of the partitions of a message."""
    found = []
    for index in range(chance.choice((1, 1, 2, 5))):
        records, sequence = b"", 40
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            one = some_batch(chance, topic, sequence)
            if is_stored and topic in (*SEALED, "values") and not one[22] & 0x20 and chance.random() < 0.95:
                seal = with_sealed_values if topic == "values" else sealed
                one = seal(one, place_of(topic, index, TENANT), sealing())
                one = packed_again(one, chance.randrange(5)) if chance.random() < 0.3 else one
            records += one
            sequence += 1_000
        found.append(spoilt(chance, records))
    return found


def with_sealed_values(data: bytes, place: Place, dek: WritingDek) -> bytes:
    """Return a batch with each value sealed."""
    batch = only_batch(data)
    columns = seal_values(read_columns(batch, plenty()), place.binding, dek, plenty())
    return bytes(build_batch(batch, columns, plenty()))


def some_topics(chance: random.Random, *, is_stored: bool) -> dict[str, list[bytes]]:
    chosen = chance.sample(TOPICS, chance.choice((1, 1, 1, 2, 4)))
    return {topic: some_partitions(chance, topic, is_stored=is_stored) for topic in chosen}


def produce(topics: dict[str, list[bytes]], acks: int) -> Message:
    data = [
        {
            "name": topic,
            "partition_data": [{"index": i, "records": one} for i, one in enumerate(partitions)],
        }
        for topic, partitions in topics.items()
    ]
    return messages.build("ProduceRequest", {"acks": acks, "timeout_ms": 1, "topic_data": data})


def fetch(topics: dict[str, list[bytes]]) -> Message:
    asked = [
        {"topic": topic, "partitions": [{"partition": i} for i in range(len(partitions))]}
        for topic, partitions in topics.items()
    ]
    return messages.build("FetchRequest", {"topics": asked})


def fetched(topics: dict[str, list[bytes]]) -> Message:
    data = [
        {
            "topic": PLACES[topic],
            "partitions": [{"partition_index": i, "records": one} for i, one in enumerate(partitions)],
        }
        for topic, partitions in topics.items()
    ]
    return messages.build("FetchResponse", {"responses": data})


def counted(records: TenantRecords) -> dict[object, int]:
    counts = records.process.counts
    return {key: n for key, n in counts.items() if key.number in ("batches", "records", "rejections") and n}


@pytest.mark.parametrize("hot_steps", [8192, 30])
@pytest.mark.parametrize("seed", range(2))
def test_requests_come_out_as_without_ways(
    monkeypatch: pytest.MonkeyPatch, seed: int, hot_steps: int
) -> None:
    chance, twins = random.Random(seed), Twins(monkeypatch, hot_steps)
    kinds = set()
    for _ in range(FRAMES):
        request = produce(some_topics(chance, is_stored=False), chance.choice((-1, 1, 0)))
        frame = request_frame(request, VERSION, 7)

        one, other = (played(session, ("client", frame)) for session in twins.sessions())

        assert one == other
        kinds.add(str(one[0])[:20])
    assert len(kinds) > 2
    assert [records.process.memory.used for records in twins.records] == [0, 0]


@pytest.mark.parametrize("hot_steps", [8192, 30])
@pytest.mark.parametrize("seed", range(2))
def test_answers_come_out_as_without_ways(monkeypatch: pytest.MonkeyPatch, seed: int, hot_steps: int) -> None:
    chance, twins = random.Random(seed), Twins(monkeypatch, hot_steps)
    passed = 0
    for _ in range(FRAMES):
        topics = some_topics(chance, is_stored=True)
        asked = request_frame(fetch(topics), VERSION, 7)
        answer = response_frame(fetched(topics), VERSION, 7)
        outcomes = []
        for session in twins.sessions():
            session.receive_from_client(asked)
            session.to_broker.clear()
            outcomes.append(played(session, ("broker", answer)))

        assert outcomes[0] == outcomes[1]
        passed += bool(outcomes[0][0])
    assert passed > FRAMES // 2
    assert [records.process.memory.used for records in twins.records] == [0, 0]
