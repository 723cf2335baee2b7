import asyncio
from pathlib import Path

import pytest
import structlog

from bifrost.config.errors import ConfigError
from bifrost.control.reloaded_control import ReloadedControl, needs_restart
from support.control.asking import TOKENS
from support.control.table_backend import CONTROL, Api, config_with


def test_a_token_that_was_replaced_is_refused(tmp_path: Path) -> None:
    api = Api(tmp_path)
    running = ReloadedControl(config_with(tmp_path), api.gate)
    after = config_with(tmp_path)
    admins = [{"name": "alice", "role": "operator", "token_file": "new.token"}]
    (tmp_path / "new.token").write_text("new-" + "n" * 40)
    after = config_with(tmp_path, admins=admins)

    asyncio.run(running.reconfigure(after))

    assert running.config is after
    assert api.ask("GET", "/v1/namespaces").status_code == 401
    headers = {"Authorization": "Bearer new-" + "n" * 40}
    assert api.ask("GET", "/v1/namespaces", admin=None, headers=headers).status_code == 200
    assert TOKENS["alice"] not in repr(after)


def test_what_needs_a_restart_is_logged_and_the_rest_is_in_force(tmp_path: Path) -> None:
    api = Api(tmp_path)
    before = config_with(tmp_path)
    after = config_with(tmp_path, tenant={"namespaces": ["eu"]}, port=9406, admins=CONTROL["admins"][:1])

    with structlog.testing.capture_logs() as logs:
        asyncio.run(ReloadedControl(before, api.gate).reconfigure(after))

    assert [(one["event"], one["changed"]) for one in logs] == [
        ("control_needs_restart", ["proxy.control.port", "tenants"])
    ]
    assert api.ask("GET", "/v1/namespaces", admin="bob").status_code == 401
    assert needs_restart(before, before) == []


def test_a_configuration_without_the_section_changes_nothing(tmp_path: Path) -> None:
    api = Api(tmp_path)
    before = config_with(tmp_path)
    running = ReloadedControl(before, api.gate)
    without = before.model_copy(update={"proxy": before.proxy.model_copy(update={"control": None})})

    with pytest.raises(ConfigError, match=r"proxy\.control: is missing"):
        asyncio.run(running.reconfigure(without))

    assert running.config is before
    assert api.ask("GET", "/v1/namespaces", admin="bob").status_code == 200
