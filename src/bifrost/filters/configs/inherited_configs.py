"""Configs that topics inherit from their namespaces, in requests that set configs and in answers that show them.

A topic has what it inherits as a config of its own at the brokers, so the gateway sets it where a client sets nothing:
in CreateTopics, where a config is taken back, and in AlterConfigs, which takes back what it does not name. What a
client sets to just the value that it would inherit is remembered in the state first, so that it stays when the
namespace's value changes; the gateway may end at any moment between the two, and the client tries again.

DescribeConfigs tells such a config with the source DYNAMIC_DEFAULT_BROKER_CONFIG, Kafka's word for a default that holds
for all topics: to tools, the topic has no value of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bifrost.filters.filter import Exchange
from bifrost.filters.steps import MAX_ATTEMPTS, StateChange
from bifrost.state.state_outcome import OutcomeKind, StateOutcome
from bifrost.tenancy.policy import DELETE, SET
from bifrost.wire.messages import AlterConfigsRequest, CreateTopicsRequest
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.state.state_change import Change
    from bifrost.tenancy.namespace import Namespace
    from bifrost.tenancy.topic_configs.namespace_defaults import NamespaceDefaults

MAX_REMEMBERED = 10_000
"""Topics of a tenant of which values of their own are remembered: as many records as the state has for it at the most,
because a client may name topics that do not exist. `bifrost control` removes those of such topics."""

DYNAMIC_TOPIC_CONFIG, DYNAMIC_DEFAULT_BROKER_CONFIG = 1, 3
"""ConfigEntry.ConfigSource, as DescribeConfigs has it."""


def remember_created(exchange: Exchange, topics: Iterable[Any]) -> StateChange | StateOutcome | None:
    """Remember what topics of CreateTopics have of their own; see `_remember`."""
    return _remember(
        exchange,
        (
            (
                topic.name,
                {one.name: one.value for one in in_steps(topic.configs) if one.value is not None},
                None,
            )
            for topic in in_steps(topics)
        ),
    )


def remember_altered(
    exchange: Exchange, topics: Iterable[Any], *, is_whole: bool
) -> StateChange | StateOutcome | None:
    """Remember what topics of AlterConfigs (`is_whole`) or IncrementalAlterConfigs have of their own."""

    def asked(topic: Any) -> tuple[str, dict[str, str], list[str] | None]:
        sets = {
            one.name: one.value
            for one in in_steps(topic.configs)
            if one.value is not None and getattr(one, "config_operation", SET) == SET
        }
        deleted = [
            one.name for one in in_steps(topic.configs) if getattr(one, "config_operation", SET) == DELETE
        ]
        return topic.resource_name, sets, None if is_whole else deleted

    return _remember(exchange, map(asked, topics))


def _remember(
    exchange: Exchange, topics: Iterable[tuple[str, dict[str, str], list[str] | None]]
) -> StateChange | StateOutcome | None:
    """Return the change of the state that has to be made first; or why it was not made; None: go on."""
    defaults, state, made = defaults_of(exchange.scope.namespace), exchange.scope.state, exchange.state_change
    attempt = 1
    if defaults is None or state is None:
        return None
    if made is not None and made.outcome is not None:
        if made.outcome.is_done:
            return None
        if made.outcome.kind is not OutcomeKind.CONFLICT or made.attempt >= MAX_ATTEMPTS:
            return made.outcome
        attempt = made.attempt + 1
    changes: dict[Any, Change] = {}
    for name, given, without in in_steps(topics):
        change = defaults.remember(state, name, given, without)
        if change is not None:
            changes[change.key] = change
    if not changes:
        return None
    if defaults.remembered + sum(one.expected == 0 for one in changes.values()) > MAX_REMEMBERED:
        return StateOutcome(OutcomeKind.TOO_LARGE)
    return StateChange(tuple(changes.values()), f"User:{exchange.scope.user}", attempt=attempt)


def inherit_created(namespace: Namespace, topic: Any) -> None:
    """Give a topic of CreateTopics what it inherits."""
    missing = _missing(
        namespace, topic.name, (one.name for one in in_steps(topic.configs) if one.value is not None)
    )
    if missing:
        topic.configs = [one for one in in_steps(topic.configs) if one.name not in missing]
        topic.configs += [
            CreateTopicsRequest.CreatableTopicConfig(name=name, value=value)
            for name, value in missing.items()
        ]


def inherit_altered(namespace: Namespace, topic: Any, *, is_whole: bool) -> None:
    """Give a topic of AlterConfigs (`is_whole`) or IncrementalAlterConfigs what it inherits in place of no value."""
    if is_whole:
        missing = _missing(namespace, topic.resource_name, (one.name for one in in_steps(topic.configs)))
        topic.configs += [
            AlterConfigsRequest.AlterableConfig(name=name, value=value) for name, value in missing.items()
        ]
        return
    inherited = _missing(namespace, topic.resource_name, ())
    for one in in_steps(topic.configs if inherited else ()):
        if one.config_operation == DELETE and one.name in inherited:
            one.config_operation, one.value = SET, inherited[one.name]


def show_inherited(namespace: Namespace, topic: str, configs: Iterable[Any]) -> None:
    """Tell the source of each config that a topic inherits."""
    defaults = defaults_of(namespace)
    if defaults is None:
        return
    for one in in_steps(configs):
        if one.config_source != DYNAMIC_TOPIC_CONFIG or not defaults.inherits(topic, one.name, one.value):
            continue
        one.config_source = DYNAMIC_DEFAULT_BROKER_CONFIG
        for synonym in in_steps(getattr(one, "synonyms", ())):
            if synonym.source == DYNAMIC_TOPIC_CONFIG:
                synonym.source = DYNAMIC_DEFAULT_BROKER_CONFIG


def defaults_of(namespace: Namespace) -> NamespaceDefaults | None:
    """Return what topics of a namespace inherit; None: there can be nothing."""
    return None if namespace.rules is None else namespace.rules.defaults


def _missing(namespace: Namespace, topic: str, named: Iterable[str]) -> dict[str, str]:
    defaults = defaults_of(namespace)
    found = {} if defaults is None else defaults.inherited(topic)
    for name in in_steps(named):
        found.pop(name, None)
    return found
