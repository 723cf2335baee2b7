"""The users of all tenants in the state, and who may have some: a model for a follower (state/state_model.py).

Clients authenticate by it (`Accounts`), and filters/users changes it.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.users.stored_user import StoredUser, read_user

USERS_LIMIT = "max_users"
"""The name of the setting, in the metrics."""


class Allowance(NamedTuple):
    """What the operator lets one tenant do."""

    name_prefix: str
    """What the names of its users begin with. No tenant's prefix is the beginning of another's."""
    max_users: int
    reserved: frozenset[str] = frozenset()
    """Names with this prefix that the configuration has: their users are the operator's."""


class StoredUsers:
    """The users of a process."""

    def __init__(self) -> None:
        """Begin without users; no tenant may have any."""
        self._allowed: Mapping[str, Allowance] = {}
        self._tenants: dict[str, str] = {}
        self._lengths: tuple[int, ...] = ()
        self._users: defaultdict[str, dict[str, StoredUser]] = defaultdict(dict)
        self.hits: Counter[tuple[str, str]] = Counter()
        """Counts how often a tenant had too many, by limit and tenant."""

    def allow(self, allowed: Mapping[str, Allowance]) -> None:
        """Let these tenants have users, and no others; users that are stored stay."""
        self._allowed = allowed
        self._tenants = {one.name_prefix: tenant for tenant, one in allowed.items()}
        self._lengths = tuple({len(one) for one in self._tenants})

    def allowance(self, tenant: str) -> Allowance | None:
        """Return what a tenant may do; None: it may have no users."""
        return self._allowed.get(tenant)

    def apply(self, key: StateKey, record: StateRecord | None) -> bool:
        """Take a user as it is from now on; return whether its clients may have to leave.

        Raises:
            ValueError: the record is no user's.
        """
        tenant, _, name = key.name.partition(":")
        before = self._users.get(tenant, {}).get(name)
        if record is None or record.body is None:
            if before is None:
                return False
            del self._users[tenant][name]
            if not self._users[tenant]:
                del self._users[tenant]
            return True
        user = self._users[tenant][name] = read_user(key, record.body)
        return before is not None and before.tiers != user.tiers

    def of(self, tenant: str) -> Mapping[str, StoredUser]:
        """Return the users of a tenant by their names, also those that cannot authenticate."""
        return self._users.get(tenant, {})

    def find(self, name: str) -> StoredUser | None:
        """Return the user that may authenticate by this name."""
        for length in self._lengths:
            tenant = self._tenants.get(name[:length])
            if tenant is not None:
                is_reserved = name in self._allowed[tenant].reserved
                return None if is_reserved else self._users.get(tenant, {}).get(name)
        return None
