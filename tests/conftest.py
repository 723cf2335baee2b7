"""What holds for every test: a failed assertion of the tests' own library shows its values as well, several processes
begin with the files that take longest, and at the end of a run stands what was skipped.
"""

import pytest

pytest.register_assert_rewrite("support")

from support import files_in_order  # noqa: E402
from support.random.profiles import load_profile  # noqa: E402
from support.skips import skip_list  # noqa: E402


def pytest_configure(config: pytest.Config) -> None:
    """Collect what is skipped, and order the files; give no test of a property a deadline."""
    load_profile()
    config.pluginmanager.register(skip_list, "skip list of a run")
    config.pluginmanager.register(files_in_order, "files in order")


LONGEST_ID_BYTES = 16
"""Longer bytes are batches and frames, which have the time of their process in them."""


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Call long bytes by their argument: several processes of one run (pytest-xdist) need the same IDs."""
    return argname if isinstance(val, bytes) and len(val) > LONGEST_ID_BYTES else None
