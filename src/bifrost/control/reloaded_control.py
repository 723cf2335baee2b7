"""What a running admin API takes over when its configuration is read again: who may use it, and its bounds.

A token that was replaced, or an admin who was removed, is refused from the next request on. Everything else of the
configuration is read at the start only; what has changed of it is logged.
"""

import structlog

from bifrost.config.errors import ConfigError
from bifrost.config.errors import Problem as Mistake
from bifrost.config.fields.control import Control
from bifrost.config.model import Config
from bifrost.control.access import Access
from bifrost.control.gate import Gate

log = structlog.get_logger()

RELOADED = ("admins", "max_requests", "max_requests_per_second", "request_timeout_ms")
"""The keys of `proxy.control` that a running process takes over. docs/control.md has the same list."""

_OF_PROXY = ("state", "journal", "limits")
"""Sections of `proxy` that the process has read at its start."""

_OF_ALL = ("upstream", "upstreams", "tenants")


class ReloadedControl:
    """The process whose configuration is read again; the gateway's Reloader reads it."""

    def __init__(self, config: Config, gate: Gate) -> None:
        """Serve with `config` so far."""
        self._config, self._gate = config, gate

    @property
    def config(self) -> Config:
        """The configuration that was read last."""
        return self._config

    async def reconfigure(self, config: Config) -> None:
        """Use the admins and bounds of another configuration from the next request on.

        Raises:
            ConfigError: it has no admin API.
        """
        settings = config.proxy.control
        if settings is None:
            raise ConfigError([Mistake("proxy.control", None, "is missing: the admin API goes on as before")])
        self._gate.change(settings, Access(settings))
        left = needs_restart(self._config, config)
        if left:
            log.warning("control_needs_restart", changed=left)
        self._config = config

    def note_reload(self, outcome: str, text: str) -> None:
        """Leave it to the log."""


def needs_restart(before: Config, after: Config) -> list[str]:
    """Return what differs of two configurations with an admin API that the process reads only at its start."""
    old, new = before.proxy.control, after.proxy.control
    assert old is not None
    assert new is not None
    found = [
        f"proxy.control.{key}"
        for key in Control.model_fields
        if key not in RELOADED and getattr(old, key) != getattr(new, key)
    ]
    found += [f"proxy.{key}" for key in _OF_PROXY if getattr(before.proxy, key) != getattr(after.proxy, key)]
    return found + [key for key in _OF_ALL if getattr(before, key) != getattr(after, key)]
