"""Counts what one tenant sent and read, and proves that no record crossed to another tenant. No I/O.

Every record names its tenant. A record that another tenant reads has *crossed*; one that the broker acknowledged and
the consumer never read is *lost*. Records that a user sends with the tenant's credentials, as the demo suggests, name
no tenant: they are shown and counted separately.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from dataclasses import dataclass
from typing import Literal

CONSOLE_LINES = 200
"""Lines kept for the console: more than any terminal shows."""


@dataclass(frozen=True, slots=True)
class Order:
    """One record of the demo."""

    tenant: str
    number: int
    """Counts up from 1 for each tenant."""
    item: str
    amount: int

    def to_bytes(self) -> bytes:
        """Return the record's value: JSON that is readable in a console consumer."""
        fields = {"tenant": self.tenant, "order": self.number, "item": self.item, "amount": self.amount}
        return json.dumps(fields).encode()

    def __str__(self) -> str:
        return f"#{self.number} {self.amount} {self.item}"


def read_order(value: bytes | None) -> Order | None:
    """Return the order in a record's value, or None if the demo did not write it."""
    try:
        fields = json.loads(value or b"")
        return Order(fields["tenant"], int(fields["order"]), str(fields["item"]), int(fields["amount"]))
    except (ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True)
class ConsoleLine:
    """One line of a tenant's console."""

    kind: Literal["sent", "read", "crossed", "failed"]
    text: str


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of records of one tenant."""

    sent: int = 0
    """Records that the broker acknowledged."""
    read: int = 0
    """The tenant's own records that it read, each counted once."""
    crossed: int = 0
    """Another tenant's records that it read."""
    lost: int = 0
    """Records that were acknowledged and not read (yet)."""
    failed: int = 0
    """Records that were not acknowledged."""
    others: int = 0
    """Records that it read and that the demo did not write."""

    @property
    def is_clean(self) -> bool:
        """Whether the tenant read every record that it sent, and no other tenant's."""
        return self.sent > 0 and not (self.crossed or self.lost or self.failed)


class Ledger:
    """Counts what one tenant sends and reads. Safe to use from several threads."""

    def __init__(self, tenant: str) -> None:
        self.tenant = tenant
        self._lock = threading.Lock()
        self._acknowledged: set[int] = set()
        self._read: set[int] = set()
        self._crossed = 0
        self._failed = 0
        self._others = 0
        self._lines: deque[ConsoleLine] = deque(maxlen=CONSOLE_LINES)
        self._written = 0

    def note_sent(self, order: Order) -> None:
        """Count an order that the broker has acknowledged."""
        with self._lock:
            self._acknowledged.add(order.number)
            self._write(ConsoleLine("sent", str(order)))
            if order.number in self._read:
                self._write(ConsoleLine("read", str(order)))

    def note_failed(self, what: str) -> None:
        """Count a send or read that failed, and show why it did."""
        with self._lock:
            self._failed += 1
            self._write(ConsoleLine("failed", what))

    def note_read(self, value: bytes | None) -> None:
        """Count a record that was read, by the tenant that it names."""
        order = read_order(value)
        with self._lock:
            if order is None:
                self._others += 1
                self._write(ConsoleLine("read", "(yours) " + _printable(value)))
            elif order.tenant != self.tenant:
                self._crossed += 1
                self._write(ConsoleLine("crossed", f"{order} of {order.tenant}"))
            else:
                self._read.add(order.number)
                # A consumer can be faster than the acknowledgement; lines in that order would be confusing.
                if order.number in self._acknowledged:
                    self._write(ConsoleLine("read", str(order)))

    def counts(self) -> Counts:
        """Return the current numbers."""
        with self._lock:
            return Counts(
                sent=len(self._acknowledged),
                read=len(self._read),
                crossed=self._crossed,
                lost=len(self._acknowledged - self._read),
                failed=self._failed,
                others=self._others,
            )

    def console(self) -> tuple[list[ConsoleLine], int]:
        """Return the last lines, oldest first and at most CONSOLE_LINES, and how many there ever were."""
        with self._lock:
            return list(self._lines), self._written

    def _write(self, line: ConsoleLine) -> None:
        self._lines.append(line)
        self._written += 1


def _printable(value: bytes | None) -> str:
    text = (value or b"").decode("utf-8", errors="replace")
    return "".join(char if char.isprintable() else "." for char in text[:200])
