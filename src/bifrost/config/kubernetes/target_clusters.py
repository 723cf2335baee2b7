"""Finds the virtual clusters that share a physical cluster.

Each names its physical cluster in `spec.targetCluster` by a list of brokers. Those with the same list are one upstream;
where one has a `name`, the others need only the name. An upstream without a name is named after its first broker, so
that its name stays the same when other documents are added or removed; so two that begin with the same broker, which
makes them one cluster, must be equal in everything else.
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
    """One document's description of its physical cluster."""

    resource: Resource
    content: dict[str, object]
    """The section, as the operator wrote it."""
    tenant: dict[str, object]
    """The tenant of the document; `merge_targets` gives it the name of its upstream."""
    name: object = None
    """The name of the upstream: a text, or the value that was written in its place."""

    @property
    def place(self) -> Place:
        """The file and line of the section."""
        return self.resource.place_of(_AT)

    @property
    def addresses(self) -> list[str]:
        """The addresses in `bootstrapServers`; like Kafka's clients, it ignores spaces and empty entries."""
        text = self.content.get("bootstrapServers")
        parts = text.split(",") if isinstance(text, str) else []
        return [part.strip() for part in parts if part.strip()]

    @property
    def description(self) -> str:
        """All keys except the name, for comparison."""
        others = {
            key: value for key, value in self.content.items() if key not in ("name", "bootstrapServers")
        }
        return json.dumps([self.addresses, others], sort_keys=True, default=str)

    @property
    def is_reference(self) -> bool:
        """Whether it only names a cluster that another document describes."""
        return self.content.keys() == {"name"}


def merge_targets(targets: Sequence[Target]) -> tuple[list[Target], list[tuple[Place, str]]]:
    """Set the upstream of each tenant.

    Returns:
        One target for each upstream, the first that describes it, and the mistakes, each with its place.
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
    for target in sorted(named, key=lambda target: target.is_reference):  # targets with a description first
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
