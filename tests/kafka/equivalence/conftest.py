"""Direct against gateway: the answers are equal."""

from __future__ import annotations

import pytest


def pytest_configure(config: pytest.Config) -> None:
    """Share one gateway with the directories beside this one."""
    config.pluginmanager.import_plugin("support.gateway_fixtures")
