"""The records of configs by namespace in the state.

namespace-config:acme:eu     {"configs": {"retention.ms": "60000"}, "earlier": {"retention.ms": ["30000"]}}
topic-config:acme:eu/orders  {"own": {"retention.ms": "60000"}}

The first has what topics of the namespace inherit, and what they inherited before. The second has values that a topic
has of its own although its namespace has, or had, the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body
from bifrost.tenancy.namespaces.namespace_path import Path, read_path, shown

NAMESPACE_KIND, TOPIC_KIND = "namespace-config", "topic-config"
"""The kinds of these records."""

MAX_EARLIER = 10
"""Values of one config that are remembered. A topic that was not changed for so long, because no `bifrost control`
ran, is taken to have its own value then."""

MAX_CONFIGS = 100
"""Most configs of one namespace: more than Kafka has for topics."""


@dataclass(frozen=True, slots=True)
class NamespaceConfig:
    """The configs of one namespace."""

    configs: Mapping[str, str] = field(default_factory=dict)
    """What its topics inherit, by name."""
    earlier: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """What they inherited before, the latest last."""

    def values(self, name: str) -> frozenset[str]:
        """Return all values of a config that the namespace has, or had."""
        now = self.configs.get(name)
        return frozenset(self.earlier.get(name, ())) | (frozenset() if now is None else {now})

    def changed(self, changes: Mapping[str, str | None]) -> "NamespaceConfig":
        """Return it with other values; None: topics inherit none any more."""
        configs, earlier = dict(self.configs), {name: list(some) for name, some in self.earlier.items()}
        for name, value in changes.items():
            before = configs.pop(name, None)
            if value is not None:
                configs[name] = value
            if before is not None and before != value:
                earlier.setdefault(name, []).append(before)
        kept = {
            name: tuple(dict.fromkeys(one for one in some if one != configs.get(name)))[-MAX_EARLIER:]
            for name, some in earlier.items()
        }
        return NamespaceConfig(configs, {name: some for name, some in kept.items() if some})


def namespace_key(path: Path) -> StateKey:
    """Return the key of a namespace's configs."""
    return StateKey(NAMESPACE_KIND, shown(path))


def topic_key(path: Path, topic: str) -> StateKey:
    """Return the key of what a topic has of its own.

    Args:
        path: its namespace.
        topic: its name there.
    """
    return StateKey(TOPIC_KIND, f"{shown(path)}/{topic}")


def read_topic_key(key: StateKey) -> tuple[Path, str]:
    """Return the namespace of a topic, and its name there.

    Raises:
        InvalidNamespace: the key names none.
    """
    path, _, topic = key.name.partition("/")
    return read_path(path), topic


def namespace_body(configs: NamespaceConfig) -> Body:
    """Return the body of a namespace's record."""
    return {
        "configs": dict(configs.configs),
        "earlier": {name: list(some) for name, some in configs.earlier.items()},
    }


def read_namespace_body(body: Body) -> NamespaceConfig:
    """Return the configs of a namespace's record.

    Raises:
        ValueError: a newer version of the gateway, or something else, has written it.
    """
    earlier = body.get("earlier")
    if set(body) != {"configs", "earlier"} or not isinstance(earlier, dict):
        raise _not_understood(NAMESPACE_KIND)
    if not all(isinstance(some, list) and _is_texts(dict.fromkeys(some, "")) for some in earlier.values()):
        raise _not_understood(NAMESPACE_KIND)
    return NamespaceConfig(
        _texts(body["configs"], NAMESPACE_KIND), {str(name): tuple(some) for name, some in earlier.items()}
    )


def topic_body(own: Mapping[str, str]) -> Body:
    """Return the body of a topic's record."""
    return {"own": dict(own)}


def read_topic_body(body: Body) -> Mapping[str, str]:
    """Return what a topic has of its own.

    Raises:
        ValueError: as `read_namespace_body`.
    """
    if set(body) != {"own"}:
        raise _not_understood(TOPIC_KIND)
    return _texts(body["own"], TOPIC_KIND)


def _is_texts(found: object) -> bool:
    return isinstance(found, dict) and all(isinstance(one, str) for pair in found.items() for one in pair)


def _texts(found: object, kind: str) -> dict[str, str]:
    if not isinstance(found, dict) or not _is_texts(found):
        raise _not_understood(kind)
    return found


def _not_understood(kind: str) -> ValueError:
    return ValueError(f"no body of the kind {kind}: run the version of the gateway that wrote it")
