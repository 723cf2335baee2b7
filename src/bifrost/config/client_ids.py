"""How the brokers see clients' IDs: the key `client_ids` of a tenant.

`Config.namespaced_client_ids`, which knows all accounts, decides the default of each tenant.
"""

from enum import StrEnum


class ClientIds(StrEnum):
    """How the broker sees a tenant's client IDs."""

    NAMESPACED = "namespaced"
    UNCHANGED = "unchanged"
