"""Claims: by one record in its physical partition, one process alone numbers a transaction there.

    client ──▶ gateway: a batch          gateway ──▶ broker: the claim, a record with a random mark, in the transaction
                                         gateway ──▶ broker: what is stored where the broker says the claim is?
                                         its own mark ──▶ the gateway numbers the batches that follow
                                         another one, or OUT_OF_ORDER_SEQUENCE_NUMBER ──▶ the producer has to abort

A process that numbers batches (transaction_numbers.py) must know every number that any process has given in the same
producer ID, epoch and physical partition. A gateway may have died, or a broker may still have requests of a connection
that has ended, so no answer about the past (DescribeProducers) proves it. The claim does:

1. A broker stores one batch for a sequence of an epoch. It takes a second one for a repetition, if both have the same
   count of records and the first is among the last five, or refuses it. All claims for a sequence have one record, so
   one of them is stored, whoever sends how many of them, and in which order they arrive. What is stored says whose.
2. A process gives numbers after it has read its own mark, and only those behind the claim. So a late request can have
   a number of this transaction only if the claim of its process is stored here.
3. A process that does not have the numbers behind a claim meets an open transaction (transactions V1) or a used epoch
   (V2), and answers with an error after which a producer aborts. Numbers are given by one process, once.

What arrives before the marker that ends a transaction is part of that one. It was not acknowledged, so the transaction
is aborted, for a producer commits what is acknowledged. And the coordinator lets the next one begin in a partition
when the marker is there. What may arrive then:

* Transactions V2 (KIP-890): each has an epoch of its own, and the marker that ends one raises the epoch at the broker,
  which then refuses every late batch by it. The claim has the sequence 0: in an epoch that was used before, it is
  refused or is a repetition.
* Transactions V1: transactions of one epoch share the sequences. The claim has the one behind the last that the broker
  knows, and no transaction may be open there. A late batch with a higher one would be a batch of unknown fate in a
  transaction that was aborted. A producer that aborts with such a batch must raise the epoch before it goes on, which
  Kafka itself needs from it: there too the late batch would become part of the next transaction (KIP-360, KIP-890). So
  that it does, every error by which the gateway gives such a batch up is one after which clients raise the epoch. A
  process with a batch of unknown fate in a transaction that has ended gives no more numbers in the epoch.
* A late claim carries nothing of a client. If it becomes part of a transaction, another process cannot number that one,
  and the producer aborts it.

Two differences from the argument are Kafka's own: a broker before 3.6 stores a late batch of transactions V1 behind the
marker (KAFKA-14402), and an unclean election of a leader loses what was acknowledged.

Source: Kafka's ProducerAppendInfo.checkSequence, ProducerStateEntry.findDuplicateBatch, KIP-890.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from bifrost.tenancy.virtual_partitions.transaction_numbers import Key

MAX_CLAIMS = 10_000
"""Claims of a tenant that are not known to be stored, in one process: some 2 MiB. Beyond them the oldest are forgotten;
the producer whose claim is stored aborts its transaction."""


class Wanted(NamedTuple):
    """A claim that has to be stored before batches get numbers."""

    number: int
    """Its sequence."""
    is_joined: bool
    """Whether virtual partitions may be anywhere in their sequences: others have numbered before in this epoch."""


class TransactionClaims:
    """The claims of one process for one tenant that may be stored."""

    def __init__(self) -> None:
        """Have none."""
        self._marks: OrderedDict[Key, tuple[int, bytes]] = OrderedDict()

    def number_of(self, key: Key) -> int | None:
        """Return the sequence of a claim; None: there is none."""
        found = self._marks.get(key)
        return None if found is None else found[0]

    def mark(self, key: Key, number: int, new_mark: Callable[[], bytes]) -> bytes:
        """Return the mark of a claim, which stays the same as long as the claim may be stored."""
        found = self._marks.get(key)
        if found is None or found[0] != number:
            found = self._marks[key] = number, new_mark()
            while len(self._marks) > MAX_CLAIMS:
                self._marks.popitem(last=False)
        self._marks.move_to_end(key)
        return found[1]

    def take(self, key: Key, number: int, mark: bytes | None) -> bool:
        """Whether a stored mark is that of a claim of this process that has no numbers yet; it is forgotten then."""
        if mark is None or self._marks.get(key) != (number, mark):
            return False
        del self._marks[key]
        return True
