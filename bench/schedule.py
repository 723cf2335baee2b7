"""An open loop: when each record is due, whatever became of those before it.

A load that sends the next record after the answer to the last one stops whenever its subject does, and so leaves out
of its percentiles what would have come in the meantime ("coordinated omission"). Here a record's latency counts from
the moment it was due, not from when it could be sent.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """`count` records, evenly spread, the first at `start_s`."""

    start_s: float
    rate: float
    """Records per second."""
    count: int

    def due_s(self, index: int) -> float:
        """Return when a record is due, by the clock that `start_s` is of."""
        return self.start_s + index / self.rate

    def due_by(self, now_s: float) -> int:
        """Return how many records are due by now."""
        if now_s < self.start_s:
            return 0
        # A record that is due at this very moment counts, though the product may fall short of its index.
        return min(int((now_s - self.start_s) * self.rate + 1e-6) + 1, self.count)

    def latency_s(self, index: int, received_s: float) -> float:
        """Return how long after it was due a record was received."""
        return received_s - self.due_s(index)
