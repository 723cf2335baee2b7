"""Reads the configuration again on request or when its source changes, and has the gateway use it.

A configuration that cannot be read, or that the gateway cannot use, is refused as a whole: the one in force stays, the
reason is logged, and the caller gets it.
"""

import asyncio
import operator
import time
from collections import Counter
from collections.abc import Hashable
from typing import Protocol

import structlog

from bifrost.config.config_source import ConfigSource
from bifrost.config.errors import ConfigError
from bifrost.config.fields.tenants import Tenant
from bifrost.config.model import Config
from bifrost.gateway.errors import BrokerError, StartError
from bifrost.gateway.loop.garbage import no_collections
from bifrost.gateway.loop.loop_guard import report
from bifrost.gateway.loop.steps import in_steps, let_go_of
from bifrost.gateway.reload_outcome import Outcome

log = structlog.get_logger()


class Reconfigurable(Protocol):
    """An object whose configuration can change: a Gateway, or the Supervisor of its workers."""

    @property
    def config(self) -> Config:
        """The configuration in force."""

    async def reconfigure(self, config: Config) -> None:
        """Use another configuration.

        Raises:
            BrokerError, StartError: it cannot be used; nothing has changed.
        """

    def note_reload(self, outcome: str, text: str) -> None:
        """Write the outcome of a reload to the journal, if one is kept."""


class Reloader:
    """The reloader of one gateway."""

    def __init__(self, gateway: Reconfigurable, source: ConfigSource) -> None:
        """Watch nothing yet; the gateway's configuration was just read from `source`."""
        self._gateway = gateway
        self._source = source
        self._one_at_a_time = asyncio.Lock()
        self._applied = asyncio.Event()
        """Set when another configuration is in force, which may have another `watch_files_ms`."""
        self._parts: tuple[Config, tuple[str, ...]] | None = None
        """What a configuration names beside the source, and that configuration."""
        self._seen = self._signature()
        self.outcomes: Counter[Outcome] = Counter()
        """Number of reloads by outcome."""
        self.applied_s = time.time()
        """When the configuration in force was read, in seconds since the epoch."""

    async def reload(self) -> tuple[Outcome, str]:
        """Read the configuration again; return the outcome, and the reason in words."""
        async with self._one_at_a_time:
            outcome, text, unused = await self._reload()
            self._parts = None
            await in_steps(let_go_of(unused))
        self.outcomes[outcome] += 1
        if outcome is Outcome.REFUSED:
            log.error("reload_refused", path=self._source.name, error=text)
        else:
            log.info("reloaded", path=self._source.name, outcome=str(outcome))
        self._gateway.note_reload(str(outcome), text)
        return outcome, text

    async def watch(self) -> None:
        """Reload, for ever, when the source has changed and then stayed the same for one `watch_files_ms`."""
        pending: Hashable = None
        while True:
            if await self._interval_changes():
                continue
            now = await asyncio.to_thread(self._signature)
            if now == self._seen:
                pending = None
            elif now != pending:
                pending = now  # A file may be half written.
            else:
                await self.reload()
                pending = None

    async def _interval_changes(self) -> bool:
        """Wait for one `watch_files_ms`, for ever if it is 0; return True when another configuration is in force."""
        self._applied.clear()
        interval_ms = self._gateway.config.proxy.watch_files_ms
        try:
            async with asyncio.timeout(interval_ms / 1000 if interval_ms else None):
                await self._applied.wait()
        except TimeoutError:
            return False
        return True

    async def _reload(self) -> tuple[Outcome, str, list[Tenant]]:
        """Return the outcome, the reason, and the tenants of the configuration that is not in force now."""
        gateway = self._gateway
        unused = None
        try:
            self._seen = await asyncio.to_thread(self._signature)
            with no_collections():
                config = unused = await asyncio.to_thread(self._source.read)
            if await asyncio.to_thread(operator.eq, config, gateway.config):
                outcome, text = Outcome.UNCHANGED, "nothing has changed"
            else:
                before = gateway.config
                await gateway.reconfigure(config)
                unused = before
                self.applied_s = time.time()
                self._applied.set()
                outcome, text = Outcome.APPLIED, "the gateway goes on with it"
        except ConfigError as error:
            outcome, text = Outcome.REFUSED, str(error)
        except (BrokerError, StartError) as error:
            outcome, text = Outcome.REFUSED, f"{self._source.name}: {error}"
        except Exception as error:
            report("reload", error, path=self._source.name)
            text = f"{self._source.name}: {type(error).__name__}: see the gateway's log"
            outcome = Outcome.REFUSED
        return outcome, text, [] if unused is None else list(unused.tenants)

    def _signature(self) -> Hashable:
        config, known = self._gateway.config, self._parts
        if known is None or known[0] is not config:
            known = self._parts = config, self._source.parts(config)
        return self._source.signature(known[1])
