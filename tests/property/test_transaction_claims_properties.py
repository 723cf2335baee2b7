"""Whatever becomes of gateways, connections and requests, what is committed is stored once and in order.

A producer writes transactions over one connection at a time, through one of three gateways, with a window of batches
for each of three virtual partitions of one physical. Connections end, with and without the gateway's knowledge; what
was on its way to the broker arrives at any time later, or never. The filters are the real ones.
"""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.tagged_batches import opened
from bifrost.wire.error_codes import ErrorCode
from support.clients.record_batches import build_batch
from support.transactions.model_broker import ModelBroker
from support.transactions.model_gateway import (
    AWAY,
    BUSY,
    GROUPS,
    PRODUCER_ID,
    TIMED_OUT,
    ModelConnection,
    ModelGateway,
    Sent,
    deliver,
)

EACH, WINDOW, TRANSACTIONS = 5, 3, 4
GAP = int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
RETRIED = {GAP, BUSY, AWAY, TIMED_OUT, int(ErrorCode.NOT_ENOUGH_REPLICAS)}
ABORTS = {True: int(ErrorCode.TRANSACTION_ABORTABLE), False: int(ErrorCode.INVALID_PRODUCER_EPOCH)}


class Run:
    """One producer and its gateways."""

    def __init__(self, seed: int, *, is_v2: bool) -> None:
        self.random, self.is_v2 = random.Random(seed), is_v2
        self.broker = ModelBroker(is_v2=is_v2, is_unknown=self.random.random() < 0.5)
        self.gateways = [ModelGateway(self.random) for _ in range(3)]
        self.connections: list[ModelConnection] = []
        self.committed: list[list[bytes]] = [[] for _ in range(GROUPS)]
        self.aborts = self.transactions = 0
        self.leaves = self.random.choice([0.02, 0.1, 0.25])
        """How often the client goes on over another connection."""
        self.lateness = self.random.choice([0.3, 0.6])
        """How much of what arrives may be of other connections."""
        self.faults = self.random.choice([0.0, 0.3, 1.0])
        self.counts = self.random.choice([[1], [1, 1, 1, 2]])
        self.sequences = [0] * GROUPS
        self.connect(self.gateways[0])
        self.begin()

    def connect(self, gateway: ModelGateway) -> None:
        self.connection = ModelConnection(gateway, 12 if self.is_v2 else 11)
        self.connections.append(self.connection)

    def begin(self) -> None:
        """Begin a transaction; its batches go on in the sequences of the epoch."""
        self.queues: list[list[Sent]] = [self.batches(group) for group in range(GROUPS)]
        self.wanted = [[one.records for one in queue] for queue in self.queues]
        self.open: list[list[Sent]] = [[] for _ in range(GROUPS)]
        if not self.is_v2:
            self.broker.is_ongoing = True

    def batches(self, group: int) -> list[Sent]:
        made = []
        for _ in range(EACH):
            count, first = self.random.choice(self.counts), self.sequences[group]
            values = [self.random.randbytes(4).hex().encode() for _ in range(count)]
            records = build_batch(
                values,
                producer_id=PRODUCER_ID,
                producer_epoch=self.broker.epoch,
                base_sequence=first,
                is_transactional=True,
            )
            made.append(Sent(group, first, count, records))
            self.sequences[group] = first + count
        return made

    def send(self, group: int) -> None:
        if self.queues[group] and len(self.open[group]) < WINDOW:
            batch = self.queues[group].pop(0)
            self.open[group].append(batch)
            self.connection.send(batch)

    def hear(self) -> None:
        """Take the answers that have come."""
        while self.connection.answers:
            batch, code = self.connection.answers.pop(0)
            own = self.open[batch.group]
            is_first = own[0] is batch
            own.remove(batch)
            if not code:
                continue
            if code == ABORTS[self.is_v2] or (code == GAP and is_first):
                self.abort()
                return
            assert code in RETRIED, code
            self.queues[batch.group] = sorted([batch, *self.queues[batch.group]], key=lambda one: one.first)
        if not any(self.open) and not any(self.queues):
            self.end(is_commit=self.random.random() < 0.7)

    def end(self, *, is_commit: bool) -> None:
        """End the transaction, of which all is acknowledged."""
        self.broker.end(is_commit=is_commit)
        if is_commit:
            for group in range(GROUPS):
                self.committed[group] += self.wanted[group]
        self.transactions += 1
        if self.is_v2:
            self.sequences = [0] * GROUPS
        self.begin()

    def abort(self) -> None:
        """Abort it with batches of unknown fate, and raise the epoch."""
        self.aborts += 1
        self.broker.end(is_commit=False)
        if not self.is_v2:
            self.broker.begin_epoch()
        self.sequences = [0] * GROUPS
        self.leave(is_known=False)
        self.begin()

    def leave(self, *, is_known: bool) -> None:
        """Go on over another connection; the gateway may not know that the client has left."""
        self.connection.is_open = not is_known
        self.connect(self.random.choice(self.gateways))
        for group in range(GROUPS):
            self.queues[group] = self.open[group] + self.queues[group]
            self.open[group] = []

    def deliver(self, *, is_faulty: bool, is_late: bool) -> None:
        waiting = [one for one in self.connections if one.on_its_way and (is_late or one is self.connection)]
        if waiting:
            fault = self.random.random() if is_faulty else 1.0
            deliver(self.broker, self.random.choice(waiting), fault)

    def check(self) -> None:
        found: list[list[bytes]] = [[] for _ in range(GROUPS)]
        for records in self.broker.committed():
            group, _ = opened(memoryview(records))
            if group < GROUPS:
                found[group].append(_values(records))
        assert found == [[_values(one) for one in own] for own in self.committed]


def _values(records: bytes) -> bytes:
    from kafka.record import MemoryRecords

    batch = MemoryRecords(records).next_batch()
    assert batch is not None
    return b" ".join(record.value for record in batch)


def play(run: Run, steps: int) -> None:
    for _ in range(steps):
        if run.random.random() < run.leaves:
            run.leave(is_known=run.random.random() < 0.3)
        if run.random.random() < 0.02:
            run.random.choice(run.connections).is_open = False
            if not run.connection.is_open:
                run.leave(is_known=True)
        for _ in range(run.random.randint(0, 4)):
            run.send(run.random.randrange(GROUPS))
        for _ in range(run.random.randint(0, 6)):
            is_faulty = run.random.random() < run.faults
            run.deliver(is_faulty=is_faulty, is_late=run.random.random() < run.lateness)
        run.hear()


@given(st.integers(0, 2**48), st.booleans())
def test_what_is_committed_is_stored_once_and_in_order(seed: int, is_v2: bool) -> None:
    run = Run(seed, is_v2=is_v2)
    play(run, 60)
    run.check()

    done = run.transactions
    for _ in range(150):
        run.send(run.random.randrange(GROUPS))
        run.deliver(is_faulty=False, is_late=False)
        run.hear()
    run.check()
    assert run.transactions > done, "it goes on once nothing is in the way"
