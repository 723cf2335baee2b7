"""The rights in a tenant whose ACLs the brokers keep (`acls.mode: broker`): the gateway itself permits everything.

What it knows are the accounts of the tenant's users at the brokers, which are the principals there.
"""

from collections.abc import Mapping

from bifrost.tenancy.acls.open_authority import OpenAuthority
from bifrost.tenancy.acls.stored_acls import StoredAcls


class BrokerAuthority(OpenAuthority):
    """Permits everything, and leaves the decision to the brokers."""

    mode = "broker"

    def __init__(self, tenant: str, stored: StoredAcls) -> None:
        """Have no users; `take_accounts` takes them."""
        super().__init__(tenant, stored)
        self.accounts: Mapping[str, str] = {}
        """The account of each user at the brokers, both without `User:`."""

    def take_accounts(self, accounts: Mapping[str, str]) -> None:
        """Take the users that the configuration has now."""
        self.accounts = dict(accounts)
