"""The identity of a client in the journal: the fields that all its rows share."""

from dataclasses import dataclass, replace

ANY_PRINCIPAL = "*"
"""Stands for the principal in rows of a tenant that had no room even for each principal. A user has this name only if
the operator chose it."""


@dataclass(frozen=True, slots=True)
class Software:
    """The software that a client names in ApiVersions v3 and later (KIP-511)."""

    name: str | None = None
    version: str | None = None


UNNAMED = Software()


@dataclass(frozen=True, slots=True)
class Identity:
    """The fields by which the journal distinguishes clients."""

    tenant: str
    upstream: str
    """The configuration's name of the physical cluster."""
    namespace: str
    """Tenant and tiers, with `:` between them."""
    principal: str
    """Such as `User:alice`."""
    client_id: bytes | None = None
    """The client ID in the client's requests."""
    software: Software = UNNAMED
    is_folded: bool = False
    """Whether this stands for all clients that found no room."""

    @property
    def folded(self) -> "Identity":
        """Return the identity under which this client is counted when there is no room for it."""
        return replace(self, client_id=None, software=UNNAMED, is_folded=True)

    @property
    def folded_whole(self) -> "Identity":
        """Return the identity under which this client is counted when there is no room even for its principal."""
        return replace(self.folded, namespace=self.tenant, principal=ANY_PRINCIPAL)
