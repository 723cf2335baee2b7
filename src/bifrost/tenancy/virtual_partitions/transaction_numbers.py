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
are never used on a guess: transaction_claims.py says how a process knows that no other has given any.

Source: Kafka's ProducerAppendInfo.checkSequence, ProducerStateEntry (which keeps five batches).
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import NamedTuple

from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.transaction_claims import TransactionClaims, Wanted
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
or one of each of 512, and more. Beyond them batches have to be sent again."""
LIMIT = "virtual_partitions_numbered"
"""What the metrics call it."""

SEND_AGAIN = int(ErrorCode.NOT_ENOUGH_REPLICAS)
"""The error with which producers send a batch again and take it for not stored, without asking for metadata first."""
GAP = int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
REPEATED = int(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)
LOST = -2
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
GIVEN_UP = frozenset(
    {
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.INVALID_REQUIRED_ACKS,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TIMESTAMP,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_RECORD,
    }
)
"""Those after which a client gives a batch up and may stay in its epoch. It must not if an earlier try is still under
way: see transaction_claims.py."""

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
    transaction_start: int = -1
    """Where its open transaction begins in the partition; -1: it has none there."""


NOTHING_KNOWN = Known()


@dataclass(eq=False, slots=True)
class Numbers:
    """Those of one producer, epoch and physical partition."""

    next: int
    is_joined: bool
    """Whether virtual partitions may be anywhere in their sequences: others have numbered before."""
    claim_offset: int
    """Where the claim is stored with which the transaction begins in the partition."""
    is_one_transaction: bool
    """Whether the epoch has one transaction (transactions V2, KIP-890)."""
    sender: object
    """The connection that uses them."""
    stored: dict[PartitionGroup, list[Assigned]] = field(default_factory=dict)
    """The last ones of each virtual partition, in order."""
    waiting: list[Assigned] = field(default_factory=list)
    """Those that are not known to be stored, in order."""
    expected: dict[PartitionGroup, int] = field(default_factory=dict)
    """The sequence with which the producer goes on behind what is stored."""
    refused_from: int | None = None
    """The lowest number that was refused, until it is used again."""
    is_lost: bool = False

    def must_ask(self, sender: object) -> bool:
        """Whether the broker must be asked before the next batch of a connection if the transaction is still the same.

        As long as the client awaits an answer over the same connection, it ends no transaction.
        """
        is_waiting = sender is self.sender and any(batch.is_under_way for batch in self.waiting)
        return not (self.is_one_transaction or is_waiting)

    def go_on(self, sender: object) -> None:
        """Go on for a connection. What is under way on another one may arrive at any time, or never."""
        if sender is self.sender:
            return
        self.sender = sender
        for batch in self.waiting:
            batch.is_sure = batch.is_under_way = False
        if self.refused_from is not None:
            self.is_lost = True

    def begin_transaction(self, claim_offset: int, sender: object) -> None:
        """Go on behind the claim of the next transaction; nothing of the one before is without an answer."""
        self.next, self.claim_offset, self.sender = self.next + 1, claim_offset, sender

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
        elif code in GIVEN_UP:
            self.is_lost = True
            return LOST
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
        self.claims = TransactionClaims()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._known)

    def find(self, key: Key) -> Numbers | None:
        """Return those of a producer, epoch and partition; None: there are none."""
        return self._known.get(key)

    def check(self, key: Key, known: Known, sender: object) -> Numbers | Wanted | int:
        """Return numbers that hold by what a broker says, the claim that is wanted, or the error that a batch gets.

        Args:
            key: whose they are.
            known: the broker's word on the producer.
            sender: the connection that goes on with them.
        """
        epoch, numbers = key[1], self._known.get(key)
        if known.epoch > epoch:
            return int(ErrorCode.INVALID_PRODUCER_EPOCH)
        here = known if known.epoch == epoch else NOTHING_KNOWN
        if here.transaction_start >= 0:
            if numbers is not None and numbers.claim_offset == here.transaction_start:
                numbers.go_on(sender)
                return numbers
            if self.claims.number_of(key) != here.last_sequence:
                return LOST
            # A claim of this process whose answer was lost: what is stored there decides.
            return Wanted(here.last_sequence, is_joined=True)
        if numbers is not None and (numbers.is_lost or numbers.waiting):
            return LOST
        # Where a broker knows nothing of a producer, it may have forgotten it.
        is_joined = here.last_sequence >= 0 or known.epoch < 0
        return Wanted((here.last_sequence + 1) % WORD, is_joined)

    def settle(
        self,
        key: Key,
        claim: Wanted,
        stored: tuple[int, bytes | None],
        sender: object,
        *,
        is_one_transaction: bool,
    ) -> Numbers | int:
        """Return the numbers behind a claim, or the error that a batch gets.

        Args:
            key: whose they are.
            claim: what was wanted.
            stored: where the broker says that it is stored, and whose mark is there.
            sender: the connection that goes on with them.
            is_one_transaction: whether an epoch has one transaction (transactions V2, KIP-890).
        """
        offset, mark = stored
        numbers = self._known.get(key)
        if numbers is not None and numbers.claim_offset == offset:
            numbers.go_on(sender)
            return numbers
        if not self.claims.take(key, claim.number, mark):
            return LOST
        if numbers is not None:
            if numbers.next % WORD == claim.number and not (numbers.waiting or numbers.is_lost):
                numbers.begin_transaction(offset, sender)
                return numbers
            self._forget(key)
        numbers = Numbers(claim.number + 1, claim.is_joined, offset, is_one_transaction, sender)
        self._known[key] = numbers
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
