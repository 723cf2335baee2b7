"""The entity of a quota: a user, a client ID or both, each by name or as the default of all that have no quota.

In the state an entity has the name that Kafka gave it in ZooKeeper: `users/alice/clients/<default>`.
"""

from dataclasses import dataclass
from enum import Enum, unique
from typing import Final

USER, CLIENT_ID, IP = "user", "client-id", "ip"
"""Kafka's types of entities (ClientQuotaEntity)."""


@unique
class Default(Enum):
    """The one value DEFAULT, in place of a name: every name that has no quota of its own."""

    DEFAULT = "<default>"

    def __repr__(self) -> str:
        return "DEFAULT"


DEFAULT: Final = Default.DEFAULT

EntityName = str | Default | None
"""A name, the default, or None: the entity has no such part."""

_USERS, _CLIENTS, _NAMESPACE = "users", "clients", "namespace"


@dataclass(frozen=True, slots=True)
class QuotaEntity:
    """To whom a quota applies."""

    user: EntityName = None
    client_id: EntityName = None

    @property
    def is_namespace(self) -> bool:
        """Whether it is the whole namespace, which only an operator sets: it has neither user nor client ID."""
        return self.user is None and self.client_id is None

    def __str__(self) -> str:
        """Return its name in the state."""
        parts = [
            f"{kind}/{_escaped(name)}"
            for kind, name in ((_USERS, self.user), (_CLIENTS, self.client_id))
            if name is not None
        ]
        return "/".join(parts) or _NAMESPACE

    @classmethod
    def from_text(cls, text: str) -> "QuotaEntity":
        """Return the entity that has a name in the state.

        Raises:
            ValueError: none has.
        """
        match text.split("/"):
            case ["users", user]:
                found = cls(_name(user))
            case ["clients", client_id]:
                found = cls(None, _name(client_id))
            case ["users", user, "clients", client_id]:
                found = cls(_name(user), _name(client_id))
            case ["namespace"]:
                found = cls()
            case _:
                raise ValueError(f"{text[:100]!r} names no entity of a quota")
        if str(found) != text:
            raise ValueError(f"{text[:100]!r} is not how the entity {found} is written")
        return found


NAMESPACE: Final = QuotaEntity()
"""The whole namespace."""


def levels(user: EntityName, client_id: EntityName) -> tuple[QuotaEntity, ...]:
    """Return the entities whose quota a client may have, the first that has one decides.

    Args:
        user: its user name.
        client_id: its client ID.
    Source: the eight levels of Kafka's DefaultQuotaCallback (KIP-55).
    """
    return (
        QuotaEntity(user, client_id),
        QuotaEntity(user, DEFAULT),
        QuotaEntity(user),
        QuotaEntity(DEFAULT, client_id),
        QuotaEntity(DEFAULT, DEFAULT),
        QuotaEntity(DEFAULT),
        QuotaEntity(None, client_id),
        QuotaEntity(None, DEFAULT),
    )


def _escaped(name: str | Default) -> str:
    if isinstance(name, Default):
        return name.value
    return name.replace("%", "%25").replace("/", "%2F").replace("<", "%3C")


def _name(text: str) -> str | Default:
    if text == DEFAULT.value:
        return DEFAULT
    return text.replace("%3C", "<").replace("%2F", "/").replace("%25", "%")
