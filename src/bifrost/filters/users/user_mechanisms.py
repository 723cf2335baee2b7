"""SCRAM mechanisms by the numbers that requests have, and the users that a client may see."""

from collections.abc import Iterator, Mapping

from bifrost.config.fields.verifiers import Mechanism
from bifrost.filters.filter import Scope
from bifrost.tenancy.users.stored_user import StoredUser
from bifrost.tenancy.users.stored_users import StoredUsers

TYPES: Mapping[int, Mechanism] = {1: Mechanism.SCRAM_SHA_256, 2: Mechanism.SCRAM_SHA_512}
"""Source: org.apache.kafka.clients.admin.ScramMechanism."""


def is_visible(scope: Scope, user: StoredUser) -> bool:
    """Whether a user is one of the client's namespace, or of one below it."""
    tiers = scope.namespace.names.tiers
    return user.tiers[: len(tiers)] == tuple(tiers)


def visible(scope: Scope, users: StoredUsers) -> Iterator[StoredUser]:
    """Yield the users that a client may see, those of now: others may come and go until the last one is yielded."""
    return (one for one in tuple(users.of(scope.namespace.tenant).values()) if is_visible(scope, one))
