"""Whose usage it is: what all rows of one client have in common."""

from dataclasses import dataclass, replace

ANYBODY = "*"
"""Stands for a principal in rows that not even the principals found room in; no user name is this one's only
character but by an operator's own choice."""


@dataclass(frozen=True, slots=True)
class Software:
    """What a client says it is in ApiVersions v3 and later (KIP-511)."""

    name: str | None = None
    version: str | None = None


UNNAMED = Software()


@dataclass(frozen=True, slots=True)
class Identity:
    """A client as far as the journal tells one from another."""

    tenant: str
    upstream: str
    """The configuration's name of the physical cluster."""
    namespace: str
    """Tenant and tiers, with `:` between."""
    principal: str
    """Such as `User:alice`."""
    client_id: bytes | None = None
    """As its requests say it."""
    software: Software = UNNAMED
    is_folded: bool = False
    """Whether this stands for all that found no room."""

    @property
    def folded(self) -> "Identity":
        """Return what stands for this one when there is no room for it."""
        return replace(self, client_id=None, software=UNNAMED, is_folded=True)

    @property
    def folded_whole(self) -> "Identity":
        """Return what stands for it when there is no room even for its principal."""
        return replace(self.folded, namespace=self.tenant, principal=ANYBODY)
