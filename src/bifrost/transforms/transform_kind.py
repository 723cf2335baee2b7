"""A kind of transform: how a filter of the configuration becomes a transform, and where its module is.

A new kind needs a name in `FilterName`, its keys in `FilterConfig`, and a module here with a `KIND`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import NamedTuple

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.config.records.record_filter import FilterName
from bifrost.transforms.record_transform import BatchTransform, Direction, PlacedTransform, RecordTransform

_MODULES = {
    FilterName.RECORD_HEADERS: "record_headers",
    FilterName.PRODUCE_POLICY: "produce_policy",
    FilterName.MASKING: "masking.masking",
    FilterName.PYTHON_TRANSFORM: "user.python_transform",
    FilterName.ENVELOPE_ENCRYPTION: "encryption.envelope_encryption",
    FilterName.SCHEMA_VALIDATOR: "schema_validator",
}
"""Where each kind is. A module is loaded where a configuration has a filter of its kind: it takes memory."""


class Topic(NamedTuple):
    """The topic that a transform is made for."""

    tenant: str
    name: str
    """By the path from the tenant, with `:` between tiers."""
    physical: bytes
    """What the broker calls it."""
    cluster: str = ""
    """The ID of the cluster that has it."""
    is_virtual: bool = False
    """Whether it has virtual partitions: then these are the partitions that transforms are given."""


Transform = RecordTransform | BatchTransform | PlacedTransform
"""What a kind makes for a topic."""


def _not_exempt(config: FilterConfig, principal: str) -> bool:
    return False


def _none(config: FilterConfig) -> frozenset[int]:
    return frozenset()


def _no_source(config: FilterConfig) -> frozenset[str]:
    return frozenset()


@dataclass(frozen=True, slots=True)
class TransformKind:
    """What is common to all transforms of a kind."""

    directions: frozenset[Direction]
    """The ways on which it does something."""
    make: Callable[[str, FilterConfig, Topic], Transform]
    """Makes the transform of a topic, by the name by which the operator knows it."""
    refused_acks: Callable[[FilterConfig], frozenset[int]] = _none
    """The settings `acks` with which a Produce request is refused, whatever its records are."""
    sources: frozenset[str] = frozenset()
    """The names of the sources that its transforms ask: `Key.source`."""
    sources_of: Callable[[FilterConfig], frozenset[str]] = _no_source
    """Those that they ask besides, as the config says."""
    is_exempt: Callable[[FilterConfig, str], bool] = _not_exempt
    """Whether the config itself says that the filter is not for a principal, `User:...`, whatever its rules say."""
    seals: bool = False
    """Whether no other transform can read the records between it and the broker: it is the one next to that."""


@cache
def kind_of(name: FilterName) -> TransformKind:
    """Return the kind of a filter, and load its module if that was not done before: it is asked for each topic."""
    kind: TransformKind = import_module(f"bifrost.transforms.{_MODULES[name]}").KIND
    return kind
