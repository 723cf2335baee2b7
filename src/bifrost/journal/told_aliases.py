"""What the journal tells of moved and shared topics, so that its readers know whose an access to one is.

For each tenant and each topic of which it has something that the topic's prefix does not say: an event when it gets it,
and one when that ends. At a gateway's start it gets all that there is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bifrost.tenancy.namespaces.topic_aliases import TenantAliases


@dataclass(frozen=True, slots=True)
class ToldAlias:
    """A topic that a tenant has got, or has no longer."""

    is_begun: bool
    physical: str
    place: str
    """The namespace and the name there."""
    access: str
    """owner, read or read-write."""


class ToldAliases:
    """What one gateway has told of all tenants."""

    def __init__(self) -> None:
        """Have told nothing."""
        self._told: dict[str, dict[tuple[str, str], str]] = {}

    def news(self, tenant: str, part: TenantAliases | None) -> Iterator[ToldAlias]:
        """Yield what has changed since the last time, what has ended first.

        Args:
            tenant: the tenant.
            part: what it has now; None: nothing.
        """
        has: dict[tuple[str, str], str] = {}
        for physical, standings in () if part is None else list(part.standings.items()):
            for one in standings:
                if one.is_home and one.access is None:
                    continue  # Its prefix says so.
                access = "owner" if one.access is None else str(one.access)
                has[physical.decode(), str(one.place)] = access
        told = self._told.pop(tenant, {})
        if has:
            self._told[tenant] = has
        for key, access in told.items():
            if access != has.get(key):
                yield ToldAlias(False, *key, access)
        for key, access in has.items():
            if access != told.get(key):
                yield ToldAlias(True, *key, access)
