"""Whatever happens to the batches of a transaction on their way, each virtual partition is stored in order, once.

A producer with a window of batches for each virtual partition sends them over one connection at a time to a model of a
broker: it compares sequences and remembers five batches, as Kafka's does. Answers are lost, batches are refused and
connections end. What the producer is told of a batch must be true.
"""

from __future__ import annotations

import random
from collections import deque
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.transaction_claims import Wanted
from bifrost.tenancy.virtual_partitions.transaction_numbers import (
    GAP,
    LOST,
    NOTHING_KNOWN,
    REPEATED,
    WORD,
    Assigned,
    Key,
    Known,
    Numbers,
    TransactionNumbers,
)

PLACE = (b"orders", 0)
GROUPS, WINDOW = 3, 5
CLAIM_OFFSET = 1_000
TIMED_OUT, CONCURRENT, AWAY = 7, 51, 6
RETRIED = {GAP, TIMED_OUT, CONCURRENT, AWAY, 19}


class Broker:
    """One physical partition and one producer, at one epoch."""

    def __init__(self, last: int | None) -> None:
        """Know the last sequence of the producer: -1: none of this epoch, None: not even an older epoch."""
        self.last, self.log = last, list[tuple[int, int, int]]()
        self.claimed: int | None = None
        self._batches: deque[tuple[int, int, int]] = deque(maxlen=5)

    def append(self, batch: Assigned) -> tuple[int, int]:
        sequence = batch.sequence
        for known, count, offset in self._batches:
            if (known, count) == (sequence, batch.count):
                return 0, offset
        if self.last is not None and sequence != (self.last + 1) % WORD:
            return GAP, -1
        offset = len(self.log)
        self.log.append((batch.group, batch.first, batch.count))
        self._batches.append((sequence, batch.count, offset))
        self.last = (sequence + batch.count - 1) % WORD
        return 0, offset

    def known(self, epoch: int) -> Known:
        start = -1 if self.claimed is None else CLAIM_OFFSET
        return NOTHING_KNOWN if self.last is None else Known(epoch, self.last, start)


class Run:
    """One producer and its gateway."""

    def __init__(self, seed: int, begin: int | None, *, is_one_transaction: bool) -> None:
        self.random, self.epoch = random.Random(seed), 0
        self.is_one_transaction = is_one_transaction
        self.numbers, self.aborts = TransactionNumbers(), 0
        self.begin(begin)

    def begin(self, last: int | None) -> None:
        self.broker, self.sender = Broker(last), object()
        self.queues: list[list[tuple[int, int]]] = []
        for _ in range(GROUPS):
            first, queue = 0, []
            for _ in range(12):
                count = self.random.choice([1, 1, 1, 2, 3])
                queue.append((first, count))
                first += count
            self.queues.append(queue)
        self.open: list[list[tuple[int, int]]] = [[] for _ in range(GROUPS)]
        self.under_way: list[tuple[Numbers, Assigned]] = []
        self.acknowledged: set[tuple[int, int, int]] = set()

    def send(self, group: int, *, is_faulty: bool) -> None:
        if not self.queues[group] or len(self.open[group]) >= WINDOW:
            return
        first, count = self.queues[group][0]
        key = (7, self.epoch, PLACE)
        numbers: Any = self.numbers.find(key)
        if numbers is None or numbers.must_ask(self.sender):
            while self.under_way and numbers is not None:
                self.deliver(is_faulty=is_faulty)
                if self.queues[group][:1] != [(first, count)] or self.epoch != key[1]:
                    return
            numbers = self.numbers.check(key, self.broker.known(self.epoch), self.sender)
            if isinstance(numbers, Wanted):
                numbers = self.claim(key, numbers)
        elif isinstance(numbers, Numbers):
            numbers.go_on(self.sender)
        assigned = numbers
        if isinstance(numbers, Numbers):
            self.numbers.use(key, PartitionGroup(group))
            assigned = numbers.assign(PartitionGroup(group), first, count)
        if isinstance(assigned, int):
            if assigned == LOST or (assigned == GAP and self.is_first(group, first)):
                self.abort()
            return
        self.queues[group].pop(0)
        self.open[group].append((first, count))
        self.under_way.append((numbers, assigned))

    def claim(self, key: Key, claim: Wanted) -> Numbers | int:
        mark = self.numbers.claims.mark(key, claim.number, lambda: b"mark")
        self.broker.last = self.broker.claimed = claim.number
        stored = CLAIM_OFFSET, mark
        one = self.is_one_transaction
        return self.numbers.settle(key, claim, stored, self.sender, is_one_transaction=one)

    def is_first(self, group: int, first: int) -> bool:
        return all(first <= other for other, _ in self.open[group])

    def deliver(self, *, is_faulty: bool) -> None:
        if not self.under_way:
            return
        numbers, batch = self.under_way.pop(0)
        code, offset = 0, -1
        fault = self.random.random() if is_faulty else 1.0
        if fault < 0.1:
            code = CONCURRENT
        elif fault < 0.15:
            code = AWAY
        else:
            code, offset = self.broker.append(batch)
            if fault < 0.2 and not code:
                code, offset = TIMED_OUT, -1
        told = numbers.answered(batch, code, offset, -1)
        place, one = batch.group, (batch.first, batch.count)
        self.open[place].remove(one)
        if told in (0, REPEATED):
            self.acknowledged.add((place, *one))
            assert self.broker.log.count((place, *one)) == 1
            if told == 0:
                assert self.broker.log[batch.offset] == (place, *one)
            return
        assert told in RETRIED
        self.queues[place] = sorted([one, *self.queues[place]])
        if told == GAP and self.is_first(place, batch.first):
            self.abort()

    def reset(self) -> None:
        """The connection ends; a broker has stored some of what was under way."""
        for _, batch in self.under_way[: self.random.randint(0, len(self.under_way))]:
            self.broker.append(batch)
        self.under_way, self.sender = [], object()
        for group in range(GROUPS):
            self.queues[group] = sorted([*self.open[group], *self.queues[group]])
            self.open[group] = []

    def abort(self) -> None:
        assert self.acknowledged <= set(self.broker.log)
        self.aborts += 1
        self.epoch += 1
        self.begin(None)

    def check(self) -> None:
        """Each virtual partition has its batches in order, without a gap."""
        for group in range(GROUPS):
            expected = 0
            for _, first, count in (one for one in self.broker.log if one[0] == group):
                assert first == expected
                expected += count
        assert self.acknowledged <= set(self.broker.log)


@given(st.integers(0, 2**48), st.sampled_from([None, -1, WORD - 4]), st.booleans(), st.booleans())
def test_each_virtual_partition_is_stored_in_order_and_once(
    seed: int, last: int | None, is_one_transaction: bool, has_resets: bool
) -> None:
    run = Run(seed, last, is_one_transaction=is_one_transaction)
    for _ in range(200):
        what = run.random.random()
        if what < 0.55:
            run.send(run.random.randrange(GROUPS), is_faulty=True)
        elif what < 0.97 or not has_resets:
            run.deliver(is_faulty=True)
        else:
            run.reset()
    for _ in range(60):
        for group in range(GROUPS):
            run.send(group, is_faulty=False)
        while run.under_way:
            run.deliver(is_faulty=False)
    run.check()
    assert len(run.acknowledged) == GROUPS * 12, "it goes on once nothing is in the way"


@given(st.integers(0, 2**48))
def test_refusals_alone_abort_no_transaction(seed: int) -> None:
    """A broker refuses the first batches to a partition while it adds that to the transaction."""
    run = Run(seed, -1, is_one_transaction=True)
    refusals = iter(range(10))
    whole = run.broker.append
    run.broker.append = lambda batch: (  # type: ignore[method-assign]
        (CONCURRENT, -1) if next(refusals, None) is not None else whole(batch)
    )
    for _ in range(100):
        for group in range(GROUPS):
            run.send(group, is_faulty=False)
        for _ in range(run.random.randint(0, len(run.under_way))):
            run.deliver(is_faulty=False)
    while run.under_way:
        run.deliver(is_faulty=False)
    run.check()
    assert run.aborts == 0
