"""The state on a real broker: races, writers that die, compaction, and readers that follow."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.producing.transactional_producer import TransactionalProducer
from bifrost.gateway.producing.upstream_topic import UpstreamTopic
from bifrost.gateway.state.state_client import StateClient
from bifrost.records.batch_reader import LogRecord
from bifrost.state.record_decoding import decode
from bifrost.state.state_change import Author, Change, StateConflict
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import FutureSchema, StateRecord, TooLarge, encode
from bifrost.state.state_table import StateTable
from bifrost.wire.messages import IncrementalAlterConfigsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_operations import await_config, metadata_of, recreate_topic
from support.clients.routed_client import RoutedClient
from support.state_clients import TIMEOUT_MS, in_loop, reading, write_raw

TOPIC = 2
"""ConfigResource.Type.TOPIC."""

pytestmark = pytest.mark.timeout(180)

WRITER = Author("test/1", "User:operator")


@pytest.fixture
def topic(unique: Callable[[str], str]) -> str:
    return unique(f"__state-{time.time_ns()}")


def alias(name: str) -> StateKey:
    return StateKey("alias", name)


def contents(table: StateTable) -> list[StateRecord]:
    return [entry.record for entry in table.entries()]


def watch_log(client: StateClient) -> list[LogRecord]:
    """Return a list to which every committed record is added from now on."""
    seen: list[LogRecord] = []
    decoded = client.table.decoded

    def note(records: list[LogRecord]) -> object:
        seen.extend(records)
        return decoded(records)

    client.table.decoded = note  # type: ignore[method-assign,assignment]
    return seen


def compact_quickly(broker: Endpoint, topic: str) -> None:
    """Have the brokers compact a topic as often as they can."""
    configs = {
        "segment.ms": "100",
        "min.cleanable.dirty.ratio": "0.001",
        "min.compaction.lag.ms": "0",
        "max.compaction.lag.ms": "1",
    }
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=TOPIC,
        resource_name=topic,
        configs=[
            IncrementalAlterConfigsRequest.AlterableConfig(name=name, config_operation=0, value=value)
            for name, value in configs.items()
        ],
    )
    with RoutedClient(broker) as direct:
        answer = direct.request(IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert [one.error_code for one in answer.responses] == [0]


async def until(is_so: Callable[[], bool], what: str, timeout_s: float = 60) -> None:
    ends = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < ends, what
        await asyncio.sleep(0.02)


@in_loop
async def test_the_topic_is_created_compacted_with_one_partition(
    kafka: EmbeddedKafka, broker: Endpoint, topic: str
) -> None:
    async with reading(kafka.bootstrap, topic) as client:
        assert (len(client.table), client.reader.lag) == (0, 0)

    def look() -> None:
        with RoutedClient(broker) as direct:
            await_config(direct, TOPIC, topic, "cleanup.policy", "compact")
            await_config(direct, TOPIC, topic, "min.compaction.lag.ms", "60000")
            [described] = metadata_of(direct, topic)
            assert len(described.partitions) == 1

    await asyncio.to_thread(look)


@in_loop
async def test_a_change_of_several_keys_is_read_by_another_process_within_a_second(
    kafka: EmbeddedKafka, topic: str
) -> None:
    async with reading(kafka.bootstrap, topic) as one, reading(kafka.bootstrap, topic) as other:
        heard: list[tuple[float, list[str]]] = []
        other.table.watch(
            "namespace", lambda keys: heard.append((time.monotonic(), sorted(key.name for key in keys)))
        )
        tiers = [
            Change(StateKey("namespace", name), 0, {}) for name in ("org", "org:apache", "org:apache:kafka")
        ]
        await one.writer.change([Change(alias("first"), 0, {})], WRITER)

        taken_s = []
        for number in range(5):
            began = time.monotonic()
            await one.writer.change(
                tiers if number == 0 else [Change(one.key, number, {"n": number}) for one in tiers], WRITER
            )
            await until(lambda: len(heard) > number, "the other reader never heard of it")  # noqa: B023
            taken_s.append(heard[number][0] - began)

        assert [names for _, names in heard] == [["org", "org:apache", "org:apache:kafka"]] * 5
        assert min(taken_s) < 1
        assert contents(one.table) == contents(other.table)


@in_loop
async def test_of_two_writers_who_race_one_wins_each_time_and_the_other_learns_it(
    kafka: EmbeddedKafka, topic: str
) -> None:
    names = [alias(name) for name in "abcd"]
    won: list[tuple[str, str, int]] = []
    lost: list[tuple[str, StateKey, int, StateConflict]] = []

    async def race(client: StateClient, writer: str) -> None:
        for number in range(100):
            key = names[number % len(names)]
            entry = client.table.get(key)
            expected = 0 if entry is None else entry.version
            try:
                change = await client.writer.change(
                    [Change(key, expected, {"by": writer, "n": number})], Author(writer)
                )
            except StateConflict as conflict:
                lost.append((writer, key, expected, conflict))
            else:
                won.append((change, key.name, expected + 1))

    async with (
        reading(kafka.bootstrap, topic) as one,
        reading(kafka.bootstrap, topic) as two,
        reading(kafka.bootstrap, topic) as witness,
    ):
        log = watch_log(witness)
        await asyncio.gather(race(one, "one"), race(two, "two"))
        end = max(one.reader.position, two.reader.position)
        await until(lambda: min(one.reader.position, witness.reader.position) >= end, "a reader is late")
        await until(lambda: contents(witness.table) == contents(one.table), "the witness differs")

        history = [decode(record.key, record.value or b"", record.offset) for record in log]
        assert Counter((one.change, one.key.name, one.version) for one in history) == Counter(won)
        for key in names:
            versions = [one.version for one in history if one.key == key]
            assert versions == list(range(1, len(versions) + 1))
        assert len(won) + len(lost) == 200
        assert lost
        for writer, key, expected, conflict in lost:
            assert (conflict.key, conflict.expected) == (key, expected)
            assert conflict.found > expected
            assert conflict.writer == {"one": "two", "two": "one"}[writer]
        assert not witness.reader.ignored["records"]


@in_loop
async def test_nothing_is_seen_of_a_writer_that_dies_in_its_transaction(
    kafka: EmbeddedKafka, topic: str
) -> None:
    async with reading(kafka.bootstrap, topic) as one, reading(kafka.bootstrap, topic) as witness:
        await one.writer.change([Change(alias("a"), 0, {"n": 1})], WRITER)
        dying = UpstreamTopic(one.reader._topic.cluster, one.reader._topic.settings, TIMEOUT_MS)
        await dying.find()
        producer = TransactionalProducer(dying, topic)
        await producer.begin()
        stray = StateRecord(alias("a"), 2, 0, "stray", "dead", None, {"n": 666})
        await producer.send([(0, one.key.to_bytes(), encode(one)) for one in (stray, _renamed(stray, "b"))])
        await dying.close()

        await one.writer.change([Change(alias("a"), 1, {"n": 2}), Change(alias("c"), 0, {})], WRITER)
        await until(lambda: contents(witness.table) == contents(one.table), "the witness differs")

        found = witness.table.get(alias("a"))
        assert found is not None
        assert (found.version, found.body) == (2, {"n": 2})
        assert witness.table.get(alias("b")) is None
        with pytest.raises(BrokerError, match=r"EPOCH|FENCED|TXN_STATE|MAPPING"):
            await producer.commit()
        await dying.close()
        assert not witness.reader.ignored["records"]


def _renamed(record: StateRecord, name: str) -> StateRecord:
    return StateRecord(alias(name), 1, 0, "stray", "dead", None, record.body)


@in_loop
async def test_a_fresh_reader_of_the_compacted_topic_has_the_same_table(
    kafka: EmbeddedKafka, broker: Endpoint, topic: str
) -> None:
    async with reading(kafka.bootstrap, topic) as one:
        await asyncio.to_thread(compact_quickly, broker, topic)
        for number in range(12):
            await one.writer.change([Change(alias("a"), number, {"n": number})], WRITER)
            await one.writer.change(
                [Change(alias(f"b{number}"), 0, {}), Change(alias("c"), number, {})], WRITER
            )
            await one.writer.change([Change(alias(f"b{number}"), 1, None)], WRITER)
        ends = time.monotonic() + 120
        while True:
            await one.writer.change([Change(alias(f"tick{time.monotonic_ns()}"), 0, {})], WRITER)
            async with reading(kafka.bootstrap, topic, waits=False) as fresh:
                log: list[LogRecord] = []
                begin = fresh.reader._fresh
                assert begin is not None
                begin.apply = _noting(begin, log)  # type: ignore[method-assign]
                await fresh.until_current()
                await until(lambda: contents(fresh.table) == contents(one.table), "the tables differ")
                if sum(record.key == b"alias:a" for record in log) < 6:
                    return
            assert time.monotonic() < ends, "the cleaner did nothing"
            await asyncio.sleep(2)


def _noting(table: StateTable, log: list[LogRecord]) -> Callable[..., object]:
    apply = table.apply

    def note(transaction: list[LogRecord]) -> object:
        log.extend(transaction)
        return apply(transaction)

    return note


@in_loop
async def test_a_future_schema_ends_the_reading_and_says_what_to_do(kafka: EmbeddedKafka, topic: str) -> None:
    async with reading(kafka.bootstrap, topic) as one:
        await one.writer.change([Change(alias("a"), 0, {})], WRITER)
        future = encode(StateRecord(alias("b"), 1, 0, "c", "new-gateway", None, {})).replace(
            b'"schema":1', b'"schema":2'
        )
        await write_raw(one, b"alias:b", future)
        await until(lambda: not one.reader.is_current, "the reader goes on")

        assert "alias:b at offset" in one.reader.problem
        with pytest.raises(FutureSchema):
            await one.writer.change([Change(alias("c"), 0, {})], WRITER)

    async with reading(kafka.bootstrap, topic, waits=False) as other:
        with pytest.raises(
            FutureSchema, match="schema version 2, and this gateway knows up to 1: run the version"
        ):
            await other.until_current()
        assert (len(other.table), other.reader.is_current) == (0, False)


@in_loop
async def test_the_limits_hold_on_both_sides(kafka: EmbeddedKafka, topic: str) -> None:
    async with reading(kafka.bootstrap, topic, max_records=2, max_record_bytes=1024) as one:
        await one.writer.change([Change(alias("a"), 0, {}), Change(alias("b"), 0, {})], WRITER)
        with pytest.raises(TooLarge, match="max_records is 2"):
            await one.writer.change([Change(alias("c"), 0, {})], WRITER)
        with pytest.raises(TooLarge, match="max_record_bytes is 1024"):
            await one.writer.change([Change(alias("a"), 1, {"x": "y" * 1024})], WRITER)
        await one.writer.change([Change(alias("a"), 1, {"x": "y" * 500})], WRITER)

    async with reading(kafka.bootstrap, topic, max_records=1, waits=False) as other:
        with pytest.raises(ValueError, match="max_records is 1: give all gateways the same limits"):
            await other.until_current()


@in_loop
async def test_a_large_change_is_one_transaction_of_several_batches(kafka: EmbeddedKafka, topic: str) -> None:
    async with reading(kafka.bootstrap, topic) as one, reading(kafka.bootstrap, topic) as other:
        heard: list[int] = []
        other.table.watch("alias", lambda keys: heard.append(len(keys)))

        await one.writer.change([Change(alias(f"n{n}"), 0, {"x": "y" * 500}) for n in range(3000)], WRITER)
        await until(lambda: bool(heard), "the other reader never heard of it")

        assert heard == [3000]
        assert contents(one.table) == contents(other.table)


@in_loop
async def test_a_topic_that_is_created_again_is_read_anew(
    kafka: EmbeddedKafka, broker: Endpoint, topic: str
) -> None:
    async with reading(kafka.bootstrap, topic) as one:
        for number in range(3):
            await one.writer.change([Change(alias("a"), number, {"n": number})], WRITER)

        def again() -> None:
            with RoutedClient(broker) as client:
                recreate_topic(client, topic, 1)

        await asyncio.to_thread(again)
        await until(lambda: "cleanup.policy" in one.reader.problem, f"read on: {one.reader.problem}")

        assert one.table.get(alias("a")) is not None


@in_loop
async def test_a_commit_whose_answer_is_lost_is_found_and_not_made_twice(
    kafka: EmbeddedKafka, topic: str
) -> None:
    async with reading(kafka.bootstrap, topic) as one, reading(kafka.bootstrap, topic) as witness:
        log = watch_log(witness)
        producer = one.writer._producer
        commit, lost = producer.commit, 0

        async def commit_unheard() -> None:
            nonlocal lost
            await commit()
            if not lost:
                lost += 1
                raise BrokerError("the connection broke before the answer")

        producer.commit = commit_unheard  # type: ignore[method-assign]
        change = await one.writer.change([Change(alias("a"), 0, {"n": 1})], WRITER)
        await one.writer.change([Change(alias("a"), 1, {"n": 2})], WRITER)
        await until(lambda: contents(witness.table) == contents(one.table), "the witness differs")

        history = [decode(record.key, record.value or b"", record.offset) for record in log]
        assert [(record.version, record.body) for record in history] == [(1, {"n": 1}), (2, {"n": 2})]
        assert (history[0].change, lost) == (change, 1)
