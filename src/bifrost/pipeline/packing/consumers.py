"""Who reads a topic together: clients and groups that belong together by what clients name. Pure.

    clients that name one group ──▶ one consumer, of so many members at the most as they have connections
    a client that names no group ──▶ a consumer of an unknown number of members

A client ID can be that of many processes, and the journal does not count these; each has a connection at the least.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

Client = tuple[str, str, str, str]
"""Tenant, namespace, principal and client ID."""


class Consumer(NamedTuple):
    """Clients that share the partitions of what they read."""

    groups: tuple[str, ...]
    """As the physical cluster calls them; several where one client is a member of each. None: it names no group."""
    members: int | None
    """How many there are at the most; None: it is not known."""


def consumers(
    clients: Iterable[Client], members: Iterable[tuple[Client, str]], connections: Mapping[Client, int]
) -> dict[Client, Consumer]:
    """Return the consumer that each client is part of.

    Args:
        clients: those that fetch.
        members: pairs of a client and a group that it names.
        connections: how many each client had at most at a time; a client without is not known.
    """
    of_client, of_group = (
        defaultdict[Client, list[str]](list),
        defaultdict[tuple[str, str], list[Client]](list),
    )
    for client, group in members:
        of_client[client].append(group)
        of_group[client[0], group].append(client)
    found: dict[Client, Consumer] = {}
    for client in clients:
        if client not in found:
            together, groups = _together(client, of_client, of_group)
            counts = [connections.get(one, 0) for one in together]
            known = sum(counts) if groups and all(counts) else None
            found |= dict.fromkeys(together, Consumer(tuple(sorted(groups)), known))
    return found


def _together(
    client: Client,
    of_client: Mapping[Client, Sequence[str]],
    of_group: Mapping[tuple[str, str], Sequence[Client]],
) -> tuple[set[Client], set[str]]:
    """Return all clients that share a group with one, or with one of these; and their groups."""
    clients, groups, left = {client}, set[str](), [client]
    while left:
        for group in of_client.get(left.pop(), ()):
            if group not in groups:
                groups.add(group)
                new = [one for one in of_group[client[0], group] if one not in clients]
                clients.update(new)
                left += new
    return clients, groups
