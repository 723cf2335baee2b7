"""The exchange's counts for the metrics."""

from collections.abc import Mapping
from dataclasses import dataclass, field

SHARE_UNITS, NO_SHARE = 1_000_000, -1
"""How shares are written in counters of workers: in millionths; and what stands for no budget."""


@dataclass(frozen=True, slots=True)
class ExchangeCounts:
    """What one process, or all workers, know of the exchange."""

    members: int = 0
    """Gateways that take part, this one among them; 0: this one does not take part yet."""
    budgets: int = 0
    """Budgets of which this gateway has published what it wants."""
    is_up: bool = False
    """Whether its records come back: it is not cut off."""
    lag_ms: int = 0
    """How long the last record took to come back, in milliseconds."""
    records: Mapping[str, int] = field(default_factory=dict)
    """Records by what became of them: `written`, `not_written`, `read`, `unreadable`."""
    shares: Mapping[tuple[str, str], float] = field(default_factory=dict)
    """The smallest share that this gateway has of a budget, by quota and tenant: 1 is the whole."""
