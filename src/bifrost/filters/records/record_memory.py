"""How much memory the unpacked records of a process, a request and a batch may take, and what happens beyond it."""

from collections import Counter

from bifrost.config.fields.limits import Limits
from bifrost.records.codec.errors import NoRoom, TooLarge
from bifrost.records.codec.memory import MemoryBudget

_SETTINGS = {
    "process": "max_unpacked_bytes_total",
    "request": "max_unpacked_bytes",
    "batch": "max_unpacked_batch_bytes",
}
"""The setting of each bound."""


class RecordMemory:
    """The budgets of one process."""

    def __init__(self, limits: Limits, hits: Counter[tuple[str, str]]) -> None:
        """Begin with nothing used.

        Args:
            limits: the bounds.
            hits: counts how often one was reached, by its setting and the tenant.
        """
        self._process = MemoryBudget("process", limits.max_unpacked_bytes_total, is_shared=True)
        self.hits = hits
        self.limit(limits)

    def limit(self, limits: Limits) -> None:
        """Use other bounds from now on."""
        self._process.limit = limits.max_unpacked_bytes_total
        self._request_bytes = min(limits.max_unpacked_bytes, limits.max_unpacked_bytes_total)
        self._batch_bytes = min(limits.max_unpacked_batch_bytes, self._request_bytes)

    @property
    def used(self) -> int:
        """Bytes that are used now."""
        return self._process.used

    def of_request(self) -> MemoryBudget:
        """Return the budget of a new request or response."""
        return MemoryBudget("request", self._request_bytes, self._process)

    def of_batch(self, request: MemoryBudget) -> MemoryBudget:
        """Return the budget of the next batch of a request."""
        return MemoryBudget("batch", self._batch_bytes, request)

    def note(self, error: TooLarge | NoRoom, tenant: str) -> None:
        """Count that a bound was reached."""
        self.hits[_SETTINGS[error.bound], tenant] += 1
