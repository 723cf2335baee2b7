"""Attackers who work while a victim does, and what they were told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field

from taint_attacker import Sent, attacked_ids, attacked_names
from taint_batches import unpacked
from taint_search import Exposure, Secret, exposures, exposures_of
from taint_side import Side

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import served_versions
from support.clients.tap import Connection
from support.forgery.forged_requests import Loot
from support.forgery.victim import BusyVictim, Victim

WORK_S = 10.0
LIMIT_S = 300.0
MAX_SHOWN = 5


@dataclass
class Attacker:
    """A tenant or a user who must be told nothing of another one."""

    side: Side
    loot: Loot
    sent: Sent = field(default_factory=Sent)
    connections: list[Connection] = field(default_factory=list)

    def found(self, secrets: Sequence[Secret]) -> list[Exposure]:
        """Return every secret that was delivered to it, compressed or not."""
        names, ids = attacked_names(self.loot), attacked_ids(self.loot)
        found = list[Exposure]()
        for connection in self.connections:
            found += exposures_of(connection, secrets, names, ids)
            for _codec, records in unpacked(connection):
                found += exposures(records, secrets, names)
        return found


def ends_of(api_key: ApiKey) -> list[int]:
    """Return the oldest and the newest version: test_taint.py tries all of them."""
    served = sorted(served_versions(api_key) or ())
    return sorted({served[0], served[-1]}) if served else []


def work(victim: Victim, jobs: list[Callable[[threading.Event], int]]) -> None:
    """Let all work at once, until enough was done."""
    stop = threading.Event()
    with ExitStack() as stack:
        pool = stack.enter_context(ThreadPoolExecutor(max_workers=len(jobs)))
        stack.callback(stop.set)
        futures = [pool.submit(job, stop) for job in jobs]
        ends = time.monotonic() + WORK_S
        with BusyVictim(victim) as busy:
            while time.monotonic() < ends and not any(one.done() for one in futures):
                time.sleep(0.05)
        busy.check()
        stop.set()
        for future in futures:
            # Attackers play their rounds to the end.
            future.result(LIMIT_S)
