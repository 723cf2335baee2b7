"""The record that a gateway publishes: what it wants of each budget, and which share it has.

version uint8 = 1 │ flags uint8: 1 = it leaves │ member uint64 │ round uint64 │ count uint16
then for each budget    tag int64 │ demand uint16 │ share uint16        in parts of WHOLE (shares.py)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct, iter_unpack
from typing import NamedTuple

from bifrost.forwarding.exchange.shares import WHOLE

VERSION = 1
MAX_BUDGETS = 1_000
"""Most budgets in one record, 12 KB: with four records a second some 50 KB a second from each gateway."""

_HEAD, _BUDGET = Struct(">BBQQH"), Struct(">qHH")
_LEAVES = 1


class UnreadableRecord(ValueError):
    """A record is none that this version of the gateway understands."""


class Stake(NamedTuple):
    """What a member wants of a budget, and has of it, in parts."""

    demand: int
    share: int


NO_STAKE = Stake(0, 0)
"""What a member has to do with a budget that it does not use."""


@dataclass(frozen=True, slots=True)
class ExchangeRecord:
    """What a gateway has published."""

    member: int
    """The gateway's ID, a random number."""
    round: int
    """When it was sent by the gateway's own monotonic clock, in nanoseconds: means something to that gateway alone."""
    stakes: Mapping[int, Stake] = field(default_factory=dict)
    """The budgets that it uses, by tag."""
    leaves: bool = False
    """Whether it is the gateway's last record."""

    def to_bytes(self) -> bytes:
        """Return the content of the record.

        Raises:
            ValueError: it has more budgets than MAX_BUDGETS.
        """
        if len(self.stakes) > MAX_BUDGETS:
            raise ValueError(f"a record has at most {MAX_BUDGETS} budgets")
        flags = _LEAVES if self.leaves else 0
        head = _HEAD.pack(VERSION, flags, self.member, self.round, len(self.stakes))
        return head + b"".join(_BUDGET.pack(tag, *stake) for tag, stake in self.stakes.items())

    @classmethod
    def from_bytes(cls, content: bytes | memoryview) -> "ExchangeRecord":
        """Read the content of a record.

        Raises:
            UnreadableRecord: a newer version of the gateway, or something else, has written it.
        """
        if not content or content[0] != VERSION:
            version = f"version {content[0]}" if content else "nothing"
            raise UnreadableRecord(
                f"a record of the quota exchange has {version}: version {VERSION} is known"
            )
        if len(content) < _HEAD.size:
            raise UnreadableRecord("a record of the quota exchange is cut off")
        _, flags, member, round_, count = _HEAD.unpack_from(content)
        body = memoryview(content)[_HEAD.size :]
        if count > MAX_BUDGETS or len(body) != count * _BUDGET.size or flags & ~_LEAVES:
            raise UnreadableRecord("a record of the quota exchange is not as its head says")
        stakes = {
            tag: Stake(min(demand, WHOLE), min(share, WHOLE))
            for tag, demand, share in iter_unpack(_BUDGET.format, body)
        }
        return cls(member, round_, stakes, bool(flags & _LEAVES))
