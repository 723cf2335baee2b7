"""Which configs topics inherit from their namespaces: the nearest namespace that has a config gives it.

It is a `StateModel` of both kinds of `config_records`.
"""

from collections import Counter
from collections.abc import Mapping

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord
from bifrost.tenancy.namespaces.namespace_path import Path, read_path
from bifrost.tenancy.topic_configs.config_records import (
    NAMESPACE_KIND,
    NamespaceConfig,
    read_namespace_body,
    read_topic_body,
    read_topic_key,
)

NOTHING = NamespaceConfig()
NONE_OWN: Mapping[str, str] = {}


class NamespaceConfigs:
    """The configs of all namespaces."""

    def __init__(self) -> None:
        """Begin without any."""
        self._namespaces: dict[Path, NamespaceConfig] = {}
        self._own: dict[tuple[Path, str], Mapping[str, str]] = {}
        self._counts: Counter[str] = Counter()

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        """Take what is stored under a key.

        Raises:
            ValueError: it cannot be understood.
        """
        body = None if record is None else record.body
        if key.kind == NAMESPACE_KIND:
            path = read_path(key.name)
            if body is None:
                self._namespaces.pop(path, None)
            else:
                self._namespaces[path] = read_namespace_body(body)
            return
        place = read_topic_key(key)
        if body is None:
            self._counts[place[0][0]] -= self._own.pop(place, None) is not None
        else:
            own = read_topic_body(body)
            self._counts[place[0][0]] += place not in self._own
            self._own[place] = own

    def planned(
        self, path: Path, configs: NamespaceConfig, own: Mapping[tuple[Path, str], Mapping[str, str]]
    ) -> "NamespaceConfigs":
        """Return them as they would be with these configs of a namespace, and with what topics have of their own."""
        found = NamespaceConfigs()
        found._namespaces = {**self._namespaces, path: configs}
        found._own = {**self._own, **own}
        return found

    def count_own(self, tenant: str) -> int:
        """Return of how many topics of a tenant it is remembered what they have of their own."""
        return self._counts[tenant]

    def __bool__(self) -> bool:
        """Whether any namespace has, or had, configs."""
        return bool(self._namespaces)

    def tenants(self) -> set[str]:
        """Return the tenants whose namespaces have, or had, configs."""
        return {path[0] for path in self._namespaces}

    def of(self, path: Path) -> NamespaceConfig:
        """Return the configs of a namespace itself."""
        return self._namespaces.get(path, NOTHING)

    def names(self, path: Path) -> set[str]:
        """Return the configs that topics of a namespace inherit, or inherited."""
        chain = self._chain(path)
        return {name for one in chain for some in (one.configs, one.earlier) for name in some}

    def inherited(self, path: Path) -> dict[str, tuple[str, Path]]:
        """Return what topics of a namespace inherit: the value, and the namespace that has it, by name."""
        found: dict[str, tuple[str, Path]] = {}
        for length in range(1, len(path) + 1):
            above = Path(path[:length])
            found |= {name: (value, above) for name, value in self.of(above).configs.items()}
        return found

    def own(self, path: Path, topic: str) -> Mapping[str, str]:
        """Return what a topic is remembered to have of its own."""
        return self._own.get((path, topic), NONE_OWN)

    def could_inherit(self, path: Path, name: str, value: str) -> bool:
        """Whether a namespace of a topic has, or had, this value."""
        return any(value in one.values(name) for one in self._chain(path))

    def inherits(self, path: Path, topic: str, name: str, value: str) -> bool:
        """Whether a topic that has this value at the brokers inherits it."""
        return self.could_inherit(path, name, value) and self.own(path, topic).get(name) != value

    def _chain(self, path: Path) -> list[NamespaceConfig]:
        if not self._namespaces:
            return []
        chain = (self._namespaces.get(Path(path[:length])) for length in range(1, len(path) + 1))
        return [one for one in chain if one is not None]
