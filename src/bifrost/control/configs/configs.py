"""The configs by namespace, as `bifrost control` sees and changes them, and puts them into force at the brokers.

Gateways give new topics what they inherit. What was there before, and what a broker created by itself, is changed here:
after each change, and again and again, so that nothing stays undone when this process ends in between. What has to be
done follows from the state and from what the brokers say, so any process can go on where another one has stopped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bifrost.config.model import Config
from bifrost.config.policies.config_value import canonical
from bifrost.control.backend import Backend, Unavailable
from bifrost.control.namespaces import Namespaces
from bifrost.state.state_change import Change, StateConflict, Unchanged
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.namespace_path import InvalidNamespace, Path, read_path, shown
from bifrost.tenancy.namespaces.namespace_tree import key_of
from bifrost.tenancy.policy import ResourcePolicy
from bifrost.tenancy.topic_configs.config_plan import (
    ConfiguredTopic,
    Standing,
    alterations,
    become_own,
    standings,
)
from bifrost.tenancy.topic_configs.config_records import (
    MAX_CONFIGS,
    NAMESPACE_KIND,
    TOPIC_KIND,
    NamespaceConfig,
    namespace_body,
    namespace_key,
    read_topic_key,
    topic_body,
    topic_key,
)
from bifrost.tenancy.topic_configs.namespace_configs import NamespaceConfigs

ATTEMPTS = 5
"""How often a change is decided anew after another writer was first."""

TOPICS_OF_ONE_CHANGE = 500
"""Records of topics that are written together: half of what a change may have."""

KEPT_MS = 600_000
"""How long a record of a topic that does not exist is kept, in milliseconds: the topic may be about to be created."""


class ConfigRefused(ValueError):
    """A namespace may not have such a config; the text says which and why. Nothing was written."""


@dataclass(frozen=True, slots=True)
class Report:
    """How topics stand to what they inherit."""

    standings: Sequence[Standing]
    errors: Mapping[str, str] = field(default_factory=dict)
    """Kafka's error of each topic that could not be changed, by its physical name."""


class Configs:
    """The configs of all namespaces."""

    def __init__(self, config: Config, backend: Backend, namespaces: Namespaces) -> None:
        """Read them from the state, and follow it.

        Args:
            config: the configuration with the tenants.
            backend: the state and the clusters.
            namespaces: those that exist, and their topics.
        """
        self._backend, self._namespaces = backend, namespaces
        self._policies = {one.name: ResourcePolicy(config.proxy.policy, one.policy) for one in config.tenants}
        self.model = NamespaceConfigs()
        self._unreadable: dict[StateKey, str] = {}
        for kind in (NAMESPACE_KIND, TOPIC_KIND):
            self._take([one.key for one in backend.table.of_kind(kind)])
            backend.table.watch(kind, self._take)

    def of(self, path: Path) -> tuple[NamespaceConfig, StateRecord | None]:
        """Return the configs of a namespace, and their record.

        Raises:
            InvalidNamespace: it does not exist.
            Unavailable: a record cannot be understood.
        """
        self._namespaces.tree.check(path)
        self._check()
        return self.model.of(path), self._backend.table.get(namespace_key(path))

    async def report(self, path: Path) -> Report:
        """Return how the topics of a namespace, and of those below it, stand to what they inherit.

        Raises:
            InvalidNamespace, Unavailable: as `of`; or the cluster does not answer.
        """
        self.of(path)
        return Report(list(standings(self.model, await self._topics(path))))

    async def alter(
        self, path: Path, changes: Mapping[str, str | None], on_behalf_of: str, *, dry_run: bool = False
    ) -> Report:
        """Change what topics of a namespace inherit, and change those that do.

        Args:
            path: the namespace.
            changes: the value of each config; None: topics inherit none from this namespace any more.
            on_behalf_of: who asks for it.
            dry_run: whether only to say which topics would be changed.
        Raises:
            InvalidNamespace: it does not exist.
            ConfigRefused: see there.
            StateConflict: other writers were first each time. And the other errors of `Backend.change`.
        """
        read = self._read(path, changes)
        topics = await self._topics(path)
        for attempt in range(ATTEMPTS):
            before, record = self.of(path)
            after = before.changed(read)
            if len(after.configs) > MAX_CONFIGS:
                raise ConfigRefused(f"a namespace has at most {MAX_CONFIGS} configs")
            own = list(become_own(self.model, after.configs, topics))
            if dry_run:
                planned = self.model.planned(path, after, {(one.path, one.name): mine for one, mine in own})
                return Report(list(standings(planned, topics)))
            try:
                await self._remember(own, on_behalf_of)
                await self._write(path, after, record, on_behalf_of)
                break
            except StateConflict:
                if attempt + 1 == ATTEMPTS:
                    raise
        return await self._settle(path[0], topics)

    async def settle(self, on_behalf_of: str, now_ms: int) -> dict[str, Report]:
        """Change all topics that do not have what they inherit, and forget what is remembered of topics that are gone.

        Args:
            on_behalf_of: who asks for it.
            now_ms: the time, in milliseconds since 1970.
        Returns:
            What was changed, by tenant.
        Raises:
            Unavailable: a cluster does not answer. And the other errors of `Backend.change`.
        """
        found = {}
        for tenant in sorted(self.model.tenants() & self._policies.keys()):
            topics = await self._topics(Path((tenant,)))
            found[tenant] = await self._settle(tenant, topics)
            await self._forget(tenant, topics, on_behalf_of, now_ms)
        return found

    async def _settle(self, tenant: str, topics: Sequence[ConfiguredTopic]) -> Report:
        found = list(standings(self.model, topics))
        wanted = alterations(found)
        errors = await self._backend.alter_topic_configs(tenant, wanted) if wanted else {}
        return Report(found, errors)

    async def _remember(
        self, own: Iterable[tuple[ConfiguredTopic, dict[str, str]]], on_behalf_of: str
    ) -> None:
        """Remember what topics have of their own, before their namespace has the same."""
        changes = []
        for topic, mine in own:
            key = topic_key(topic.path, topic.name)
            changes.append(Change(key, self._version(key), topic_body(mine)))
        for begin in range(0, len(changes), TOPICS_OF_ONE_CHANGE):
            await self._backend.change(changes[begin : begin + TOPICS_OF_ONE_CHANGE], on_behalf_of)

    async def _write(
        self, path: Path, configs: NamespaceConfig, record: StateRecord | None, on_behalf_of: str
    ) -> None:
        namespace = self._backend.table.get(key_of(path))
        unchanged = [] if namespace is None else [Unchanged(namespace.key, namespace.version)]
        version = 0 if record is None else record.version
        change = Change(namespace_key(path), version, namespace_body(configs))
        try:
            await self._backend.change([change], on_behalf_of, unchanged)
        except StateConflict:
            if namespace is not None and self._backend.table.get(namespace.key) is None:
                raise InvalidNamespace(f"namespace {shown(path)} does not exist") from None
            raise

    async def _forget(
        self, tenant: str, topics: Iterable[ConfiguredTopic], on_behalf_of: str, now_ms: int
    ) -> None:
        """Forget what was remembered of topics that do not exist any more."""
        there = {topic_key(one.path, one.name) for one in topics}
        gone = [
            Change(one.key, one.version, None)
            for one in self._backend.table.of_kind(TOPIC_KIND)
            if one.key not in there
            and read_topic_key(one.key)[0][0] == tenant
            and one.at_ms < now_ms - KEPT_MS
        ]
        for begin in range(0, len(gone), TOPICS_OF_ONE_CHANGE):
            await self._backend.change(gone[begin : begin + TOPICS_OF_ONE_CHANGE], on_behalf_of)

    def _read(self, path: Path, changes: Mapping[str, str | None]) -> dict[str, str | None]:
        self._namespaces.tree.check(path)
        found: dict[str, str | None] = {}
        for name, value in changes.items():
            if value is None:
                found[name] = None
                continue
            try:
                found[name] = canonical(name, value)
            except ValueError as error:
                raise ConfigRefused(str(error)) from None
            refusal = self._policies[path[0]].refuse_topic_config(name, value)
            if refusal is not None:
                raise ConfigRefused(refusal.message)
        return found

    async def _topics(self, path: Path) -> list[ConfiguredTopic]:
        paths = [path, *self._namespaces.tree.nested(path)]
        known = await self._namespaces.topics_owned_in(paths)
        described = await self._backend.describe_topics(path[0], list(known))
        found = []
        for physical, one in sorted(described.items()):
            namespace, _, name = known[physical].partition("/")
            found.append(ConfiguredTopic(physical, read_path(namespace), name, one.configs))
        return found

    def _version(self, key: StateKey) -> int:
        record = self._backend.table.get(key)
        return 0 if record is None else record.version

    def _check(self) -> None:
        for key, error in self._unreadable.items():
            raise Unavailable(f"{key}: {error}")

    def _take(self, keys: Sequence[StateKey]) -> None:
        for key in keys:
            try:
                self.model.apply(key, self._backend.table.get(key))
                self._unreadable.pop(key, None)
            except ValueError as error:
                self._unreadable[key] = str(error)
