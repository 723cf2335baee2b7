from dataclasses import replace
from typing import Any

import pytest

from bifrost.filters.filter import Exchange
from bifrost.filters.records.record_topics import TopicChain
from bifrost.filters.records.record_work import MAX_NEEDS, NEEDS_LIMIT, RecordWork, Refusal
from bifrost.filters.records.transform_meter import TransformKey
from bifrost.filters.steps import RecordNeeds
from bifrost.records.codec.client_batch import ClientBatch, split_batches, without_records
from bifrost.records.codec.columns import ColumnRecord, Columns
from bifrost.records.codec.errors import NoRoom
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.record_transform import (
    BatchOutcome,
    BatchTransform,
    Direction,
    Failure,
    Known,
    Outcome,
)
from bifrost.wire.error_codes import ErrorCode
from support.records.needing import AtHand, NeedsText, Text
from support.records.record_columns import MIB, batch_of
from support.stage.filtered import headers, policy, topics_of
from support.stage.stage import Stage

PRODUCE, FETCH = Direction.PRODUCE, Direction.FETCH
BOTH = ({"direction": "produce"}, {"direction": "fetch"})
NEW = Exchange(0, 12, None)  # type: ignore[arg-type]
"""What a message has when it comes; its scope is not asked for."""
RECORDS = [ColumnRecord(i, 0, None, b"value") for i in range(3)]


def chain_of(stage: Stage, direction: Direction, *filters, **limits: int):
    topics = topics_of(stage, *filters, **limits)
    chain = topics.chain("orders", direction)
    assert isinstance(chain, TopicChain)
    return topics, chain


def test_records_that_no_transform_changes_are_the_same_object(stage: Stage) -> None:
    topics, chain = chain_of(stage, PRODUCE, headers(*BOTH, remove=["x"]))
    records = batch_of(RECORDS) + batch_of(RECORDS, codec=3)

    with RecordWork(topics, PRODUCE, NEW) as work:
        assert work.new_records(records, chain, 0) is records


def test_a_rejected_batch_says_which_records_and_why(stage: Stage) -> None:
    topics, chain = chain_of(stage, PRODUCE, policy(require_key=True))

    with RecordWork(topics, PRODUCE, NEW) as work:
        outcome = work.new_records(batch_of(RECORDS), chain, 0)

    assert isinstance(outcome, Refusal)
    assert outcome.error_code == ErrorCode.INVALID_RECORD
    assert [one.index for one in outcome.rejections] == [0, 1, 2]


def test_what_was_made_counts_until_the_end_of_the_message(stage: Stage) -> None:
    topics, chain = chain_of(stage, FETCH, headers(*BOTH, add=[{"key": "a", "value": "b"}]))
    memory = topics.records.process.memory

    with RecordWork(topics, FETCH, NEW) as work:
        made = work.new_records(batch_of(RECORDS), chain, 0)
        assert isinstance(made, tuple)
        assert memory.used == sum(map(len, made))
    assert memory.used == 0


def test_records_that_find_no_room_are_tried_again_later(stage: Stage) -> None:
    limits = dict.fromkeys(("max_unpacked_bytes_total", "max_unpacked_bytes"), MIB)
    topics, chain = chain_of(stage, FETCH, headers(*BOTH, remove=["a"]), **limits)
    memory = topics.records.process.memory
    memory.of_request().take(MIB - 100)

    with RecordWork(topics, FETCH, NEW) as work, pytest.raises(NoRoom):
        work.new_records(batch_of(RECORDS, codec=1), chain, 0)
    assert memory.hits == {("max_unpacked_bytes_total", "initech"): 1}
    assert memory.used == MIB - 100


def test_a_consumer_gets_what_stands_before_a_broken_batch(stage: Stage) -> None:
    topics, chain = chain_of(stage, FETCH, headers(*BOTH, remove=["a"]))
    good, broken = batch_of(RECORDS), batch_of(RECORDS)[:-1] + b"?"

    with RecordWork(topics, FETCH, NEW) as work:
        assert work.new_records(good + broken, chain, 0) == (good,)
        assert isinstance(work.new_records(broken, chain, 0), Refusal)
    with RecordWork(topics, FETCH, NEW, is_all_or_nothing=True) as work:
        assert isinstance(work.new_records(good + broken, chain, 0), Refusal)


def test_a_message_waits_once_for_all_that_its_batches_need(stage: Stage) -> None:
    topics, _ = chain_of(stage, PRODUCE, headers(*BOTH, remove=["x"]))
    topics.records.process.sources = AtHand({Text("at hand"): b"1"})
    chain = TopicChain((NeedsText(),), {})
    records = b"".join(
        batch_of([ColumnRecord(0, 0, b"at hand", key)]) for key in (b"a", b"b", b"at hand", b"a")
    )
    broken = batch_of(RECORDS)[:-1] + b"?"

    with RecordWork(topics, PRODUCE, NEW) as work:
        assert work.need is None
        work.new_records(records, chain, 0)
        assert isinstance(work.new_records(broken, chain, 1), Refusal)
        first = work.need
    assert first is not None
    assert first.keys == {Text("a"), Text("b")}

    met = replace(first, known={Text("a"): b"2", Text("b"): Failure("b is away", is_retriable=True)})
    again = replace(NEW, met={RecordNeeds: met})
    with RecordWork(topics, PRODUCE, again) as work:
        outcome = work.new_records(records, chain, 0)
        assert work.need is None
        assert work.new_records(batch_of([ColumnRecord(0, 0, None, b"c")]), chain, 1)
        second = work.need
    assert isinstance(outcome, Refusal)
    assert (outcome.error_code, outcome.reason) == (ErrorCode.REQUEST_TIMED_OUT, "b is away")
    assert second == first
    assert second is not None
    assert (second.keys, second.known, second.rounds) == ({Text("c")}, met.known, 2)


def test_a_message_that_asks_once_too_often_is_refused(stage: Stage) -> None:
    topics, _ = chain_of(stage, PRODUCE, headers(*BOTH, remove=["x"]))
    memory, topics.records.process.sources = topics.records.process.memory, AtHand({})
    chain = TopicChain((NeedsText(),), {})
    known, unknown = (batch_of([ColumnRecord(0, 0, None, value)]) for value in (b"a", b"b"))

    def asked(rounds: int) -> Exchange:
        return replace(NEW, met={RecordNeeds: RecordNeeds(frozenset(), {Text("a"): b"1"}, rounds=rounds)})

    with RecordWork(topics, PRODUCE, asked(MAX_NEEDS - 1)) as work:
        work.new_records(known + unknown, chain, 0)
        assert work.need is not None
        assert work.need.rounds == MAX_NEEDS
        assert not memory.hits
    with RecordWork(topics, PRODUCE, asked(MAX_NEEDS)) as work:
        refused = work.new_records(known + unknown, chain, 0)
        assert work.need is None
    with RecordWork(topics, FETCH, asked(MAX_NEEDS)) as work:
        before = work.new_records(known + unknown, chain, 0)
        later = work.new_records(unknown, chain, 1)
        assert work.need is None

    assert isinstance(refused, Refusal)
    assert refused.error_code is ErrorCode.POLICY_VIOLATION
    assert not isinstance(before, Refusal)
    assert b"".join(before) == batch_of([ColumnRecord(0, 0, None, b"1")])
    assert isinstance(later, Refusal)
    assert later.error_code is ErrorCode.KAFKA_STORAGE_ERROR
    assert memory.hits == {(NEEDS_LIMIT, "initech"): 2}


class _Holding(NeedsText):
    """Gives each batch to something that works on it for long."""

    def __init__(self) -> None:
        self.held: list[Columns] = []

    def transform(
        self, batch: ClientBatch, columns: Columns, direction: Direction, known: Known, budget: MemoryBudget
    ) -> Outcome:
        self.held.append(columns)
        return super().transform(batch, columns, direction, known, budget)


def test_batches_that_wait_hold_no_more_than_half_of_the_memory_of_their_message(stage: Stage) -> None:
    limits = {"max_unpacked_bytes": MIB, "max_unpacked_batch_bytes": MIB}
    topics, _ = chain_of(stage, PRODUCE, headers(*BOTH, remove=["x"]), **limits)
    topics.records.process.sources = AtHand({})
    values = [b"%d" % number * 200_000 for number in range(4)]
    records = b"".join(batch_of([ColumnRecord(0, 0, None, one)], codec=4) for one in values)
    holding = _Holding()

    with RecordWork(topics, PRODUCE, NEW) as work:
        for value, batch in zip(values, split_batches(memoryview(records), is_whole=True), strict=True):
            work.new_records(batch.data, TopicChain((holding,), {}), 0)
            assert work.need is not None
            if value != values[0] and Text(value.decode()) not in work.need.keys:
                # What is not asked for now is not held.
                holding.held.pop()
        asked = work.need

    assert asked is not None
    assert asked.keys == {Text(one.decode()) for one in values[:2]}


class _Opening(BatchTransform):
    """Opens any batch: the bytes are others, and their header is the same."""

    name = "opening"

    def transform_batch(
        self, batch: ClientBatch, direction: Direction, known: Known, budget: MemoryBudget
    ) -> BatchOutcome:
        return without_records(batch) if batch.record_count == 4 else bytes(batch.data)


def test_fetches_one_after_the_other_see_batches_that_changed_places(stage: Stage) -> None:
    topics, _ = chain_of(stage, FETCH, headers(*BOTH, remove=["x"]))
    chain = TopicChain((_Opening(),), {}, ("cluster", b"physical"))

    def of(offset: int, sequence: int, count: int = 3) -> bytes:
        records = [ColumnRecord(i, 0, None, b"value") for i in range(count)]
        return batch_of(records, base_offset=offset, producer=(7, 0, sequence))

    def fetch(*batches: bytes) -> Any:
        with RecordWork(topics, FETCH, NEW) as work:
            return work.new_records(b"".join(batches), chain, 0)

    assert fetch(of(0, 0), of(3, 3)) == (of(0, 0), of(3, 3))
    assert fetch(of(6, 6), of(9, 3), of(12, 9)) == (of(6, 6),), "what stands before it comes first"
    for _ in range(2):
        refusal = fetch(of(9, 3), of(12, 9))
        assert isinstance(refusal, Refusal)
        assert refusal.error_code == ErrorCode.CORRUPT_MESSAGE
        assert refusal.reason.startswith("opening: the batch at offset 9 was produced before")
    left_out = fetch(of(9, 0, 4), of(13, 9))
    assert len(left_out) == 2, "a batch that is left out has proved nothing"
    assert topics.records.process.counts[TransformKey("initech", "opening", "fetch", "rejections")] == 3
