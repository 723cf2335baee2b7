"""Tenants' shares of something, in percent."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Shares:
    """The share of a tenant that has none of its own, and those of the others by name; None: none of its own."""

    usual_percent: int = 0
    own_percent: Mapping[str, int | None] = field(default_factory=dict)

    def of(self, tenant: str) -> int:
        """Return a tenant's share, in percent."""
        own = self.own_percent.get(tenant)
        return self.usual_percent if own is None else own
