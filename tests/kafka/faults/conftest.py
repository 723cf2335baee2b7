"""A gateway between two fault proxies: one before its clients, one before its broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.faults.line import IS_WHOLE, Line, line_of

collect_ignore = [] if IS_WHOLE else ["test_given_up.py"]
"""What takes longer than `make test` has time for: `make faults`."""


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Line]:
    with line_of(tmp_path_factory.mktemp("between-faults")) as one:
        yield one
