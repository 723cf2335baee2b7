"""A tenant with a namespace that is closed to its other users.

One user works in the namespace `eu`. The others are bound to the namespace beside it, and a user of the whole tenant
who may do everything but for the ACLs of `eu`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from support.gateways.gateway_process import SOYLENT

if TYPE_CHECKING:
    from support.gateways.gateway_process import TenantSpec

OPEN = [
    *(
        {"principal": "User:*", "operation": "ALL", "resource_type": kind, "name": "*"}
        for kind in ("TOPIC", "GROUP", "TRANSACTIONAL_ID")
    ),
    {"principal": "User:*", "operation": "ALL", "resource_type": "CLUSTER", "name": "kafka-cluster"},
]
"""What everybody may do, but for the namespace."""


@dataclass(frozen=True)
class ClosedNamespace:
    """A tenant with such a namespace. Each test module has one of its own: the forged names of another one would stay
    at the broker that they share, and look like a leak.
    """

    name: str

    @property
    def tenant(self) -> TenantSpec:
        """Return the tenant."""
        return replace(SOYLENT, name=self.name)

    @property
    def users(self) -> tuple[str, str, str]:
        """Return the user of the namespace, that of the one beside it, and the one of the whole tenant."""
        return f"{self.name}-eu", f"{self.name}-us", f"{self.name}-outsider"

    @property
    def paths(self) -> tuple[str, ...]:
        """Return how an attacker may write that a name is in the victim's namespace."""
        return "eu:", f"{self.name}:eu:", "--eu.", "eu."

    def close_to_others(self, configuration: dict[str, Any]) -> None:
        """Give a configuration the users of the tenant, and the ACLs."""
        (tenant,) = configuration["tenants"]
        (own,) = tenant["auth"]["credentials"]
        victim, sibling, outsider = self.users
        tenant["auth"]["credentials"] = [
            own | {"username": victim, "namespace": "eu"},
            own | {"username": sibling, "namespace": "us"},
            own | {"username": outsider},
        ]
        closed = {
            "principal": f"User:{victim}",
            "operation": "ALL",
            "resource_type": "NAMESPACE",
            "name": "eu",
        }
        tenant["acls"] = {"rules": [closed, *OPEN]}
