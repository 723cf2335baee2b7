"""Two gateways change the state, and one is killed at random points: the state is whole and equal afterwards.

Each change names two entities at once, with one number: so a change that is half there would be seen.
"""

from __future__ import annotations

import contextlib
import os
import random
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import AlterClientQuotasRequest, DescribeClientQuotasRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.fleet import Fleet
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.gateways.worker_gateway import await_true

KILLS = int(os.environ.get("BIFROST_STATE_KILLS", "2"))
KEY = "producer_byte_rate"

pytestmark = pytest.mark.timeout(60 * KILLS + 180)


def change(client: RawClient, number: int) -> bool:
    """Set one number for two users; return whether both were answered as done."""
    message = AlterClientQuotasRequest
    entries = [
        message.EntryData(
            entity=[message.EntityData(entity_type="user", entity_name=name)],
            ops=[message.OpData(key=KEY, value=float(number), remove=False)],
        )
        for name in ("one", "other")
    ]
    response = client.request(message(entries=entries, validate_only=False), 1)
    return all(one.error_code == ErrorCode.NONE for one in response.entries)


def told(endpoint: Endpoint) -> dict[str, float]:
    with RawClient.authenticated(endpoint) as client:
        response = client.request(DescribeClientQuotasRequest(components=[], strict=False), 1)
    assert response.error_code == ErrorCode.NONE
    return {entry.entity[0].entity_name: entry.values[0].value for entry in response.entries}


class Writers:
    """A client at each gateway, which changes the state again and again; a context manager."""

    def __init__(self, endpoints: list[Endpoint]) -> None:
        self.done: list[int] = []
        self._stop, self._numbers = threading.Event(), iter(range(1_000, 10_000_000))
        self._threads = [threading.Thread(target=self._run, args=(one,), daemon=True) for one in endpoints]

    def __enter__(self) -> Writers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive()

    def _run(self, endpoint: Endpoint) -> None:
        with contextlib.suppress(OSError, EOFError), RawClient.authenticated(endpoint) as client:
            while not self._stop.is_set():
                number = next(self._numbers)
                if change(client, number):
                    self.done.append(number)


def test_the_state_is_whole_and_equal_after_a_gateway_was_killed(
    kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path, kafka.bootstrap)
    fleet.tenants = [replace(GLOBEX, allow_quota_changes=True)]
    state = {"state": {"topic": f"__state-{time.time_ns()}"}}
    chance = random.Random(KILLS)

    def start() -> GatewayProcess:
        return fleet.start(quotas={}, **state)

    gateways = [start(), start()]
    for _ in range(KILLS):
        endpoints = [one.broker_endpoint("globex") for one in gateways]
        with Writers(endpoints) as writers:
            await_true(lambda writers=writers: len(writers.done) >= 5, "both write", 60)
            time.sleep(chance.uniform(0, 0.5))
            fleet.kill(gateways[0])
            before = len(writers.done)
            await_true(
                lambda writers=writers, before=before: len(writers.done) > before + 3, "the other goes on", 60
            )
        gateways = [gateways[1], start()]

        found = [one.broker_endpoint("globex") for one in gateways]
        await_true(lambda found=found: told(found[0]) == told(found[1]), "they are equal", 30)
        values = told(found[0])
        assert set(values) == {"one", "other"}
        assert values["one"] == values["other"], "no change is half there"
        assert values["one"] >= max(writers.done[-1:]), "what was answered as done is there"
    fleet.end()
