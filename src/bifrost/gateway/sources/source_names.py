"""The sources that there are, by the names that keys of transforms have for them (`Key.source`)."""

from collections.abc import Callable
from importlib import import_module
from typing import Protocol

from bifrost.filters.records.sources import Source, Upstream

MODULES = {
    "deks": "dek_source",
    "schemas": "schema_source",
    "transforms": "transform_source",
    "readings": "reading_source",
    "quarantine": "quarantine_source",
}
"""The module of each source in this package. It has a function `make`, of a SourceContext."""


class SourceContext(Protocol):
    """What a source gets from its process."""

    now_ns: Callable[[], int]
    """A monotonic clock, in nanoseconds."""

    def upstream_of(self, tenant: str) -> Upstream | None:
        """Return the physical cluster of a tenant whose messages have waited."""

    def note_limit(self, limit: str, tenant: str) -> None:
        """Count that a bound of a source was reached."""

    def count(self, source: str, number: str, amount: int = 1, tenant: str = "") -> None:
        """Count something that a source did, by its name or that of a filter; for one tenant, if it was for one."""


def make_source(name: str, context: SourceContext) -> Source:
    """Load the module of a source, and make it."""
    made: Source = import_module(f"{__package__}.{MODULES[name]}").make(context)
    return made
