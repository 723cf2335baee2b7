"""The admin API in the test's own process."""

from pathlib import Path

import pytest

from support.control.table_backend import Api


@pytest.fixture
def api(tmp_path: Path) -> Api:
    return Api(tmp_path)
