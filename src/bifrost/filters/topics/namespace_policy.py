"""What the policies of namespaces say about topics that a request creates or enlarges, or whose configs it sets.

The tenant's own policy and bounds are asked before (`tenancy.policy`, `tenancy.topic_bounds`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.policy import Refusal
from bifrost.tenancy.topic_bounds import BY_DEFAULT, Growth
from bifrost.wire.steps import in_steps

Config = TypeVar("Config")


def refuse_creation(namespace: Namespace, growth: Growth | None, topic: Any) -> Refusal | None:
    """Return why a topic of CreateTopics may not be created, None when it may."""
    assigned = [len(one.broker_ids) for one in in_steps(topic.assignments)]
    partitions = len(assigned) or topic.num_partitions
    factor = max(assigned, default=topic.replication_factor)
    configs = ((one.name, one.value) for one in in_steps(topic.configs))
    return refuse_topic(namespace, growth, topic.name, partitions, factor, configs)


def refuse_topic(
    namespace: Namespace,
    growth: Growth | None,
    name: str,
    partitions: int = BY_DEFAULT,
    factor: int = BY_DEFAULT,
    configs: Iterable[tuple[str, str | None]] = (),
) -> Refusal | None:
    """Return why a topic may not be created, None when it may.

    Args:
        namespace: of the client.
        growth: knows what the brokers do by default; None: the tenant has no bounds, and that is not judged.
        name: of the topic.
        partitions: how many it is to have, or BY_DEFAULT.
        factor: how many replicas, or BY_DEFAULT.
        configs: names and values.
    """
    rules = namespace.rules
    if rules is None:
        return None
    if growth is not None and partitions == BY_DEFAULT:
        partitions = growth.default_partitions
    if growth is not None and factor == BY_DEFAULT:
        factor = growth.default_replication_factor
    refusal = rules.refuse_topic_name(name)
    if refusal is None and partitions != BY_DEFAULT:
        refusal = rules.refuse_partitions(name, partitions, is_new=True)
    if refusal is None and factor != BY_DEFAULT:
        refusal = rules.refuse_replicas(name, factor)
    for config, value in in_steps(configs):
        refusal = refusal or rules.refuse_config(name, config, value)
    return refusal


def with_forced(
    namespace: Namespace, topic: str, configs: list[Config], new: type[Config], *, replaces: bool = True
) -> list[Config]:
    """Return configs of a topic with those that policies force.

    Args:
        namespace: of the client.
        topic: its name.
        configs: what the request sets.
        new: the class of these.
        replaces: whether a forced config takes the place of the request's. If not, it is added where the request does
            not name it: AlterConfigs takes back what it does not name, and a broker refuses a name without a value.
    """
    forced = {} if namespace.rules is None else namespace.rules.forced(topic)
    if not forced:
        return configs
    field = "key" if hasattr(new, "key") else "name"
    named = set() if replaces else {getattr(one, field) for one in in_steps(configs)}
    kept = [one for one in in_steps(configs) if not replaces or getattr(one, field) not in forced]
    return kept + [
        new(**{field: name, "value": value}) for name, value in forced.items() if name not in named
    ]
