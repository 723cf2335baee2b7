"""A model of one partition of a broker, and of the coordinator of one producer's transactions.

It judges batches as Kafka's ProducerAppendInfo and ProducerStateEntry do, and verifies that they are part of a
transaction, as brokers do from 3.6 on.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from bifrost.records.codec.client_batch import as_batch
from bifrost.tenancy.virtual_partitions.transaction_numbers import WORD
from bifrost.wire.error_codes import ErrorCode

GAP = int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
FENCED = int(ErrorCode.INVALID_PRODUCER_EPOCH)
NO_TRANSACTION = int(ErrorCode.INVALID_TXN_STATE)
REMEMBERED = 5


class Stored(NamedTuple):
    """A batch of the log; None: a marker."""

    records: bytes | None
    is_commit: bool = False


class ModelBroker:
    """Everything that brokers know."""

    def __init__(self, *, is_v2: bool, is_unknown: bool) -> None:
        """Begin with an epoch; the partition may know the producer from an older one."""
        self.is_v2, self.epoch, self.is_ongoing = is_v2, 0, False
        self.log: list[Stored] = []
        self.known_epoch = -1 if is_unknown else 0
        self.transaction_start = -1
        self._batches: deque[tuple[int, int, int]] = deque(maxlen=REMEMBERED)
        self.begin_epoch()

    @property
    def last_sequence(self) -> int:
        return (self._batches[-1][0] + self._batches[-1][1] - 1) % WORD if self._batches else -1

    def append(self, records: bytes) -> tuple[int, int]:
        """Append a batch; return the error and the offset."""
        batch = as_batch(records)
        epoch, sequence, count = batch.producer_epoch, batch.base_sequence, batch.record_count
        if epoch == self.known_epoch:
            for known, its_count, offset in self._batches:
                if (known, its_count) == (sequence, count):
                    return 0, offset
        if self.transaction_start < 0 and (epoch != self.epoch or not (self.is_v2 or self.is_ongoing)):
            return (FENCED if epoch < self.epoch else NO_TRANSACTION), -1
        if epoch < self.known_epoch:
            return FENCED, -1
        if epoch != self.known_epoch:
            if sequence and self.known_epoch >= 0:
                return GAP, -1
            self._batches.clear()
            self.known_epoch = epoch
        elif sequence != (self.last_sequence + 1) % WORD:
            return GAP, -1
        self.is_ongoing = True
        offset = len(self.log)
        self.log.append(Stored(records))
        self._batches.append((sequence, count, offset))
        if self.transaction_start < 0:
            self.transaction_start = offset
        return 0, offset

    def end(self, *, is_commit: bool) -> None:
        """End the transaction; with V2 that raises the epoch."""
        if self.is_v2:
            self.epoch += 1
        if self.transaction_start >= 0:
            self.log.append(Stored(None, is_commit))
            if self.known_epoch != self.epoch and self.is_v2:
                self._batches.clear()
                self.known_epoch = self.epoch
            self.transaction_start = -1
        self.is_ongoing = False

    def begin_epoch(self) -> None:
        """Give the producer a new epoch (InitProducerId), which aborts what is open."""
        if self.is_ongoing:
            self.end(is_commit=False)
        self.epoch += 1

    def committed(self) -> list[bytes]:
        """Return the batches of committed transactions, claims among them."""
        found: list[bytes] = []
        opened: list[bytes] = []
        for one in self.log:
            if one.records is not None:
                opened.append(one.records)
                continue
            found += opened if one.is_commit else []
            opened = []
        return found
