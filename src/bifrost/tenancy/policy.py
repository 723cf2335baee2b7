"""Whether a tenant may set a config to a value, and where it may put replicas. Pure: called for each admin request.

The table (config/policies/config_table.py) is changed by the rules of the gateway and then by those of the tenant.
Values are read as Kafka reads them (ConfigDef.parseType, with Java's parsers). A value that Kafka might accept and that
cannot be judged here is refused; a value that Kafka cannot read is left to the broker, which says why.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from bifrost.config.policies.config_table import GROUP_CONFIGS, TOPIC_CONFIGS, Decision, Kind
from bifrost.config.policies.policy import DEFAULT_MAX_REPLICATION_FACTOR, ConfigRule, Policy
from bifrost.wire.error_codes import ErrorCode

_MAX_VALUE_LENGTH = 1000
"""Longest value that is judged: Java reads a number with any count of leading zeros, Python does not."""
_SHOWN_LENGTH = 60
"""Longest part of a value that an answer quotes."""

SET, DELETE, APPEND, SUBTRACT = range(4)
"""AlterConfigOp.OpType."""

_JAVA_SPACE = "".join(map(chr, range(0x21)))
"""The characters that String.trim removes."""
_WHOLE = re.compile(r"[+-]?\d+")
"""Digits of any script, as Integer.parseInt accepts them."""
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a request that the policy does not allow."""

    error_code: ErrorCode
    message: str


class ResourcePolicy:
    """What one tenant may set."""

    __slots__ = ("_groups", "_topics", "allow_replica_assignments", "max_replication_factor")

    def __init__(self, *layers: Policy) -> None:
        """Start with the table, and apply the changes of each layer."""
        self._topics = _decided(TOPIC_CONFIGS, (layer.topic_configs for layer in layers))
        self._groups = _decided(GROUP_CONFIGS, (layer.group_configs for layer in layers))
        self.max_replication_factor = DEFAULT_MAX_REPLICATION_FACTOR
        self.allow_replica_assignments = False
        for layer in layers:
            if layer.max_replication_factor is not None:
                self.max_replication_factor = layer.max_replication_factor
            if layer.allow_replica_assignments is not None:
                self.allow_replica_assignments = layer.allow_replica_assignments

    def refuse_topic_config(self, name: str, value: str | None, operation: int = SET) -> Refusal | None:
        """Return why a topic's config may not have this value, None when it may."""
        return _refuse(self._topics.get(name), "topic", name, value, operation)

    def refuse_group_config(self, name: str, value: str | None, operation: int = SET) -> Refusal | None:
        """Return why a group's config may not have this value, None when it may."""
        return _refuse(self._groups.get(name), "group", name, value, operation)

    def refuse_replicas(self, replication_factor: int, assignments: Iterable[int]) -> Refusal | None:
        """Return why a topic's new partitions may not have these replicas, None when they may.

        Args:
            replication_factor: as the request has it; -1: the broker's own.
            assignments: how many brokers each partition is assigned to; none: the broker chooses them.
        """
        assigned = list(assignments)
        if assigned and not self.allow_replica_assignments:
            return _violation("Replica assignments cannot be chosen on this cluster: the brokers assign them")
        wanted = max([replication_factor, *assigned])
        if wanted > self.max_replication_factor:
            text = f"Replication factor {wanted} is not allowed: this cluster allows at most"
            return _violation(f"{text} {self.max_replication_factor}")
        return None


def describe(decision: Decision) -> str:
    """Return a description of the values that a config may have."""
    if not decision.allowed:
        return "nothing"
    if decision.values is not None:
        shown = [value or repr(value) for value in decision.values]
        return shown[0] if len(shown) == 1 else "one of " + ", ".join(shown)
    low, high = decision.low, decision.high
    if high is None:
        return "any value of Kafka's" if low is None else f"{low} or more"
    found = f"{high} or less" if low is None else str(low) if low == high else f"{low} to {high}"
    return f"{found}, and not below 0 (unlimited)" if decision.unlimited else found


def _decided(table: Mapping[str, Decision], layers: Iterable[Iterable[ConfigRule]]) -> Mapping[str, Decision]:
    found = dict(table)
    for rules in layers:
        for rule in rules:
            found[rule.name] = changed(found[rule.name], rule)
    return found


def changed(decision: Decision, rule: ConfigRule) -> Decision:
    """Return a decision as a rule changes it."""
    if rule.allowed is False:
        return replace(decision, allowed=False)
    has_bounds = rule.min is not None or rule.max is not None or rule.values is not None
    if not has_bounds:
        # Allowed without bounds: the operator wants none.
        return replace(decision, allowed=True, low=None, high=None, values=None)
    return replace(
        decision,
        allowed=True,
        low=decision.low if rule.min is None else rule.min,
        high=decision.high if rule.max is None else rule.max,
        values=decision.values if rule.values is None else rule.values,
    )


def _refuse(
    decision: Decision | None, kind: str, name: str, value: str | None, operation: int
) -> Refusal | None:
    if decision is None:
        # With Kafka's text for a config that it does not have (LogConfig.validateNames).
        return Refusal(ErrorCode.INVALID_CONFIG, f"Unknown {kind} config name: {name[:_SHOWN_LENGTH]}")
    if not decision.allowed:
        return _violation(f"Configuration {name} cannot be changed on this cluster")
    if operation == DELETE or value is None or allows(decision, value, operation):
        return None
    shown = value if len(value) <= _SHOWN_LENGTH else value[:_SHOWN_LENGTH] + "..."
    text = f"Invalid value {shown} for configuration {name}: this cluster allows {describe(decision)}"
    return _violation(text)


def _violation(message: str) -> Refusal:
    return Refusal(ErrorCode.POLICY_VIOLATION, message)


def allows(decision: Decision, value: str, operation: int = SET) -> bool:
    """Whether the bounds of a decision allow a value; one that Kafka cannot read is left to the broker."""
    if decision.low is None and decision.high is None and decision.values is None:
        return True
    if len(value) > _MAX_VALUE_LENGTH:
        return False
    text = value.strip(_JAVA_SPACE)
    match decision.kind:
        case Kind.LIST:
            return _is_list_allowed(decision.values or (), text, operation)
        case Kind.CHOICE | Kind.TEXT:
            # Kafka reads booleans in upper or lower case.
            return text.lower() in {one.lower() for one in decision.values or ()}
        case Kind.RATIO:
            return _is_ratio_allowed(decision, text)
        case _:
            return _WHOLE.fullmatch(text) is None or _is_within(decision, int(text))


def _is_list_allowed(values: tuple[str, ...], text: str, operation: int) -> bool:
    if operation == SUBTRACT and "" not in values:
        return False  # It might leave the empty list, which is a value of its own.
    return all(one.strip(_JAVA_SPACE) in values for one in text.split(","))


def _is_ratio_allowed(decision: Decision, text: str) -> bool:
    if _DECIMAL.fullmatch(text):
        return _is_within(decision, float(text))
    # Java reads hexadecimal ones, and NaN, which is between any two bounds.
    return not any(one.isdigit() for one in text) and text.lstrip("+-") not in ("NaN", "Infinity")


def _is_within(decision: Decision, number: float) -> bool:
    if decision.unlimited and number < 0:
        return decision.high is None
    return (decision.low is None or number >= decision.low) and (
        decision.high is None or number <= decision.high
    )


DEFAULT_POLICY = ResourcePolicy()
"""The policy when the operator configures none."""
