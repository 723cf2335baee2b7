"""Reads an inventory: what existed on the physical clusters at one time, as `bifrost inventory` writes it down."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bifrost.pipeline.certificates.name_owners import GROUP, TOPIC, TRANSACTIONAL_ID
from bifrost.pipeline.errors import PipelineError

KNOWN_VERSION = 1

IDLE = frozenset(
    {(GROUP, "Empty"), (GROUP, "Dead")}
    | {(TRANSACTIONAL_ID, one) for one in ("Empty", "Dead", "CompleteCommit", "CompleteAbort")}
)
"""States in which a group has no member, and a transactional ID no open transaction. Every other one means that a
client is at work, also one that the broker did not tell."""

_FIELDS = {"topics": TOPIC, "groups": GROUP, "transactional_ids": TRANSACTIONAL_ID}
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
"""An upstream's: it becomes the name of a file."""


@dataclass(frozen=True, slots=True)
class Existing:
    """One entity on a physical cluster."""

    upstream: str
    entity: str
    """One of name_owners.ENTITIES."""
    physical: str
    is_active: bool
    """Whether clients were at work: a group with members, an open transaction. Never of a topic."""
    moved_to: str | None = None
    """The tenant that owned a topic of another tenant's prefix; None: its prefix says whose it was."""


@dataclass(frozen=True, slots=True)
class Inventory:
    """What existed on the clusters of one configuration."""

    begun_ms: int
    ended_ms: int
    cluster_ids: dict[str, str]
    """By the upstream's name."""
    found: tuple[Existing, ...]

    @property
    def day(self) -> str:
        """The day (UTC) on which it was begun."""
        return _at(self.begun_ms).strftime("%Y-%m-%d")

    @property
    def begun_at(self) -> str:
        """When it was begun, for people."""
        return _at(self.begun_ms).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_inventory(text: str) -> Inventory:
    """Return the inventory in a file.

    Raises:
        PipelineError: it is none, or of a version that this release does not know.
    """
    try:
        whole = json.loads(text)
        version, begun_ms, ended_ms = whole["version"], int(whole["begun_ms"]), int(whole["ended_ms"])
        if version != KNOWN_VERSION:
            raise PipelineError(f"an inventory of version {version}: this release reads {KNOWN_VERSION}")
        clusters = {str(one["upstream"]): one for one in whole["clusters"]}
        found = tuple(entity for name, one in clusters.items() for entity in _entities(name, one))
        ids = {name: str(one["cluster_id"]) for name, one in clusters.items()}
        _at(begun_ms)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, OSError):
        raise PipelineError("no inventory: make one with bifrost inventory") from None
    if not all(_NAME.fullmatch(name) for name in clusters):
        raise PipelineError("no inventory: an upstream has no name")
    return Inventory(begun_ms, ended_ms, ids, found)


def _entities(upstream: str, cluster: dict[str, Any]) -> Iterator[Existing]:
    moved = cluster.get("moved_topics", {})
    for field, entity in _FIELDS.items():
        for one in cluster[field]:
            name, state = (one, "") if entity == TOPIC else (one["name"], one["state"])
            if not isinstance(name, str) or not isinstance(state, str):
                raise TypeError(field)
            is_active = entity != TOPIC and (entity, state) not in IDLE
            moved_to = moved.get(name) if entity == TOPIC else None
            if moved_to is not None and not isinstance(moved_to, str):
                raise TypeError(field)
            yield Existing(upstream, entity, name, is_active, moved_to)


def _at(ms: int) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(ms / 1000, datetime.UTC)
