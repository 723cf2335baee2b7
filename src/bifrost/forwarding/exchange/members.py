"""The gateways of a platform as one of them knows them: which are there, and what each has published last.

    a record of another ──▶ it is there        own records come back for GONE_NS, and none of it between them ──▶ gone

Times are arrivals by the gateway's own clock. While its own records do not come back it learns nothing, so it forgets
no member.
"""

from dataclasses import dataclass

from bifrost.forwarding.exchange.exchange_record import ExchangeRecord

GONE_NS = 1_000_000_000
"""How long a member may be silent, 1 s: four of its records. With the time between two records, and for reading, its
share is free again within two seconds."""

LONGEST_GAP_NS = 500_000_000
"""How much of the time between two own records counts, 500 ms: while the brokers pause, all are silent, and afterwards
what waited comes at once."""

FRESH_NS = 1_000_000_000
"""How long ago the gateway may have sent the last of its records that came back; then it is cut off."""

MAX_MEMBERS = 1_000
"""Most gateways, far more than a platform has: a foreign writer cannot take all memory."""


@dataclass(slots=True)
class _Member:
    """Another gateway."""

    record: ExchangeRecord
    has_echo: bool = False
    """Whether an own record has come back since its last one."""
    silent_ns: int = 0
    """The time since then in which own records came back."""


class Members:
    """The gateways, as one of them has read the records."""

    def __init__(self, member: int) -> None:
        """Know none but this gateway.

        Args:
            member: its own ID.
        """
        self.member = member
        self.own = ExchangeRecord(member, 0)
        """The last own record that came back."""
        self.lag_ns = 0
        """How long it took."""
        self._others: dict[int, _Member] = {}
        self._first_echo_ns: int | None = None
        self._last_echo_ns = 0
        self._since = 0

    def begin(self, now_ns: int) -> None:
        """Begin to listen: own records that were sent before are of another process of this gateway."""
        self._since, self._first_echo_ns = now_ns, None

    @property
    def has_joined(self) -> bool:
        """Whether own records have come back for so long that every other member was heard."""
        first = self._first_echo_ns
        return first is not None and self._last_echo_ns - first >= GONE_NS

    def is_current(self, now_ns: int) -> bool:
        """Whether the gateway's own records come back: it is not cut off."""
        return self.has_joined and now_ns - self.own.round < FRESH_NS

    def records(self) -> list[ExchangeRecord]:
        """Return the last record of each member, this gateway's own among them, in the order of their IDs."""
        found = [self.own, *(one.record for one in self._others.values())]
        return sorted(found, key=lambda one: one.member)

    def others(self) -> list[ExchangeRecord]:
        """Return the last records of the other members."""
        return [one.record for one in self._others.values()]

    def hear(self, record: ExchangeRecord, now_ns: int) -> list[int]:
        """Take a record that was read; return the members that are found to be gone by it.

        Args:
            record: of any member, in the order of the log.
            now_ns: when it came.
        """
        if record.member == self.member:
            return self._hear_own(record, now_ns)
        if record.leaves:
            return [record.member] if self._others.pop(record.member, None) else []
        if record.member in self._others or len(self._others) < MAX_MEMBERS:
            self._others[record.member] = _Member(record)
        return []

    def _hear_own(self, record: ExchangeRecord, now_ns: int) -> list[int]:
        if record.round < self._since:
            return []
        self.own, self.lag_ns = record, now_ns - record.round
        gap_ns, self._last_echo_ns = min(now_ns - self._last_echo_ns, LONGEST_GAP_NS), now_ns
        if self._first_echo_ns is None:
            self._first_echo_ns = now_ns
        gone = []
        for member, one in self._others.items():
            one.silent_ns += gap_ns if one.has_echo else 0
            one.has_echo = True
            if one.silent_ns >= GONE_NS:
                gone.append(member)
        for member in gone:
            del self._others[member]
        return gone
