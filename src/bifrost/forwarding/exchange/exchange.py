"""The exchange as one gateway takes part in it: what it publishes, and which share of each budget it has.

    own use ──note──▶ Demands ──next_record──▶ topic ──hear──▶ Members ──settle──▶ stretch of each budget

Each budget of which a member has published something is divided by the demands of all members; of every other one each
member has the same share, so that any of them can begin to use it at once.
"""

from collections.abc import Mapping

from bifrost.forwarding.exchange.demands import Demands
from bifrost.forwarding.exchange.exchange_record import NO_STAKE, ExchangeRecord, Stake
from bifrost.forwarding.exchange.members import Members
from bifrost.forwarding.exchange.shares import WHOLE, divide
from bifrost.forwarding.quotas.shared_budgets import START_STRETCH, SharedBudgets


class Exchange:
    """One gateway's part in the exchange."""

    def __init__(self, member: int, budgets: SharedBudgets) -> None:
        """Take no part yet.

        Args:
            member: the gateway's ID.
            budgets: its budgets; another process of the gateway may have taken part with them before.
        """
        self.members, self._budgets = Members(member), budgets
        self._demands = Demands()
        self._places: dict[int, int] = {}
        self._known = 0
        self._divided: set[int] = set()
        """The budgets that were divided by demands, and not equally, when last settled."""
        self._blocked_until_ns = 0

    @property
    def in_use(self) -> int:
        """How many budgets the gateway has published in its last record that came back."""
        return len(self.members.own.stakes)

    def begin(self, now_ns: int) -> None:
        """Begin to take part; what was used before is no demand."""
        self._budgets.uses()
        self.members.begin(now_ns)
        # Another process of this gateway may have left any shares behind.
        self._enter_new()
        self._divided = set(self._places)

    def may_raise(self, now_ns: int) -> bool:
        """Whether shares may grow: the gateway knows all members, is not cut off, and understands all records."""
        return self.members.is_current(now_ns) and now_ns >= self._blocked_until_ns

    def hear(self, record: ExchangeRecord, now_ns: int) -> list[int]:
        """Take a record that was read; return the members that are found to be gone by it."""
        return self.members.hear(record, now_ns)

    def block(self, until_ns: int) -> None:
        """Let no share grow until then: there is a record that is not understood."""
        self._blocked_until_ns = max(self._blocked_until_ns, until_ns)

    def next_record(self, now_ns: int) -> ExchangeRecord:
        """Return what the gateway publishes now, by what was used since the last call."""
        self._enter_new()
        uses = self._budgets.uses()
        self._places.update((use.tag, use.place) for use in uses)
        self._demands.note([(use, self._share_at(use.place)) for use in uses], now_ns)
        shares = {
            tag: self._share_at(self._places[tag])
            for tag in self._demands.tags(now_ns)
            if tag in self._places
        }
        return ExchangeRecord(self.members.member, now_ns, self._demands.stakes(shares, now_ns))

    def settle(self, now_ns: int) -> None:
        """Set the shares by what was heard; before the gateway knows all members it has the least ones."""
        if not self.members.has_joined:
            return
        self._enter_new()
        records = self.members.records()
        may_raise, equal = self.may_raise(now_ns), WHOLE // len(records)
        named = {tag for record in records for tag in record.stakes}
        divided = {tag for tag in named if tag in self._places}
        if may_raise or WHOLE / equal > (self._budgets.new_stretch or START_STRETCH):
            if self._budgets.new_stretch != WHOLE / equal:
                self._divided = set(self._places)
            self._budgets.new_stretch = WHOLE / equal
        for tag in divided:
            self._set(tag, _share(self.members.member, tag, records), records, may_raise=may_raise)
        for tag in self._divided - divided:
            if tag in self._places:
                self._set(tag, equal, records, may_raise=may_raise)
        self._divided = divided if may_raise else self._divided | divided

    def _set(self, tag: int, share: int, records: list[ExchangeRecord], *, may_raise: bool) -> None:
        """Give this gateway a share of a budget, or as much more of it as no other one has."""
        place = self._places[tag]
        if self._budgets.tag_at(place) != tag:  # Another budget has the place.
            del self._places[tag]
            return
        has = self._share_at(place)
        if share > has:
            if not may_raise:
                return
            taken = sum(
                record.stakes.get(tag, NO_STAKE).share
                for record in records
                if record.member != self.members.member
            )
            share = max(has, min(share, WHOLE - taken))
        if share != has:
            self._budgets.stretch(place, WHOLE / share)

    def _enter_new(self) -> None:
        """Note the places of budgets that are new."""
        for place, tag in self._budgets.tags(self._known):
            self._places[tag] = place
        self._known = len(self._budgets)

    def _share_at(self, place: int) -> int:
        return max(1, round(WHOLE / self._budgets.stretch_at(place)))


def _share(member: int, tag: int, records: list[ExchangeRecord]) -> int:
    """Return a member's share of a budget, in parts."""
    stakes: list[Mapping[int, Stake]] = [record.stakes for record in records]
    shares = divide([one.get(tag, NO_STAKE).demand for one in stakes])
    return next(share for record, share in zip(records, shares, strict=True) if record.member == member)
