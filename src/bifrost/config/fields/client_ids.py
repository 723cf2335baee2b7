"""What the brokers see of clients' IDs: the key `client_ids` of a tenant.

Which tenants get which by default is for `Config.namespaced_client_ids` to say, which knows all accounts.
"""

from enum import StrEnum


class ClientIds(StrEnum):
    """How the broker sees a tenant's client IDs."""

    NAMESPACED = "namespaced"
    UNCHANGED = "unchanged"
