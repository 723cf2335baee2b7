"""Keeps which months were billed and which bills were issued; issued bills do not change any more. Pure.

    open ──bill──> open, the next revision ──bill --issue──> issued ──bill──> issued, told what differs
                                                                │
                            the month after the last issued one carries what differs, as corrections

Months are issued in order and after their end. So there is always exactly one month, the one after the last issued
month, whose bill carries the corrections of those before: none is forgotten, none is made twice.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bifrost.pipeline.billing.months import month_after, period_of
from bifrost.pipeline.errors import PipelineError


@dataclass(frozen=True, slots=True)
class Ledger:
    """The billed and issued revisions of each month, as the bills' tables remember them."""

    revisions: Mapping[str, int] = field(default_factory=dict)
    """The newest revision of each month that was billed."""

    issued: Mapping[str, int] = field(default_factory=dict)
    """The revision of each month that was issued."""

    @classmethod
    def read(cls, facts: Mapping[str, Any]) -> Ledger:
        """Return the ledger in a commit's facts; commits from before bills could be issued have none issued."""
        return cls(facts.get("revisions", {}), facts.get("issued", {}))

    @property
    def facts(self) -> dict[str, Any]:
        """Return the ledger as a commit's facts."""
        return {"revisions": dict(self.revisions), "issued": dict(self.issued)}

    @property
    def correcting(self) -> str | None:
        """The month whose bill carries corrections: the one after the last issued; None while none was issued."""
        return month_after(max(self.issued)) if self.issued else None

    def is_issued(self, month: str) -> bool:
        """Return whether a month's bill was issued."""
        return month in self.issued

    def corrected_by(self, month: str, limit: int) -> list[str]:
        """Return the months that a month's bill corrects: the newest `limit` that were issued, or none."""
        return sorted(self.issued)[-limit:] if limit > 0 and month == self.correcting else []

    def billed(self, month: str, revision: int) -> Ledger:
        """Return the ledger with a month's new revision."""
        return Ledger({**self.revisions, month: revision}, self.issued)

    def issue(self, month: str, today: datetime.date) -> Ledger:
        """Return the ledger in which a month's newest revision is issued.

        Args:
            month: one that was billed.
            today: in UTC.
        Raises:
            PipelineError: the month is not over, or another one has to be issued first.
        """
        self.check_issuable(month, today)
        return Ledger(self.revisions, {**self.issued, month: self.revisions[month]})

    def check_issuable(self, month: str, today: datetime.date) -> None:
        """Check that a month may be issued.

        Raises:
            PipelineError: the month is not over, or another one has to be issued first.
        """
        after = period_of(month)[1]
        if today < after:
            raise PipelineError(
                f"{month} is not over before {after} (UTC): bill it without --issue until then"
            )
        if self.correcting not in (None, month):
            raise PipelineError(
                f"months are issued in their order, and the next one is {self.correcting}: "
                f"bill --month {self.correcting} --issue first"
            )
