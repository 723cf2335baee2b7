"""The same random client operations against a broker and through the gateway: every answer is equal.

Hypothesis draws them, the same ones for every commit. `make soak` draws others, for hours. A failure tells all
operations that led there, with the seed of each one's arguments.

With three brokers (`make three-brokers`) each machine loses one of them for a while. Behind a single address of three
(`make single-address`) it loses none, and what a direct client is told is first shown as of one broker.
"""

from __future__ import annotations

import logging
import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import count
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from bifrost.wire.messages import MetadataRequest
from support.brokers.broker_loss import BrokerLoss
from support.brokers.kafka_versions import brokers_under_test, version_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.gateways.gateway_process import IS_SINGLE_ADDRESS, GatewayProcess
from support.random.one_address import DirectPlayer
from support.random.random_client import OPERATIONS
from support.random.state_machine import Machine, Operation, Player

log = logging.getLogger(__name__)

MACHINES = 5
STEPS = 500
BROKERS = brokers_under_test()
KILLED, STARTED = 150, 300
"""The steps of each machine before which a broker is killed and started again."""
IS_ONE = IS_SINGLE_ADDRESS and BROKERS > 1
"""Whether a client of one address is compared with one of several brokers."""
LEFT_OUT = frozenset({"fetch_session", "describe_producers"}) if IS_ONE else frozenset[str]()
"""A client of several brokers has a fetch session with each; and they give producer IDs of other blocks to the two."""
PLAYED = [one for one in OPERATIONS if one.__name__ not in LEFT_OUT]
SOAK_S = float(os.environ.get("BIFROST_SOAK_S", "0"))
"""How long to go on with new ones; 0: no longer than the same few take."""

_NUMBERS = count(1)


class RandomClient(RuleBasedStateMachine):
    """A client that does this and that, in both worlds."""

    players: ClassVar[Sequence[Player]]
    played: ClassVar[Counter[str]]
    loss: ClassVar[BrokerLoss | None] = None
    left_out: ClassVar[Counter[str]]
    """What the broker under test is too old for; the newest is for nothing."""

    def __init__(self) -> None:
        """Start with names that no machine had before."""
        super().__init__()
        number = next(_NUMBERS)
        self.machine = Machine(self.players, prefix=f"df{number}-")
        self._lost = 1 + number % BROKERS
        self._steps = 0

    @rule(operation=st.sampled_from(PLAYED), rng=st.randoms(use_true_random=True))
    def do(self, operation: Operation, rng: random.Random) -> None:
        """Do something, to a topic if there is one."""
        self._lose()
        chosen = operation if self.machine.model.topics else OPERATIONS[0]
        try:
            is_played = self.machine.step(chosen, rng)
        except Exception:
            # What Hypothesis tells is how it comes to that again, which it may not.
            log.exception("operation %d of the machine %s", self._steps, self.machine.prefix)
            raise
        (self.played if is_played else self.left_out)[chosen.__name__] += 1

    def teardown(self) -> None:
        """Leave a whole cluster to the next machine: this one may have ended early."""
        if self.loss is not None and self.loss.away is not None:
            self.loss.restore()
            for player in self.players:
                player.reconnect()

    def _lose(self) -> None:
        """Kill a broker or start it again when it is time; that through which all worlds are entered at once."""
        self._steps += 1
        if self.loss is None or self._steps not in (KILLED, STARTED):
            return
        if self._steps == KILLED:
            self.loss.kill(self._lost)
        if self._steps == STARTED or self._lost == 1:
            self.loss.restore()
        for player in self.players:
            player.reconnect()
        self.machine.await_equal_ends()


@pytest.fixture
def players(kafka: EmbeddedKafka, broker: Endpoint, gateway: GatewayProcess) -> Iterator[list[Player]]:
    """The brokers themselves, and the cluster of tenant soylent, which has a dynamic namespace and may delete."""
    through = gateway.broker_endpoint("soylent")
    with RawClient.authenticated(through) as client:
        cluster_id = client.request(MetadataRequest(topics=[]), 5).cluster_id
    ports = [kafka.broker_port(node_id) for node_id in kafka.node_ids]
    made = DirectPlayer if IS_ONE else Player
    direct = made(broker, advertised_ports=ports, cluster_id=kafka.cluster_id)
    ports = sorted({gateway.broker_port(node_id) for node_id in kafka.node_ids})
    tenant = Player(through, advertised_ports=ports, cluster_id=cluster_id)
    # Topics have the same places at the brokers, whatever the client sees of them.
    tenant.brokers = direct.brokers
    yield [direct, tenant]
    direct.close()
    tenant.close()


@pytest.fixture
def client(
    players: list[Player], kafka: EmbeddedKafka, gateway: GatewayProcess
) -> Iterator[type[RandomClient]]:
    """The client, at both worlds."""
    loss = BrokerLoss(kafka, lambda: [gateway.endpoint("soylent")]) if BROKERS > 1 and not IS_ONE else None
    own = {"players": players, "played": Counter(), "left_out": Counter(), "loss": loss}
    yield type("Client", (RandomClient,), own)
    if loss is not None:
        loss.restore()
        assert loss.count >= len(kafka.node_ids)


def run(client: type[RandomClient], *, is_new: bool) -> None:
    """Let several clients do STEPS operations each; not made smaller when they fail, since a broker forgets nothing."""
    options = settings(
        max_examples=MACHINES,
        stateful_step_count=STEPS,
        derandomize=not is_new,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(client, settings=options)


def test_random_operations_have_the_same_answers(client: type[RandomClient]) -> None:
    run(client, is_new=False)

    assert client.played.total() >= 2000
    assert {one.__name__ for one in PLAYED} == set(client.played) | set(client.left_out)
    assert not client.left_out or version_under_test() != DEFAULT_VERSION
    assert all(player.requests > client.played.total() for player in client.players)


@pytest.mark.skipif(not SOAK_S, reason="make soak does this")
def test_so_they_have_for_hours(client: type[RandomClient]) -> None:
    deadline = time.monotonic() + SOAK_S
    while time.monotonic() < deadline:
        run(client, is_new=True)
        log.info("%d operations, %d requests", client.played.total(), client.players[1].requests)

    assert client.played.total() >= 2000
