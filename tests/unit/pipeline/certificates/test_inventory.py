"""Inventories: what is read of the file that `bifrost inventory` writes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bifrost.pipeline.certificates.inventory import Existing, read_inventory
from bifrost.pipeline.errors import PipelineError
from support.journal.inventories import inventory_text


def test_an_inventory_says_what_exists_and_where_clients_are_at_work() -> None:
    found = read_inventory(
        inventory_text(
            topics=["t"],
            groups={"busy": "Stable", "old": "Empty", "untold": ""},
            transactional_ids={"open": "Ongoing", "done": "CompleteCommit"},
        )
    )

    assert (found.day, found.begun_at) == ("2026-10-05", "2026-10-05T12:00:00Z")
    assert found.cluster_ids == {"main": "cluster-1"}
    assert set(found.found) == {
        Existing("main", "topic", "t", is_active=False),
        Existing("main", "group", "busy", is_active=True),
        Existing("main", "group", "old", is_active=False),
        Existing("main", "group", "untold", is_active=True),
        Existing("main", "transactional_id", "open", is_active=True),
        Existing("main", "transactional_id", "done", is_active=False),
    }


def test_topics_of_another_prefix_have_their_owners() -> None:
    found = read_inventory(inventory_text(topics=["t", "u"], groups={"t": ""}, moved_topics={"t": "globex"}))

    assert set(found.found) == {
        Existing("main", "topic", "t", is_active=False, moved_to="globex"),
        Existing("main", "topic", "u", is_active=False),
        Existing("main", "group", "t", is_active=True),
    }


@pytest.mark.parametrize(
    "change",
    [
        {"begun_ms": "soon"},
        {"begun_ms": 10**30},
        {"clusters": [{"upstream": "main"}]},
        {"clusters": [{"upstream": "../main", "cluster_id": "c", "topics": [], "groups": [], "transactional_ids": []}]},
        {"clusters": [{"upstream": "m", "cluster_id": "c", "topics": [1], "groups": [], "transactional_ids": []}]},
        {"clusters": [{"upstream": "m", "cluster_id": "c", "topics": ["t"], "groups": [], "transactional_ids": [],
                       "moved_topics": {"t": 7}}]},
        {"clusters": 7},
    ],
)  # fmt: skip
def test_what_is_no_inventory_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(PipelineError, match="no inventory"):
        read_inventory(json.dumps(json.loads(inventory_text()) | change))


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(PipelineError, match="make one with bifrost inventory"):
        read_inventory(text)


def test_an_inventory_of_the_future_is_refused() -> None:
    with pytest.raises(PipelineError, match="version 2: this release reads 1"):
        read_inventory(json.dumps(json.loads(inventory_text()) | {"version": 2}))
