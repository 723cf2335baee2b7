"""The sequences of transactional batches in a physical partition, whose virtual ones each count from 0.

    producer's sequences      v0: 0 1 2 | v4: 0 1 | v0: 3          ──▶ one count for a broker:  0 1 2 3 4 5

A broker compares sequences within (producer ID, epoch, physical partition). So do these numbers: a batch that follows
the one before it in its virtual partition gets the next one, a repetition gets the number that it had, and a gap is
refused.

    assigned ──▶ stored                     the broker has said so
             ──▶ refused, number free again the broker has said so, and there was no other try
             ──▶ unsure                     its answer is missing; only this batch can have its number

A number may go to another batch only if no broker can have stored the first one: else it would take the second for a
repetition and drop it. So after a refusal no new batch passes until all later ones were refused as well; and numbers
are never used on a guess. Another gateway may have written since: `TransactionNumbers.check` compares them with what
the broker says (DescribeProducers). What does not agree while a transaction is open is lost: the producer has to abort.

Source: Kafka's ProducerAppendInfo.checkSequence, ProducerStateEntry (which keeps five batches).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.wire.error_codes import ErrorCode

WORD = 1 << 31
"""Sequences go on at 0 behind the largest int32."""
REMEMBERED = 5
"""Stored batches of a virtual partition of which a repetition is recognised, as by a broker."""
MAX_NUMBERED = 10_000
"""Virtual partitions with numbers, by producer ID and epoch, that a process has for a tenant: some 10 MiB. Beyond them
the numbers are forgotten that were not used for the longest; a producer that has a transaction open there aborts it."""
MAX_WAITING = 1_000
"""Batches of one producer in a physical partition that are not known to be stored: five of each of 128 virtual ones,
and more. Beyond them batches have to be sent again."""
LIMIT = "virtual_partitions_numbered"
"""What the metrics call it."""

SEND_AGAIN = int(ErrorCode.NOT_ENOUGH_REPLICAS)
"""The error with which producers send a batch again and take it for not stored, without asking for metadata first."""
GAP = int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
REPEATED = int(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
LOST = -1
"""Not a code of Kafka's: the abortable error of the request's version."""

REFUSALS = frozenset(
    {
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.INVALID_RECORD,
        ErrorCode.TRANSACTION_ABORTABLE,
    }
)
"""Errors after which a leader has not stored a batch. Others, such as that of a leader that is away, do not say."""

Place = tuple[bytes, int]
"""A physical topic and one of its partitions."""
Key = tuple[int, int, Place]
"""Producer ID, epoch, place."""


@dataclass(eq=False, slots=True)
class Assigned:
    """A batch that has a number."""

    group: PartitionGroup
    first: int
    """Its producer's sequence."""
    count: int
    """Records."""
    number: int
    """Its sequence at the broker, without a bound."""
    is_stored: bool = False
    is_sure: bool = True
    """Whether no try but the one that is under way can have stored it."""
    is_under_way: bool = True
    offset: int = -1
    """Where it is stored, if this is known."""
    append_time_ms: int = -1

    @property
    def end(self) -> int:
        """The number behind it."""
        return self.number + self.count

    @property
    def sequence(self) -> int:
        """Its sequence at the broker."""
        return self.number % WORD


class Known(NamedTuple):
    """What a broker says of a producer in a partition."""

    epoch: int = -1
    """-1: it knows no such producer."""
    last_sequence: int = -1
    has_transaction: bool = False


NOTHING_KNOWN = Known()


@dataclass(eq=False, slots=True)
class Numbers:
    """Those of one producer, epoch and physical partition."""

    next: int
    is_joined: bool
    """Whether virtual partitions may be anywhere in their sequences: others have numbered before."""
    sender: object
    """The connection that uses them."""
    whole_from: int | None
    """From which number on a broker has stored all up to its last one; None: a broker that knows nothing of a producer
    begins with any sequence, so the first ones may be missing."""
    stored: dict[PartitionGroup, list[Assigned]] = field(default_factory=dict)
    """The last ones of each virtual partition, in order."""
    waiting: list[Assigned] = field(default_factory=list)
    """Those that are not known to be stored, in order."""
    expected: dict[PartitionGroup, int] = field(default_factory=dict)
    """The sequence with which the producer goes on behind what is stored."""
    refused_from: int | None = None
    """The lowest number that was refused, until it is used again."""
    is_lost: bool = False

    def must_ask(self, sender: object, *, is_one_transaction: bool) -> bool:
        """Whether the broker must be asked before the next batch.

        Args:
            sender: the connection of the batch.
            is_one_transaction: whether an epoch has one transaction (transactions V2, KIP-890). Else another gateway
                may have numbered one between two of this one's.
        """
        return sender is not self.sender or not (self.waiting or is_one_transaction)

    def agrees(self, known: Known, sender: object) -> bool:
        """Whether what a broker says fits; then go on for a connection."""
        begin = self.waiting[0].number if self.waiting else self.next
        ends = [begin, *(batch.end for batch in self.waiting)]
        wanted = known.last_sequence
        fitting = [
            end for end in ends if (end == 0 if wanted < 0 else end > 0 and (end - 1) % WORD == wanted)
        ]
        if not fitting:
            return False
        last = fitting[-1]
        if sender is not self.sender:
            for batch in self.waiting:
                batch.is_sure = batch.is_under_way = False
            self.sender = sender
            if self.refused_from is not None:
                self.is_lost = True
        for batch in [one for one in self.waiting if one.end <= last]:
            if self.whole_from is None or batch.number < self.whole_from:
                self.is_lost = True
                break
            self._store(batch)
        return True

    def assign(self, group: PartitionGroup, first: int, count: int) -> Assigned | int:
        """Return a batch with its number, or the error with which it is refused."""
        if self.is_lost:
            return LOST
        own = [batch for batch in self.waiting if batch.group == group]
        known: list[Assigned] = [*self.stored.get(group, []), *own]
        for batch in known:
            if (batch.first, batch.count) == (first, count):
                if batch.is_under_way:
                    batch.is_sure = False
                batch.is_under_way = True
                return batch
        if self.refused_from is not None or len(self.waiting) >= MAX_WAITING:
            return SEND_AGAIN
        wanted = (own[-1].first + own[-1].count) % WORD if own else self.expected.get(group)
        if wanted is None:
            # Later ones that are on their way when this one is refused are no beginning.
            wanted = self.expected[group] = first if self.is_joined else 0
        if first != wanted:
            return GAP
        made = Assigned(group, first, count, self.next)
        self.next = made.end
        self.waiting.append(made)
        return made

    def answered(self, batch: Assigned, code: int, offset: int, append_time_ms: int) -> int:
        """Take the broker's answer to a batch; return what the producer is told."""
        batch.is_under_way = False
        if code in (0, REPEATED):
            if not batch.is_stored:
                self._store(batch)
            if self.whole_from is None or batch.number < self.whole_from:
                self.whole_from = batch.number
            if not code:
                batch.offset, batch.append_time_ms = offset, append_time_ms
            self._settle()
            return code
        if batch.is_stored:
            # Later ones of other virtual partitions have displaced it from the five that the broker remembers.
            return (0 if batch.offset >= 0 else REPEATED) if code == GAP else code
        if batch not in self.waiting:
            return code
        is_behind = self.waiting[0] is not batch or self.refused_from is not None
        if code in REFUSALS and batch.is_sure:
            self.waiting.remove(batch)
            known = batch.number if self.refused_from is None else self.refused_from
            self.refused_from = min(batch.number, known)
        else:
            batch.is_sure = False
        self._settle()
        return SEND_AGAIN if code == GAP and is_behind else code

    def unanswered(self, batch: Assigned) -> None:
        """Take it that there is no answer to a batch."""
        batch.is_under_way = batch.is_sure = False
        self._settle()

    def _store(self, batch: Assigned) -> None:
        self.waiting.remove(batch)
        batch.is_stored = True
        known = self.stored.setdefault(batch.group, [])
        known.append(batch)
        del known[:-REMEMBERED]
        self.expected[batch.group] = (batch.first + batch.count) % WORD

    def _settle(self) -> None:
        """Use refused numbers again once nothing behind them is under way."""
        if self.refused_from is None:
            return
        behind = [batch for batch in self.waiting if batch.number > self.refused_from]
        if any(batch.is_under_way for batch in behind):
            return
        if behind or any(
            batch.number >= self.refused_from for known in self.stored.values() for batch in known
        ):
            self.is_lost = True  # Whether the broker has them is not known.
            return
        self.next, self.refused_from = self.refused_from, None


class TransactionNumbers:
    """Those of all producers of a tenant, in one process."""

    def __init__(self) -> None:
        """Know none."""
        self._known: OrderedDict[Key, Numbers] = OrderedDict()
        self._groups = 0

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._known)

    def find(self, key: Key) -> Numbers | None:
        """Return those of a producer, epoch and partition; None: there are none."""
        return self._known.get(key)

    def check(self, key: Key, known: Known, sender: object, *, is_one_transaction: bool) -> Numbers | int:
        """Return numbers that agree with what a broker says, or the error that a batch gets.

        Args:
            key: whose they are.
            known: the broker's word on the producer.
            sender: the connection that goes on with them.
            is_one_transaction: as in `must_ask`.
        """
        epoch, numbers = key[1], self._known.get(key)
        if known.epoch > epoch:
            return int(ErrorCode.INVALID_PRODUCER_EPOCH)
        here = known if known.epoch == epoch else NOTHING_KNOWN
        if numbers is not None:
            if numbers.is_lost or numbers.agrees(here, sender):
                return numbers
            if numbers.waiting and not here.has_transaction:
                numbers.is_lost = True
                return numbers
            self._forget(key)
        if here.has_transaction:
            return LOST
        # Where a broker knows nothing of a producer, it takes any sequence, for it may have forgotten it.
        is_joined = (here.last_sequence >= 0 or known.epoch < 0) and not is_one_transaction
        begin = here.last_sequence + 1
        whole_from = begin if known.epoch >= 0 else None
        numbers = self._known[key] = Numbers(begin, is_joined, sender, whole_from)
        return numbers

    def use(self, key: Key, group: PartitionGroup) -> int:
        """Note that numbers are used for a group; return how many were forgotten for it."""
        numbers = self._known[key]
        self._known.move_to_end(key)
        if group not in numbers.stored:
            numbers.stored[group] = []
            self._groups += 1
        forgotten = 0
        while self._groups > MAX_NUMBERED and len(self._known) > 1:
            self._forget(next(iter(self._known)))
            forgotten += 1
        return forgotten

    def _forget(self, key: Key) -> None:
        self._groups -= len(self._known.pop(key).stored)
