"""The policy of one namespace, in the form in which it is asked, and its refusals.

A refusal's text names the key of the policy, the namespace that has it, and what is allowed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from bifrost.config.policies.config_table import TOPIC_CONFIGS, Decision
from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.config.records.filter_configs import AcksName
from bifrost.tenancy.policies.name_pattern import matches_any
from bifrost.tenancy.policy import DELETE, Refusal, allows, changed, describe
from bifrost.wire.error_codes import ErrorCode

_SHOWN_LENGTH = 60
"""Longest part of a name or value that an answer quotes."""
_SHOWN_PATTERNS = 5


@dataclass(frozen=True, slots=True)
class Violation:
    """Why a policy does not allow something."""

    key: str
    """The key of the policy, such as `topic_names`."""
    namespace: str
    """The namespace that has the policy, from its tenant on."""
    message: str

    @property
    def refusal(self) -> Refusal:
        """The answer to the request."""
        return Refusal(ErrorCode.POLICY_VIOLATION, self.message)


class Ruling:
    """The policy of one namespace."""

    __slots__ = ("_decisions", "forced", "path", "policy", "shown")

    def __init__(self, path: tuple[str, ...], policy: NamespacePolicy) -> None:
        """Take a policy.

        Args:
            path: the namespace, from its tenant on.
            policy: what holds in it and below.
        """
        self.path, self.policy = path, policy
        self.shown = ":".join(path)
        self._decisions: Mapping[str, Decision] = {
            rule.name: changed(_without_bounds(TOPIC_CONFIGS[rule.name]), rule)
            for rule in policy.topic_configs
        }
        self.forced: Mapping[str, str] = {one.name: one.value for one in policy.forced_topic_configs}

    def refuse_topic_name(self, name: str) -> Violation | None:
        """Return why a topic may not have this name, None when it may."""
        return self._name("topic_names", self.policy.topic_names, "topic", name)

    def refuse_group_name(self, name: str) -> Violation | None:
        """Return why a group may not have this ID, None when it may."""
        return self._name("group_names", self.policy.group_names, "group", name)

    def refuse_partitions(self, count: int, *, is_new: bool) -> Violation | None:
        """Return why a topic may not have so many partitions, None when it may; a topic that exists may have few."""
        low, high = self.policy.min_partitions_per_topic, self.policy.max_partitions_per_topic
        if is_new and low is not None and count < low:
            return self._bound("min_partitions_per_topic", f"at least {low} partitions", str(count))
        if high is not None and count > high:
            return self._bound("max_partitions_per_topic", f"at most {high} partitions", str(count))
        return None

    def refuse_replicas(self, factor: int) -> Violation | None:
        """Return why a topic may not have so many replicas, None when it may."""
        low, high = self.policy.min_replication_factor, self.policy.max_replication_factor
        if low is not None and factor < low:
            return self._bound("min_replication_factor", f"at least {low} replicas", str(factor))
        if high is not None and factor > high:
            return self._bound("max_replication_factor", f"at most {high} replicas", str(factor))
        return None

    def refuse_config(self, name: str, value: str | None, operation: int) -> Violation | None:
        """Return why a topic's config may not have this value, None when it may.

        Args:
            name: of the config.
            value: None: none of its own.
            operation: as in `AlterConfigOp.OpType`.
        """
        decision = self._decisions.get(name)
        if decision is None:
            return None
        if not decision.allowed:
            return self._violation("topic_configs", f"no change of {name}")
        if operation == DELETE or value is None or allows(decision, value, operation):
            return None
        return self._bound("topic_configs", f"for {name} {describe(decision)}", _short(value))

    def refuse_growth(
        self, topics: int, partitions: int, more_topics: int, more_partitions: int
    ) -> Violation | None:
        """Return why the namespace may not have so many more topics and partitions than these, None when it may."""
        most = self.policy.max_topics
        if more_topics and most is not None and topics + more_topics > most:
            return self._bound("max_topics", f"at most {most} topics", str(topics + more_topics))
        most = self.policy.max_partitions
        if more_partitions > 0 and most is not None and partitions + more_partitions > most:
            found = str(partitions + more_partitions)
            return self._bound("max_partitions", f"at most {most} partitions over all topics", found)
        return None

    def refuse_acks(self, acks: AcksName) -> Violation | None:
        """Return why a producer may not have this setting `acks`, None when it may."""
        allowed = self.policy.acks
        return None if allowed is None or acks in allowed else self._bound("acks", ", ".join(allowed), acks)

    def refuse_compression(self, codec: str) -> Violation | None:
        """Return why a batch may not be compressed by a codec, None when it may; `none` is one too."""
        allowed = self.policy.compression
        if allowed is None or codec in allowed:
            return None
        return self._bound("compression", ", ".join(allowed), codec)

    def refuse_forced(self, name: str, wanted: str) -> Violation:
        """Return why a config that is forced may not be changed.

        Args:
            name: of the config.
            wanted: what the request wants instead, for the text.
        """
        return self._bound("forced_topic_configs", f"for {name} {self.forced[name]}", _short(wanted))

    def _name(self, key: str, patterns: tuple[str, ...], kind: str, name: str) -> Violation | None:
        if matches_any(patterns, name):
            return None
        some = ", ".join(patterns[:_SHOWN_PATTERNS]) + (", ..." if len(patterns) > _SHOWN_PATTERNS else "")
        return self._bound(key, f"{kind} names that match {some}", _short(name))

    def _bound(self, key: str, allowed: str, wanted: str) -> Violation:
        return self._violation(key, f"{allowed}, not {wanted}")

    def _violation(self, key: str, allowed: str) -> Violation:
        return Violation(key, self.shown, f"Policy {key} of namespace {self.shown} allows {allowed}")


def _without_bounds(decision: Decision) -> Decision:
    """Return the decision that allows everything: the tenant's own policy has the usual bounds."""
    return replace(decision, allowed=True, low=None, high=None, values=None)


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "..."
