"""Puts changes of users in the state into force: they can authenticate, and clients of deleted ones leave."""

from typing import ClassVar

from bifrost.gateway.reload.context import ReloadContext
from bifrost.gateway.reload.displaced import Displaced
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.users.stored_user import KIND


class UserChanges:
    """The `StateModel` of a running gateway's users."""

    kind: ClassVar[str] = KIND

    def __init__(self, gateway: ReloadContext) -> None:
        """Change the users of `gateway`."""
        shared = gateway.shared
        self._users = shared.users = gateway.client_authenticators.users
        self._users.hits = shared.lanes.in_flight_limits.hits
        self._displaced = Displaced(gateway, "users")

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what the state has of a user.

        Raises:
            ValueError: the record is no user's.
        """
        if self._users.apply(key, record):
            self._displaced.look()
