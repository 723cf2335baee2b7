"""The path of a namespace: the tenant, and the tiers below it (KIP-37).

    acme                  the tenant's own namespace, which KIP-37 calls the default one
    acme:analytics:eu     the tiers analytics and eu below it

A tier has the characters of a topic's name. KIP-37 leaves `_` out; it is here because tenants and topics have it too.
"""

from functools import lru_cache
from typing import NewType

from bifrost.config.tiers import SEPARATOR, misfit

Path = NewType("Path", tuple[str, ...])
"""The tenant, and the tiers below it."""


KNOWN_PATHS = 10_000
"""Paths that are read once and then remembered, some hundred bytes each: the same ones are in the names of very many
records of the state, and have to be one object there."""


class InvalidNamespace(ValueError):
    """A namespace does not exist, or cannot; the text begins with this class's name, as KIP-37 calls the error."""

    def __init__(self, why: str) -> None:
        """Say why."""
        super().__init__(f"InvalidNamespace: {why}")


def read_tiers(text: str) -> tuple[str, ...]:
    """Read tiers with `:` between them, such as `analytics:eu`; the empty text has none.

    Raises:
        InvalidNamespace: a tier is empty or has another character, or the path is too long.
    """
    if not text:
        return ()
    tiers = tuple(text.split(SEPARATOR))
    check_tiers(tiers)
    return tiers


def check_tiers(tiers: tuple[str, ...]) -> None:
    """Check tiers below a tenant.

    Raises:
        InvalidNamespace: as `read_tiers`.
    """
    why = misfit(tiers)
    if why is not None:
        raise InvalidNamespace(why)


@lru_cache(maxsize=KNOWN_PATHS)
def read_path(text: str) -> Path:
    """Read a tenant and its tiers, such as `acme:analytics:eu`.

    Raises:
        InvalidNamespace: there is no tenant, or as `read_tiers`.
    """
    tenant, _, below = text.partition(SEPARATOR)
    if misfit([tenant]) is not None or text.endswith(SEPARATOR):
        raise InvalidNamespace(f"{text[:100]!r}: write a tenant and its tiers, such as acme:analytics:eu")
    return Path((tenant, *read_tiers(below)))


def shown(path: Path) -> str:
    """Return a path as operators and the state write it."""
    return SEPARATOR.join(path)


def parent(path: Path) -> Path:
    """Return the path of the namespace above. Not for a tenant's own."""
    assert len(path) > 1, "nothing is above a tenant"
    return Path(path[:-1])


def is_within(path: Path, above: Path) -> bool:
    """Whether a namespace is another one, or below it."""
    return path[: len(above)] == above
