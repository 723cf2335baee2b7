"""Which virtual clusters have the same physical cluster behind them.

Each says in `spec.targetCluster` which is its own, by a list of brokers. Those that say the same are one upstream;
where one has a `name`, the others need only the name. An upstream without a name is called after its first broker,
which stays the same when documents come and go; so two that begin with the same broker, which makes them one cluster,
must not differ otherwise.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from bifrost.config.fields.upstream import Upstream
from bifrost.config.files.source import Place
from bifrost.config.kubernetes.camel_case import camel_keys
from bifrost.config.kubernetes.resource import Resource
from bifrost.config.loc import Loc
from bifrost.config.name_template import MAX_TENANT_NAME_LENGTH

TARGET_KEYS = {"name": "name", "bootstrapServers": "bootstrap"} | camel_keys(Upstream, without=("bootstrap",))
"""The field for each key of `spec.targetCluster`."""

_AT: Loc = ("spec", "targetCluster")


@dataclass(slots=True, eq=False)
class Target:
    """What one document says of its physical cluster."""

    resource: Resource
    content: dict[str, object]
    """The section, as it was written."""
    tenant: dict[str, object]
    """The tenant it is for; it is given the name of its upstream."""
    name: object = None
    """What the upstream is called: a text, or what was written in its place."""

    @property
    def place(self) -> Place:
        """Where the section stands."""
        return self.resource.place_of(_AT)

    @property
    def addresses(self) -> list[str]:
        """The addresses in `bootstrapServers`; like Kafka's clients, without regard to spaces and empty ones."""
        text = self.content.get("bootstrapServers")
        parts = text.split(",") if isinstance(text, str) else []
        return [part.strip() for part in parts if part.strip()]

    @property
    def description(self) -> str:
        """All but the name, to be compared."""
        others = {
            key: value for key, value in self.content.items() if key not in ("name", "bootstrapServers")
        }
        return json.dumps([self.addresses, others], sort_keys=True, default=str)

    @property
    def is_reference(self) -> bool:
        """Whether it only names what another document describes."""
        return self.content.keys() == {"name"}


def merge_targets(targets: Sequence[Target]) -> tuple[list[Target], list[tuple[Place, str]]]:
    """Give each tenant its upstream.

    Returns:
        One target for each upstream, the first that describes it, and what is wrong, with its place.
    """
    merged: list[Target] = []
    by_name: dict[object, Target] = {}
    by_description: dict[str, Target] = {}
    problems: list[tuple[Place, str]] = []

    def add(target: Target, name: object) -> None:
        target.name = name
        merged.append(target)
        by_name.setdefault(_key(name), target)
        by_description.setdefault(target.description, target)

    named = [target for target in targets if "name" in target.content]
    for target in sorted(named, key=lambda target: target.is_reference):  # what describes, first
        name = target.content["name"]
        known = by_name.get(_key(name))
        if known is None:
            add(target, name)
        elif not target.is_reference and target.description != known.description:
            text = f"another {name} is described at {known.place}: make the two the same, or rename one"
            problems.append((target.place, f"spec.targetCluster: {text}"))
        target.tenant["upstream"] = name
    for target in targets:
        if "name" in target.content:
            continue
        same = by_description.get(target.description)
        if same is None:
            name = _name_after(target.addresses)
            other = by_name.get(_key(name))
            add(target, name)
            if other is not None:
                text = f"begins with the same broker as that at {other.place}, so it is that one: make the two the same"
                problems.append((target.place, f"spec.targetCluster {text}"))
            same = target
        target.tenant["upstream"] = same.name
    order = {id(target): number for number, target in enumerate(targets)}
    return sorted(merged, key=lambda target: order[id(target)]), problems


def _key(name: object) -> str:
    return name if isinstance(name, str) else repr(name)


def _name_after(addresses: Sequence[str]) -> str:
    """Return a name for a cluster by its first broker: `kafka-1.internal-9092`."""
    first = re.sub("[^a-zA-Z0-9._-]+", "-", addresses[0]) if addresses else "unnamed"
    return first.strip("-")[-MAX_TENANT_NAME_LENGTH:] or "unnamed"
