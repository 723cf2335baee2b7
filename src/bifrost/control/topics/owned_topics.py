"""The topics of namespaces at the brokers, as `bifrost control` lists, creates, alters and deletes them.

A topic that an admin creates is under the policies of its namespace, gets what these force and what it inherits, and
what it has of its own is remembered, as when a client creates it. The tenant's `policy` and `limits` are what the
operator gives to the tenant's clients; they bind no admin. What the brokers would make of a topic they say themselves,
when they are asked to validate it, before it is judged.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from bifrost.config.model import Config
from bifrost.config.name_template import MAX_TOPIC_NAME_LENGTH
from bifrost.control.backend import Backend
from bifrost.control.clusters.topic_state import TopicState
from bifrost.control.configs.configs import Configs
from bifrost.control.namespaces import ATTEMPTS, Namespaces
from bifrost.control.policies import Policies
from bifrost.control.shared_topics import NoSuchTopic
from bifrost.state.state_change import StateConflict
from bifrost.tenancy.names import TenantNames
from bifrost.tenancy.namespaces.alias_table import Access, AliasRefused, Place
from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.policies.namespace_rules import NamespaceRules
from bifrost.tenancy.policies.ruling import Ruling
from bifrost.tenancy.policy import DELETE, SET, Refusal
from bifrost.tenancy.topic_configs.namespace_defaults import NamespaceDefaults

_LEGAL_TOPIC = re.compile(rf"(?!\.{{1,2}}$)[a-zA-Z0-9._-]{{1,{MAX_TOPIC_NAME_LENGTH}}}")
"""What Topic.validate accepts."""

BY_DEFAULT = -1
"""In place of a number: what the brokers do by default."""


class TopicRefused(ValueError):
    """A topic cannot be created or deleted so; the text says why. Nothing was changed at the brokers."""


@dataclass(frozen=True, slots=True)
class OwnedTopic:
    """A topic that a namespace sees."""

    place: Place
    """Its name there."""
    physical: str
    state: TopicState
    access: Access | None = None
    """What the namespace may do with a topic of another owner; None: it owns the topic."""


class OwnedTopics:
    """The topics of all namespaces."""

    def __init__(
        self, config: Config, backend: Backend, namespaces: Namespaces, policies: Policies, configs: Configs
    ) -> None:
        """Use what the other models say of namespaces."""
        self._backend, self._namespaces = backend, namespaces
        self._policies, self._configs = policies, configs
        self._tenants = {one.name: one for one in config.tenants}

    async def seen_in(self, path: Path, *, recursive: bool) -> list[OwnedTopic]:
        """Return the topics that a namespace owns, and those that are shared with it, in order.

        Args:
            path: the namespace.
            recursive: whether with those of the namespaces below it.
        Raises:
            InvalidNamespace: it does not exist.
            Unavailable: the cluster does not answer.
        """
        self._namespaces.tree.check(path)
        paths = [path, *(self._namespaces.tree.nested(path) if recursive else ())]
        places = {
            (physical, Place.read(shown)): None
            for physical, shown in (await self._namespaces.topics_owned_in(paths)).items()
        } | self._shared_with(paths)
        states = await self._backend.describe_topics(path[0], sorted({physical for physical, _ in places}))
        found = [
            OwnedTopic(place, physical, states[physical], access)
            for (physical, place), access in places.items()
            if physical in states
        ]
        return sorted(found, key=lambda one: one.place)

    async def create(
        self,
        place: Place,
        partitions: int,
        replication_factor: int,
        configs: Mapping[str, str],
        on_behalf_of: str,
        *,
        dry_run: bool = False,
    ) -> OwnedTopic:
        """Create a topic.

        Args:
            place: its namespace and name.
            partitions: how many, or BY_DEFAULT.
            replication_factor: how many replicas, or BY_DEFAULT.
            configs: those that it has of its own.
            on_behalf_of: who asks for it.
            dry_run: whether only to say what would be created.
        Raises:
            InvalidNamespace: the namespace does not exist.
            AliasRefused: the name is that of a topic that was moved or shared, or moved away.
            TopicRefused: see there.
            StateConflict: other writers were first each time. And the other errors of `Backend.change`.
        """
        physical = self._checked(place)
        rules, names = self._rules(place.namespace), self._names(place.namespace)
        defaults = NamespaceDefaults(names, self._configs.model)
        whole = {**defaults.inherited(place.topic), **configs, **rules.forced(place.topic)}
        tenant = place.namespace[0]
        made = await self._made(tenant, physical, partitions, replication_factor, whole, validate_only=True)
        await self._judge(place, rules, made, configs)
        if not dry_run:
            await self._remember(place, defaults, configs, on_behalf_of)
            made = await self._made(
                tenant, physical, partitions, replication_factor, whole, validate_only=False
            )
        return OwnedTopic(place, physical, made)

    async def delete(self, place: Place) -> OwnedTopic:
        """Delete a topic that a namespace owns, and return it. Other places that it was shared to mean none then.

        Raises:
            InvalidNamespace: the namespace does not exist.
            NoSuchTopic: it has no such topic.
            AliasRefused: the topic has another owner.
            TopicRefused: the brokers do not delete it.
            Unavailable: the cluster does not answer.
        """
        found = await self._owned(place)
        errors = await self._backend.delete_topics(place.namespace[0], [found.physical])
        if errors:
            raise TopicRefused(f"{place}: {errors[found.physical]}")
        return found

    async def alter(self, place: Place, changes: Mapping[str, str | None], on_behalf_of: str) -> OwnedTopic:
        """Change the configs that a topic has of its own, and return it.

        Args:
            place: its namespace and name.
            changes: by name; None: the topic inherits the config again, or has none.
            on_behalf_of: who asks for it.
        Raises:
            InvalidNamespace, NoSuchTopic, AliasRefused: as `delete`.
            TopicRefused: a policy does not allow it, or the brokers do not.
            StateConflict: other writers were first each time. And the other errors of `Backend.change`.
        """
        found = await self._owned(place)
        rules = self._rules(place.namespace)
        for name, value in changes.items():
            refusal = rules.refuse_config(place.topic, name, value, DELETE if value is None else SET)
            if refusal is not None:
                raise TopicRefused(f"{refusal.error_code.name}: {refusal.message}")
        defaults = NamespaceDefaults(self._names(place.namespace), self._configs.model)
        given = {name: value for name, value in changes.items() if value is not None}
        await self._remember(place, defaults, given, on_behalf_of, without=changes.keys() - given.keys())
        inherited = defaults.inherited(place.topic)
        wanted = {name: inherited.get(name) if value is None else value for name, value in changes.items()}
        errors = await self._backend.alter_topic_configs(place.namespace[0], {found.physical: wanted})
        if errors:
            raise TopicRefused(f"{place}: {errors[found.physical]}")
        return await self._owned(place)

    async def _owned(self, place: Place) -> OwnedTopic:
        """Return a topic that is owned at a place.

        Raises:
            InvalidNamespace, NoSuchTopic, AliasRefused, Unavailable: as `delete`.
        """
        seen = await self.seen_in(place.namespace, recursive=False)
        found = next((one for one in seen if one.place == place), None)
        if found is None:
            raise NoSuchTopic(f"topic {place}")
        if found.access is not None:
            raise AliasRefused(f"{place} is shared by another owner, who alone may change and delete it")
        return found

    def _shared_with(self, paths: Sequence[Path]) -> dict[tuple[str, Place], Access | None]:
        table, found = self._namespaces.aliases.table, dict[tuple[str, Place], Access | None]()
        for home in table.homes():
            physical = self._namespaces.physical_topic(home)
            for place, access in table.shares_of(home).items():
                if physical is not None and place.namespace in paths:
                    found[physical, place] = access
        return found

    def _checked(self, place: Place) -> str:
        """Return the physical name of a topic that may be created by what is known of names."""
        self._namespaces.tree.check(place.namespace)
        tenant = self._tenants[place.namespace[0]]
        if tenant.namespace_encoding == "dotted":
            raise TopicRefused(f"tenant {tenant.name} has dotted namespaces, without places for topics")
        if _LEGAL_TOPIC.fullmatch(place.topic) is None:
            raise TopicRefused(f"{place.topic[:100]!r} cannot be the name of a topic")
        if self._namespaces.aliases.table.home_of(place) != place:
            raise AliasRefused(f"{place} is the name of a topic that was moved or is shared")
        physical = self._namespaces.physical_topic(place)
        assert physical is not None, "its tenant is configured"
        if len(physical) > MAX_TOPIC_NAME_LENGTH:
            raise TopicRefused(
                f"{place} would have a name of {len(physical)} characters at the brokers, "
                f"of at most {MAX_TOPIC_NAME_LENGTH}"
            )
        return physical

    def _names(self, path: Path) -> TenantNames:
        tenant = self._tenants[path[0]]
        return TenantNames(tenant.name, prefixes=tenant.name_prefixes, tiers=path[1:], namespaces=frozenset())

    def _rules(self, path: Path) -> NamespaceRules:
        return NamespaceRules(self._names(path), self._policies.above(path), Counter())

    async def _judge(
        self, place: Place, rules: NamespaceRules, made: TopicState, configs: Mapping[str, str]
    ) -> None:
        """Ask the policies of the namespace, and of those above it.

        Raises:
            TopicRefused: one of them does not allow the topic.
        """
        name = place.topic
        refusals = [
            rules.refuse_topic_name(name),
            rules.refuse_partitions(name, made.partitions, is_new=True),
            rules.refuse_replicas(name, made.replication_factor),
            *(rules.refuse_config(name, config, value, SET) for config, value in configs.items()),
        ]
        for ruling in self._policies.above(place.namespace).chain(place.namespace):
            if ruling.policy.max_topics is not None or ruling.policy.max_partitions is not None:
                refusals.append(await self._refuse_growth(ruling, made.partitions))
        refusal = next((one for one in refusals if one is not None), None)
        if refusal is not None:
            raise TopicRefused(f"{refusal.error_code.name}: {refusal.message}")

    async def _refuse_growth(self, ruling: Ruling, partitions: int) -> Refusal | None:
        path = Path(ruling.path)
        known = await self._namespaces.topics_owned_in([path, *self._namespaces.tree.nested(path)])
        there = await self._backend.describe_topics(path[0], sorted(known))
        total = sum(one.partitions for one in there.values())
        violation = ruling.refuse_growth(len(there), total, 1, partitions)
        return None if violation is None else violation.refusal

    async def _remember(
        self,
        place: Place,
        defaults: NamespaceDefaults,
        configs: Mapping[str, str],
        on_behalf_of: str,
        *,
        without: Collection[str] | None = None,
    ) -> None:
        """Remember which configs are the topic's own though its namespace has the same."""
        for attempt in range(ATTEMPTS):
            change = defaults.remember(self._backend.table, place.topic, configs, without)
            if change is None:
                return
            try:
                await self._backend.change([change], on_behalf_of)
                return
            except StateConflict:
                if attempt + 1 == ATTEMPTS:
                    raise

    async def _made(
        self,
        tenant: str,
        physical: str,
        partitions: int,
        factor: int,
        configs: Mapping[str, str],
        *,
        validate_only: bool,
    ) -> TopicState:
        wanted = TopicState(partitions, factor, configs)
        found = await self._backend.create_topic(tenant, physical, wanted, validate_only=validate_only)
        if isinstance(found, str):
            raise TopicRefused(found)
        return found
