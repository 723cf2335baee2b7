"""What has to be done so that topics have what they inherit, and a report of who follows and who does not."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from bifrost.tenancy.namespaces.namespace_path import Path
from bifrost.tenancy.topic_configs.namespace_configs import NamespaceConfigs


@dataclass(frozen=True, slots=True)
class ConfiguredTopic:
    """A topic as it is at the brokers."""

    physical: str
    path: Path
    """Its namespace."""
    name: str
    """Its name there."""
    configs: Mapping[str, str]
    """The configs that are set for it."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a topic stands to one config that its namespaces have, or had."""

    topic: ConfiguredTopic
    config: str
    found: str | None
    """The value that is set for it; None: none."""
    wanted: str | None
    """The value that it is to have; None: none."""
    namespace: Path | None
    """Where it comes from; None: no namespace has one."""
    overrides: bool
    """Whether the value is the topic's own."""

    @property
    def is_changed(self) -> bool:
        """Whether the topic has to be changed."""
        return self.found != self.wanted


def standings(configs: NamespaceConfigs, topics: Iterable[ConfiguredTopic]) -> Iterator[Standing]:
    """Yield how topics stand to the configs of their namespaces, by topic and config."""
    for topic in topics:
        inherited = configs.inherited(topic.path)
        for name in sorted(configs.names(topic.path)):
            value, path = inherited.get(name, (None, None))
            found = topic.configs.get(name)
            if found is None or configs.inherits(topic.path, topic.name, name, found):
                yield Standing(topic, name, found, value, path, overrides=False)
            else:
                yield Standing(topic, name, found, found, path, overrides=True)


def alterations(some: Iterable[Standing]) -> dict[str, dict[str, str | None]]:
    """Return what has to be changed at the brokers, by physical name and config; None: it is taken back."""
    found: dict[str, dict[str, str | None]] = {}
    for one in some:
        if one.is_changed:
            found.setdefault(one.topic.physical, {})[one.config] = one.wanted
    return found


def become_own(
    configs: NamespaceConfigs, values: Mapping[str, str], topics: Iterable[ConfiguredTopic]
) -> Iterator[tuple[ConfiguredTopic, dict[str, str]]]:
    """Yield the topics that have of their own what a namespace is about to have, and all that each has so then.

    Args:
        configs: as they are before.
        values: what the namespace gets.
        topics: those of the namespace, and of those below.
    """
    for topic in topics:
        same = {
            name: value
            for name, value in values.items()
            if topic.configs.get(name) == value and not configs.could_inherit(topic.path, name, value)
        }
        if same:
            yield topic, {**configs.own(topic.path, topic.name), **same}
