"""Inventories as `bifrost inventory` writes them, for the pipeline's tests."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from support.journal.journal_records import NOON_MS


def inventory_text(
    *,
    topics: Iterable[str] = (),
    groups: Mapping[str, str] | None = None,
    transactional_ids: Mapping[str, str] | None = None,
    moved_topics: Mapping[str, str] | None = None,
    begun_ms: int = NOON_MS,
    upstream: str = "main",
) -> str:
    """Return an inventory of one cluster: topics by their names, the others by names and states."""
    cluster: dict[str, object] = {
        "upstream": upstream,
        "cluster_id": "cluster-1",
        "topics": list(topics),
        "groups": [{"name": name, "state": state} for name, state in (groups or {}).items()],
        "transactional_ids": [
            {"name": name, "state": state} for name, state in (transactional_ids or {}).items()
        ],
    }
    if moved_topics is not None:
        cluster["moved_topics"] = dict(moved_topics)
    whole = {"version": 1, "begun_ms": begun_ms, "ended_ms": begun_ms + 10, "clusters": [cluster]}
    return json.dumps(whole)
