"""Policies by namespace: the section `namespace_policies` of a tenant, and what admins store for a namespace.

A policy only narrows what the operator gives a tenant by `policy` and `limits`; `tenancy.policies` decides by it.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field, StrictStr, model_validator

from bifrost.config.policies.config_value import ConfigValue, canonical, read_value
from bifrost.config.policies.policy import OF_TOPICS, ConfigRule
from bifrost.config.records.filter_configs import AcksValue, CodecName
from bifrost.config.section import Section
from bifrost.config.values import Count, NamespacePath, Text

MAX_POLICIES = 1_000
"""Most namespaces of a tenant with a policy in the file; the state may have more."""
MAX_PATTERNS = 100
"""Patterns of one key: each new name is compared with all of them."""
MAX_RULES = 100
"""Rules and forced configs of one policy: more than Kafka has topic configs."""
MAX_PARTITIONS = 1_000_000
"""More partitions than a cluster can have."""

_STARS = re.compile(r"\*{2,}")


def _check_pattern(pattern: str) -> str:
    if _STARS.search(pattern):
        raise ValueError(f"{pattern!r} has several * in a row: write one")
    return pattern


NamePattern = Annotated[StrictStr, Field(min_length=1, max_length=249), AfterValidator(_check_pattern)]
"""A name in which each `*` stands for any characters, also none."""


class ForcedConfig(Section):
    """A config that every new topic of a namespace has, with this value."""

    name: Text = Field(examples=["min.insync.replicas"])
    """Kafka's name of the topic config. Required."""

    value: ConfigValue = Field(examples=["2"])
    """Its value, as Kafka takes it. Required."""

    @model_validator(mode="before")
    @classmethod
    def _write_as_kafka_does(cls, given: object) -> object:
        if isinstance(given, dict) and isinstance(given.get("name"), str) and "value" in given:
            return {**given, "value": canonical(given["name"], read_value(given["value"]))}
        return given


class NamespacePolicy(Section):
    """What holds in a namespace and in those below it. It applies in addition to the policies of the namespaces above
    and to what `policy` and `limits` give the tenant, so it can only narrow them. A refused request is answered
    POLICY_VIOLATION with the key, the namespace and what is allowed. See
    [namespaces.md](namespaces.md#policies)."""

    topic_names: tuple[NamePattern, ...] = Field(
        default=(), max_length=MAX_PATTERNS, examples=['["orders-*", "*.events"]']
    )
    """Patterns of which a new topic's name has to match one; `*` stands for any characters. The name is the one within
    the topic's own namespace. Default: none, and any name is allowed."""

    group_names: tuple[NamePattern, ...] = Field(
        default=(), max_length=MAX_PATTERNS, examples=['["team-a-*"]']
    )
    """Likewise of groups, for members that join and offsets that are committed. Default: none, and any name is
    allowed."""

    min_partitions_per_topic: Count | None = Field(default=None, ge=1, le=MAX_PARTITIONS)
    """Fewest partitions of a new topic. Default: the key is absent, and there is no such bound."""

    max_partitions_per_topic: Count | None = Field(default=None, ge=1, le=MAX_PARTITIONS)
    """Most partitions of a topic. Default: the key is absent, and there is no such bound."""

    min_replication_factor: Count | None = Field(default=None, ge=1, le=32_767)
    """Fewest replicas of a new topic's partitions. Default: the key is absent, and there is no such bound."""

    max_replication_factor: Count | None = Field(default=None, ge=1, le=32_767)
    """Most replicas of a new topic's partitions; a number that a request leaves to the brokers is their
    `default.replication.factor`. Default: the key is absent, and there is no such bound."""

    max_topics: Count | None = Field(default=None, ge=0, le=MAX_PARTITIONS)
    """Most topics of the namespace, with those of the namespaces below it. Default: the key is absent, and there is
    no such bound."""

    max_partitions: Count | None = Field(default=None, ge=0, le=MAX_PARTITIONS)
    """Most partitions of all these topics together. Default: the key is absent, and there is no such bound."""

    topic_configs: tuple[Annotated[ConfigRule, OF_TOPICS], ...] = Field(
        default=(), max_length=MAX_RULES, examples=["[{ name: retention.ms, max: 24h }]"]
    )
    """What a topic's configs may be set to: `min`, `max` or `values`, or `allowed: false`. Default: no such rule."""

    forced_topic_configs: tuple[ForcedConfig, ...] = Field(
        default=(), max_length=MAX_RULES, examples=["[{ name: min.insync.replicas, value: 2 }]"]
    )
    """Configs that a new topic has in any case; a request that sets another value, or takes the value away, is
    refused. Where namespaces above force the same config, the one furthest above decides. Default: none."""

    acks: tuple[AcksValue, ...] | None = Field(default=None, min_length=1, examples=["[all]"])
    """Which settings `acks` producers may have: `all`, `1`, `0`. Records that come with another are refused. Default:
    the key is absent, and all are allowed."""

    compression: tuple[CodecName, ...] | None = Field(default=None, min_length=1, examples=["[zstd, lz4]"])
    """How the batches of producers may be compressed: `none`, `gzip`, `snappy`, `lz4`, `zstd`. A batch that is
    compressed in another way is refused. Default: the key is absent, and every way is allowed."""

    @property
    def is_about_records(self) -> bool:
        """Whether it says something about records that are produced."""
        return self.acks is not None or self.compression is not None

    @model_validator(mode="after")
    def _check_policy(self) -> "NamespacePolicy":
        for low, high in (
            ("min_partitions_per_topic", "max_partitions_per_topic"),
            ("min_replication_factor", "max_replication_factor"),
        ):
            least, most = getattr(self, low), getattr(self, high)
            if least is not None and most is not None and least > most:
                raise ValueError(f"{low} {least} is more than {high} {most}: swap them, or remove one")
        for key, names in (
            ("topic_configs", [one.name for one in self.topic_configs]),
            ("forced_topic_configs", [one.name for one in self.forced_topic_configs]),
        ):
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"{key} has {twice} twice: make one of them")
        wide = next((one.name for one in self.topic_configs if one.allowed), None)
        if wide is not None:
            raise ValueError(
                f"topic_configs has allowed: true for {wide}: a policy of a namespace only narrows"
            )
        return self


class PolicyOfNamespace(NamespacePolicy):
    """The policy of one namespace of a tenant."""

    namespace: NamespacePath | None = None
    """The namespace: tiers separated by `:`, such as `analytics:eu`. It exists because it is named here. Default: the
    key is absent, and the policy is that of the tenant as a whole."""
