"""Jobs that work at once, while brokers are lost or not; attackers among them, and what they were told.

With BIFROST_TAINT_LOSSES=1 each broker is killed once while they work (`make three-brokers`).
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, Self, TypeVar

from taint_attacker import Sent, attacked_ids, attacked_names
from taint_batches import unpacked
from taint_search import Exposure, Secret, exposures, exposures_of
from taint_side import Side

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import served_versions
from support.brokers.broker_loss import BrokerLoss
from support.clients.tap import Connection
from support.forgery.forged_requests import Loot
from support.forgery.victim import BusyVictim, Victim

LOSES = "BIFROST_TAINT_LOSSES" in os.environ
WORK_S = 10.0
LOSSES_S = 600.0 * LOSES
"""More than it takes on a busy machine to lose three brokers, one after the other."""
LIMIT_S = 300.0 + LOSSES_S
CALM_S = 20.0
"""How long what clients do may fail after a broker is back."""
MAX_SHOWN = 5

Job = Callable[[threading.Event], int]
Name = TypeVar("Name")


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


class Shift(Generic[Name]):
    """Jobs that are done at once, each in a thread, as long as the context lasts."""

    def __init__(self, jobs: Mapping[Name, Job], in_calm: Collection[Name] = ()) -> None:
        """Begin all of them.

        Args:
            jobs: by their names; each goes on until its event is set.
            in_calm: names of those that are told to stop before a broker is lost.
        """
        self._stop, self._disturbance = threading.Event(), threading.Event()
        self._in_calm = in_calm
        self._pool = ThreadPoolExecutor(max_workers=len(jobs))
        self._futures = {
            name: self._pool.submit(job, self._disturbance if name in in_calm else self._stop)
            for name, job in jobs.items()
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._tell_all()
        self._pool.shutdown()

    def _tell_all(self) -> None:
        self._disturbance.set()
        self._stop.set()

    def go_on(self, until: Callable[[], bool]) -> None:
        """Wait until something is so, or a job has ended that should not have."""
        is_calm = not self._disturbance.is_set()
        watched = [future for name, future in self._futures.items() if is_calm or name not in self._in_calm]
        while not until() and not any(future.done() for future in watched):
            time.sleep(0.05)

    def lose_each(self, kafka: EmbeddedKafka, sides: Sequence[Side]) -> None:
        """Kill one broker after the other while the jobs go on; the sides' are the endpoints that must notice."""
        self._disturbance.set()
        for name in self._in_calm:
            self._futures[name].result(LIMIT_S)
        loss = BrokerLoss(kafka, lambda: [side.endpoint for side in sides], elects_first=False)
        for side in sides:
            side.disturbed.set()
        for node_id in kafka.node_ids:
            with loss.without(node_id):
                time.sleep(1)
        calm = time.monotonic() + CALM_S
        self.go_on(lambda: time.monotonic() > calm)
        for side in sides:
            side.disturbed.clear()

    def end(self, limit_s: float) -> dict[Name, int]:
        """Tell all to stop, and return what each came to; attackers play their rounds to the end."""
        self._tell_all()
        return {name: future.result(limit_s) for name, future in self._futures.items()}


def again(side: Side, job: Job, stop: threading.Event) -> int:
    """Do a job, from its beginning when it fails while a broker is away: it asks without a client's retries."""
    while True:
        try:
            return job(stop)
        except Exception:
            if not side.disturbed.is_set():
                raise
            if stop.is_set():
                return 0
            time.sleep(0.5)


def ends_of(api_key: ApiKey) -> list[int]:
    """Return the oldest and the newest version: test_taint.py tries all of them."""
    served = sorted(served_versions(api_key) or ())
    return sorted({served[0], served[-1]}) if served else []


def work(
    kafka: EmbeddedKafka,
    victim: Victim,
    sides: Sequence[Side],
    jobs: Sequence[Job],
    in_calm: Sequence[Job] = (),
) -> None:
    """Let all work at once, until enough was done; those of `in_calm` before a broker is lost."""
    named = dict(enumerate((*in_calm, *jobs)))
    with Shift(named, range(len(in_calm))) as shift:
        ends = time.monotonic() + WORK_S
        # The victim asks without retries: it is over before a broker is lost.
        with BusyVictim(victim) as busy:
            shift.go_on(lambda: time.monotonic() > ends)
        busy.check()
        if LOSES:
            shift.lose_each(kafka, sides)
        shift.end(LIMIT_S)
