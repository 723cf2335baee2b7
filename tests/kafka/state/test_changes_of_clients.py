"""Changes that clients ask for, in two processes at the same time, on a real broker."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.filters.steps import StateChange
from bifrost.gateway.state.state_changes import StateChanges
from bifrost.gateway.state.state_client import StateClient
from bifrost.gateway.state.state_follower import StateFollower
from bifrost.state.state_change import Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_outcome import OutcomeKind, StateOutcome
from bifrost.state.state_record import StateRecord
from support.state_clients import in_loop, reading

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def topic(unique: Callable[[str], str]) -> str:
    return unique(f"__state-{time.time_ns()}")


class Things:
    """A model: how often each thing was counted."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        self.counts[key.name] = 0 if record is None or record.body is None else record.body["n"]


class Process:
    """What a process of the gateway has to change the state."""

    def __init__(self, client: StateClient) -> None:
        self.client, self.things = client, Things()
        self.follower = StateFollower(client.table, "thing", self.things)
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.changes = StateChanges(
            lambda: client.writer,
            self.follower.settle,
            f"test/{id(self)}",
            max_waiting=100,
            counts=self.outcomes,
            times_us=Counter(),
            hits=Counter(),
        )

    async def count(self, tenant: str, name: str) -> StateOutcome:
        """Count a thing once, as a filter would."""
        key = StateKey("thing", name)
        found = self.client.table.get(key)
        expected, body = (0, {}) if found is None else (found.version, found.body or {})
        change = Change(key, expected, {"n": body.get("n", 0) + 1})
        met = await self.changes.change(tenant, StateChange((change,), f"User:{tenant}"))
        assert met.outcome is not None
        if met.outcome.is_done:
            assert self.things.counts[name] >= body.get("n", 0) + 1  # The model has it at once.
        return met.outcome


@in_loop
async def test_clients_of_two_processes_count_together_and_no_count_is_lost(
    kafka: EmbeddedKafka, topic: str
) -> None:
    done: Counter[str] = Counter()

    async def client(process: Process, tenant: str, name: str) -> None:
        while done[name] < 10:
            outcome = await process.count(tenant, name)
            assert outcome.kind in (OutcomeKind.DONE, OutcomeKind.CONFLICT), outcome
            done[name] += outcome.is_done

    async with reading(kafka.bootstrap, topic) as first, reading(kafka.bootstrap, topic) as second:
        one, two = Process(first), Process(second)
        await asyncio.gather(
            *(
                client(process, tenant, name)
                for process in (one, two)
                for tenant, name in (("acme", "shared"), ("globex", "shared"), ("acme", "own"))
            )
        )
        for process in (one, two):
            for _ in range(2):  # After it, each has read what the other wrote.
                outcome = await process.count("acme", "last")
                done["last"] += outcome.is_done

        assert two.things.counts == one.things.counts | {"last": two.things.counts["last"]}
        assert two.things.counts["last"] == done["last"] >= 3
        assert two.things.counts["shared"] == done["shared"]
        assert two.things.counts["own"] == done["own"]
        attempts = first.writer.attempts + second.writer.attempts
        outcomes = one.outcomes + two.outcomes
        all_done = sum(count for (_, outcome), count in outcomes.items() if outcome == "done")
        assert attempts["done"] == all_done == done.total()
        assert attempts["fenced"] + attempts["failed"] > 0
        assert attempts["refused"] == outcomes.total() - all_done
        assert two.changes.waiting.total() == 0
