"""Puts configs by namespace into force again and again, while `bifrost control` runs."""

import asyncio
import time

import structlog

from bifrost.control.backend import OutcomeUnknown, Unavailable
from bifrost.control.configs.configs import Configs
from bifrost.state.state_change import StateConflict
from bifrost.state.state_record import TooLarge

log = structlog.get_logger()

EVERY_S = 30.0
"""How long a topic that a broker has created by itself may be without what it inherits, in seconds."""

ERRORS_TOLD = 5
"""Topics of a tenant that could not be changed and that the log names, each time."""

PRINCIPAL = "bifrost control"
"""Who asks for it, in the state."""


async def settle_configs(configs: Configs, every_s: float = EVERY_S) -> None:
    """Settle the configs of all tenants at once, and then every `every_s` seconds, until it is cancelled."""
    while True:
        try:
            reports = await configs.settle(PRINCIPAL, time.time_ns() // 1_000_000)
        except (Unavailable, OutcomeUnknown, StateConflict, TooLarge) as error:
            log.warning("configs_not_settled", error=str(error))
        else:
            for tenant, report in reports.items():
                changed = sum(one.is_changed for one in report.standings)
                if changed > len(report.errors):
                    log.info("configs_settled", tenant=tenant, changes=changed)
                for topic, why in list(report.errors.items())[:ERRORS_TOLD]:
                    log.warning("configs_not_settled", tenant=tenant, error=f"{topic}: {why}")
        await asyncio.sleep(every_s)
