"""What tenants may set, where the operator changes the defaults of `config_table.py`: the sections `policy`."""

import math
from collections.abc import Callable, Mapping
from typing import Annotated

from pydantic import AfterValidator, Field, PlainValidator, model_validator

from bifrost.config.policies.config_table import GROUP_CONFIGS, TOPIC_CONFIGS, Decision, Kind
from bifrost.config.section import Section
from bifrost.config.units import read_duration_ms, read_size_bytes
from bifrost.config.values import Count, Flag, Text

DEFAULT_MAX_REPLICATION_FACTOR = 3

_MAX_RULES = 100
NUMBERS = (Kind.NUMBER, Kind.SIZE, Kind.DURATION, Kind.RATIO)
CHOICES = (Kind.CHOICE, Kind.LIST)


def read_bound(value: object) -> float:
    """Read a bound: a number, or a size or a duration with its unit.

    Raises:
        ValueError: it is neither a number, a size nor a duration.
    """
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return value
    if not isinstance(value, str):
        raise ValueError("expected a number, or a size or a duration such as 16MiB or 4h")
    read = read_duration_ms if value.rstrip().endswith(("s", "min", "h")) else read_size_bytes
    return read(value)


_WITH_UNIT = Annotated[str, Field(pattern=r"^\s*[0-9]{1,12}(\.[0-9]{1,9})? ?(B|KiB|MiB|GiB|ms|s|min|h)\s*$")]
Bound = Annotated[float, PlainValidator(read_bound, json_schema_input_type=int | float | _WITH_UNIT)]
"""A whole number stays an int: a float cannot hold Java's largest long."""


class ConfigRule(Section):
    """What a tenant may set one config to. A key that is left out has its value from the table of
    [config-policy.md](config-policy.md), or, for a tenant's own rule, from `proxy.policy`."""

    name: Text = Field(examples=["retention.ms"])
    """Kafka's name of the config. Required."""

    allowed: Flag | None = None
    """Whether tenants may set it. Default: true where a rule gives a bound or values, or else as in the table."""

    min: Bound | None = None
    """Least value, of a config that is a number, a size or a duration; with a unit where it has one (`16MiB`, `4h`).
    Default: as in the table."""

    max: Bound | None = None
    """Largest value. A value of -1 that means "no limit" is then also refused. Default: as in the table."""

    values: tuple[Text, ...] | None = Field(default=None, min_length=1, max_length=100)
    """The values it may have, of a config that is a choice or a list of choices. Default: as in the table."""

    @model_validator(mode="after")
    def _check_bounds(self) -> "ConfigRule":
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError(f"min {self.min} is more than max {self.max}: swap them, or remove one")
        has_more = any(one is not None for one in (self.min, self.max, self.values))
        if self.allowed is None and not has_more:
            raise ValueError("says nothing: add allowed, min, max or values")
        if self.allowed is False and has_more:
            raise ValueError("is not allowed and has bounds: remove allowed, or the bounds")
        return self


def _checker(known: Mapping[str, Decision], kind: str) -> Callable[[ConfigRule], ConfigRule]:
    def check(rule: ConfigRule) -> ConfigRule:
        decision = known.get(rule.name)
        if decision is None:
            from difflib import get_close_matches  # imported only when needed, because it costs memory

            close = get_close_matches(rule.name, known, n=1)
            hint = f"did you mean {close[0]}?" if close else "docs/config-policy.md has all that there are"
            raise ValueError(f"name: Kafka has no {kind} config of this name that is known here; {hint}")
        if decision.kind not in NUMBERS and (rule.min is not None or rule.max is not None):
            raise ValueError(f"{rule.name} is no number: write allowed or values in place of min and max")
        if decision.kind not in CHOICES and rule.values is not None:
            raise ValueError(f"{rule.name} is no choice: write allowed, min or max in place of values")
        return rule

    return check


OF_TOPICS = AfterValidator(_checker(TOPIC_CONFIGS, "topic"))
OF_GROUPS = AfterValidator(_checker(GROUP_CONFIGS, "group"))


class Policy(Section):
    """What tenants may set of topics and groups. Kafka's brokers have classes for that
    (`create.topic.policy.class.name`); here the defaults already allow only what harms no other tenant: see
    [config-policy.md](config-policy.md). A refused request is answered POLICY_VIOLATION."""

    topic_configs: tuple[Annotated[ConfigRule, OF_TOPICS], ...] = Field(
        default=(), max_length=_MAX_RULES, examples=["[{ name: retention.ms, max: 168h }]"]
    )
    """Rules for topic configs that differ from the defaults. Default: none."""

    group_configs: tuple[Annotated[ConfigRule, OF_GROUPS], ...] = Field(
        default=(), max_length=_MAX_RULES, examples=["[{ name: streams.num.standby.replicas, max: 1 }]"]
    )
    """Rules for group configs that differ from the defaults. Default: none."""

    max_replication_factor: Count | None = Field(default=None, ge=1, le=32_767)
    """Most replicas of a partition that a request may ask for; a number that it leaves to the brokers
    (`default.replication.factor`) is not checked. Default: the key is absent, and that is 3, or for a tenant what
    `proxy.policy` says: more replicas cost disk and network, and clients that ask for a number ask for 1 or 3."""

    allow_replica_assignments: Flag | None = None
    """Whether a request may choose the brokers of a new partition's replicas. Default: the key is absent, and that is
    false, or for a tenant what `proxy.policy` says: a tenant could otherwise put all its load on one broker."""

    @model_validator(mode="after")
    def _check_rules(self) -> "Policy":
        for key, rules in (("topic_configs", self.topic_configs), ("group_configs", self.group_configs)):
            names = [rule.name for rule in rules]
            twice = next((name for name in names if names.count(name) > 1), None)
            if twice is not None:
                raise ValueError(f"{key} has two rules for {twice}: make one of them")
        return self
