"""A tenant with a namespace that is closed to its other users.

One user works in the namespace `eu`. The others are bound to the namespace beside it, and a user of the whole tenant
who may do everything but for the ACLs of `eu`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.gateways.gateway_process import SOYLENT

TENANT = replace(SOYLENT, name="family")
VICTIM, SIBLING, OUTSIDER = "family-eu", "family-us", "family-outsider"
PATHS = ("eu:", "family:eu:", "--eu.", "eu.")
"""How an attacker may write that a name is in the victim's namespace."""
CLOSED = [
    {"principal": f"User:{VICTIM}", "operation": "ALL", "resource_type": "NAMESPACE", "name": "eu"},
    *(
        {"principal": "User:*", "operation": "ALL", "resource_type": kind, "name": "*"}
        for kind in ("TOPIC", "GROUP", "TRANSACTIONAL_ID")
    ),
    {"principal": "User:*", "operation": "ALL", "resource_type": "CLUSTER", "name": "kafka-cluster"},
]


def close_to_others(configuration: dict[str, Any]) -> None:
    """Give a configuration the users of the tenant, and the ACLs."""
    (tenant,) = configuration["tenants"]
    (own,) = tenant["auth"]["credentials"]
    tenant["auth"]["credentials"] = [
        own | {"username": VICTIM, "namespace": "eu"},
        own | {"username": SIBLING, "namespace": "us"},
        own | {"username": OUTSIDER},
    ]
    tenant["acls"] = {"rules": CLOSED}
