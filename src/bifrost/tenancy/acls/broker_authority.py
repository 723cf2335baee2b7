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
        self.kept: int | None = None
        """How many ACLs of the tenant the brokers keep, at the most; None: they were not counted."""
        self.created = 0
        """How many this process has asked the brokers to create."""
        self.counted_at = 0
        """`created` when they were counted last."""

    def count(self, found: int, created_before: int) -> None:
        """Take how many the brokers have told, who were asked when `created` was `created_before`."""
        self.kept = found + self.created - created_before
        self.counted_at = created_before

    def create(self, count: int) -> None:
        """Note that the brokers are asked to create so many."""
        self.created += count
        self.kept = (self.kept or 0) + count

    def take_accounts(self, accounts: Mapping[str, str]) -> None:
        """Take the users that the configuration has now."""
        self.accounts = dict(accounts)
