"""A topic that has become moved or shared, in the index: see new_alias.pyx."""

from typing import Any

def put_new(
    home: tuple[Any, ...],
    alias: tuple[Any, ...],
    physical: bytes,
    topics: dict[Any, bytes],
    limited: set[Any],
    standings: dict[bytes, Any],
    owners: dict[bytes, Any],
    standing_type: type[tuple[Any, ...]],
    nowhere: bytes,
) -> bool:
    """Put a topic into the index of the tenant of its home; return whether that was done.

    False: it is an unusual one, and nothing was changed: its places are of several tenants, or are known already, it is
    shared more than once, or it is where it was created.

    Args:
        home: the topic's home, a `Place` of which no other topic has become the owner.
        alias: who has it, an `Alias`.
        physical: its physical name.
        topics: as in `TenantAliases`, like the next three.
        limited: see there.
        standings: see there.
        owners: see there.
        standing_type: `Standing`.
        nowhere: `NOWHERE`.
    """
