"""The order of files where several processes share them: first those that take minutes.

A pytest plugin (`tests/conftest.py`). The many small files come last, so that no process is left with a long one while
the others have nothing to do. Within a folder files keep their order, and so do tests within a file.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
LONG = ("kafka", "golden", "property")
"""Folders of files that take long: with brokers, with Kafka's own classes, with random values."""


def place_of(path: Path) -> int:
    """Return the place of a file's folder; files of equal places keep their order."""
    folder = path.relative_to(TESTS).parts[0]
    return LONG.index(folder) if folder in LONG else len(LONG)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests in order, in a process of several; alone, the shortest ones may as well come first."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place_of(item.path))
