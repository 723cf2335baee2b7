"""Moves and shares of topics, as `bifrost control` makes them.

What may be moved and shared `tenancy.namespaces.alias_table` decides. Here the clusters are asked which topics exist,
and the change is written, again from the newest state when another writer was first. No record is copied: a gateway
that has read the change uses other names from then on.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from bifrost.config.model import Config
from bifrost.config.name_template import MAX_TOPIC_NAME_LENGTH
from bifrost.control.backend import Backend
from bifrost.control.namespaces import ATTEMPTS, Namespaces
from bifrost.state.state_change import Change, StateConflict
from bifrost.tenancy.namespaces.alias_table import Access, AliasRefused, AliasTable, Place
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.namespaces.namespace_tree import key_of
from bifrost.tenancy.topic_configs.config_records import topic_key

_LEGAL_TOPIC = re.compile(rf"(?!\.{{1,2}}$)[a-zA-Z0-9._-]{{1,{MAX_TOPIC_NAME_LENGTH}}}")
"""What Topic.validate accepts."""


class NoSuchTopic(Exception):
    """The topic does not exist on its cluster."""


@dataclass(frozen=True, slots=True)
class SharedTopic:
    """A topic that was moved or is shared."""

    home: Place
    """Where its physical name puts it; it never changes."""
    owner: Place
    shares: tuple[tuple[Place, Access], ...]


class SharedTopics:
    """The moved and shared topics of all tenants."""

    def __init__(self, config: Config, backend: Backend, namespaces: Namespaces) -> None:
        """Use the state and the clusters of `backend`, and the namespaces that exist."""
        self._backend, self._namespaces, self._aliases = backend, namespaces, namespaces.aliases
        self._tenants = {one.name: one for one in config.tenants}
        self._upstreams = {one.name: config.cluster_of(one).name for one in config.tenants}

    def below(self, under: Path | None) -> list[SharedTopic]:
        """Return those with a place in a namespace, or in one below it, in order; None: all.

        Raises:
            InvalidNamespace: `under` does not exist.
        """
        if under is not None:
            self._namespaces.tree.check(under)
        table, depth = self._aliases.table, 0 if under is None else len(under)
        found = []
        for home in table.homes():
            places = (home, *table.places_of(home))
            if under is None or any(one.namespace[:depth] == under for one in places):
                shares = tuple(sorted(table.shares_of(home).items()))
                found.append(SharedTopic(home, table.owner_of(home), shares))
        return found

    async def move(self, source: Place, target: Place, on_behalf_of: str, *, keeps_name: bool) -> SharedTopic:
        """Give a topic another owner or name; with `keeps_name` it can still be used at the old place.

        Raises:
            InvalidNamespace: a namespace does not exist.
            NoSuchTopic: the topic does not exist.
            AliasRefused: as `AliasTable.move`, or the tenants cannot have each other's topics.
            StateConflict: other writers were first each time. And the other errors of `Backend.change`.
        """
        return await self._change(
            source,
            target,
            on_behalf_of,
            lambda table: [
                *table.move(source, target, keeps_name=keeps_name),
                *self._own_configs(source, target),
            ],
        )

    async def share(self, source: Place, target: Place, access: Access, on_behalf_of: str) -> SharedTopic:
        """Show a topic at another place as well, or change what may be done there.

        Raises:
            See `move`.
        """
        return await self._change(
            source, target, on_behalf_of, lambda table: table.share(source, target, access)
        )

    async def unshare(self, source: Place, target: Place, on_behalf_of: str) -> SharedTopic:
        """End a share. The namespaces and the topic need not exist any more.

        Raises:
            AliasRefused: as `AliasTable.revoke`.
            StateConflict: other writers were first each time. And the other errors of `Backend.change`.
        """
        home = source
        for attempt in range(ATTEMPTS):
            home = self._aliases.table.home_of(source) or source
            try:
                await self._backend.change(self._aliases.table.revoke(source, target), on_behalf_of)
                break
            except StateConflict:
                if attempt + 1 == ATTEMPTS:
                    raise
        return self._shown(home)

    async def _change(
        self, source: Place, target: Place, on_behalf_of: str, decide: Callable[[AliasTable], list[Change]]
    ) -> SharedTopic:
        self._check(source, target)
        existing = set(await self._backend.topics_of(source.namespace[0]))
        home = source
        for attempt in range(ATTEMPTS):
            table, physical = self._aliases.table, self._namespaces.physical_topic
            changes = decide(table)
            home = table.home_of(source) or source
            if physical(home) not in existing:
                raise NoSuchTopic(f"topic {source}")
            if table.home_of(target) == target and target != home and physical(target) in existing:
                raise AliasRefused(f"{target} exists already")
            try:
                await self._backend.change([*changes, *self._kept(target)], on_behalf_of)
                break
            except StateConflict:
                if attempt + 1 == ATTEMPTS:
                    raise
        return self._shown(home)

    def _check(self, source: Place, target: Place) -> None:
        """Check what does not depend on what is moved and shared already."""
        for place in (source, target):
            self._namespaces.tree.check(place.namespace)
            if _LEGAL_TOPIC.fullmatch(place.topic) is None:
                raise AliasRefused(f"{place.topic[:100]!r} cannot be the name of a topic")
            if self._tenants[place.namespace[0]].namespace_encoding == "dotted":
                raise AliasRefused(
                    f"tenant {place.namespace[0]} has dotted namespaces, without places for topics"
                )
        here, there = (self._upstreams[place.namespace[0]] for place in (source, target))
        if here != there:
            raise AliasRefused(f"{source} is on upstream {here}, and {target} would be on {there}")

    def _kept(self, target: Place) -> list[Change]:
        """Write the target's namespace anew, so that it is not deleted at the same time."""
        record = self._backend.table.get(key_of(target.namespace))
        return [] if record is None else [Change(record.key, record.version, record.body)]

    def _own_configs(self, source: Place, target: Place) -> list[Change]:
        """Take along which values of configs are the topic's own, so that it does not inherit in their place."""
        before, there = (
            self._backend.table.get(topic_key(one.namespace, one.topic)) for one in (source, target)
        )
        changes = [] if before is None else [Change(before.key, before.version, None)]
        if before is not None or there is not None:
            version, body = 0 if there is None else there.version, None if before is None else before.body
            changes.append(Change(topic_key(target.namespace, target.topic), version, body))
        return changes

    def _shown(self, home: Place) -> SharedTopic:
        table = self._aliases.table
        return SharedTopic(home, table.owner_of(home), tuple(sorted(table.shares_of(home).items())))
