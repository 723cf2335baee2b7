"""What a tenant is told does not depend on what another does: not by a number, an order or an error.

The same script is played in two new clusters, once beside a tenant that does all it can and once alone, and all answers
are compared. The script is every scenario of the equivalence tests, groups that are watched all the time, and forged
requests of every API and version, which name what the neighbour has: alone, there is no such thing.

What is made comparable, and why it tells nothing of others:

* topic IDs, IDs of members, of fetch sessions and of the cluster, names of log directories: made at random, or of the
  path; equal ones stay equal
* ports: free ones; with several brokers also which of them has what, for Kafka draws it (observer.PLACED)
* budgets of time at the gateway and at brokers are turned off: they tell a busy tenant that others are active, and
  nothing else (docs/isolation.md says it). So the throttle time is compared as well
* what ends when its time is up (observer.ENDS): the script takes longer beside a neighbour
* producer IDs: Kafka gives them out one after the other over the whole cluster (KIP-730). A client that takes two can
  count those that others took between them. This is known, and docs/isolation.md says it; that nothing else hangs on
  them is seen here
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from observer import Observed, Observer, Told

from bifrost.embedded.kafka import DEFAULT_VERSION
from bifrost.wire.messages import MetadataRequest
from support.brokers.kafka_versions import brokers_under_test, cluster_of, version_under_test
from support.brokers.placed_topics import place_internal_topics
from support.clients.endpoint import Endpoint
from support.clients.raw_operations import topic_id_of, warm_up
from support.clients.routed_client import RoutedClient
from support.forgery.forged_requests import Loot
from support.forgery.neighbour import Neighbour
from support.forgery.worlds import differences
from support.gateways.gateway_process import HOST, INITECH, GatewayProcess
from support.physical_names import prefix_of

OBSERVER, NEIGHBOUR = "observer", "neighbour"
TENANTS = [replace(INITECH, name=name) for name in (OBSERVER, NEIGHBOUR)]
"""Allowed what the scenarios do."""
NO_BUDGETS = {"gateway_time_percent": 100, "broker_time_percent": 0}
MAX_SHOWN = 20
LEAST_ANSWERS = 480

_log = logging.getLogger(__name__)

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        version_under_test() != DEFAULT_VERSION, reason="the script is for the newest version"
    ),
]


@dataclass(frozen=True)
class Played:
    """What the observer was told, and what it knew of the neighbour."""

    told: Told
    loot: Loot


def play(directory: Path, loot: Loot | None) -> Played:
    """Play the script in a new cluster: beside the neighbour, or alone with the loot of then."""
    brokers = brokers_under_test()
    with (
        cluster_of(version_under_test(), brokers=brokers) as kafka,
        GatewayProcess(
            directory, kafka.bootstrap, tenants=TENANTS, brokers=brokers, limits=NO_BUDGETS
        ) as gateway,
    ):
        with RoutedClient(Endpoint(HOST, kafka.broker_port(1))) as client:
            if brokers > 1:
                place_internal_topics(client)
            warm_up(client)
            internal_topic_id = topic_id_of(client, "__consumer_offsets")
        neighbour = None
        if loot is None:
            neighbour = Neighbour(gateway.broker_endpoint(NEIGHBOUR), prefix_of(NEIGHBOUR))
            loot = Loot(neighbour.victim, cluster_id=kafka.cluster_id, internal_topic_id=internal_topic_id)
        endpoint = gateway.broker_endpoint(OBSERVER)
        with RoutedClient(endpoint) as client:
            cluster_id = client.request(MetadataRequest(topics=[]), 5).cluster_id
        ports = [gateway.broker_port(node_id) for node_id in kafka.node_ids]
        world = Observed(endpoint, advertised_ports=ports, cluster_id=cluster_id)
        try:
            observer = Observer(world, neighbour.act if neighbour else lambda: None)
            observer.take_producer_ids(beyond=loot.victim.producer_id)
            observer.begin_to_watch()
            observer.play_scenarios()
            observer.watch()
            observer.forge(loot)
            observer.watch()
        finally:
            world.close()
            if neighbour is not None:
                neighbour.close()
    return Played(observer.told, loot)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Told, Told]:
    """What the observer was told beside the neighbour, and alone."""
    beside = play(tmp_path_factory.mktemp("beside"), None)
    alone = play(tmp_path_factory.mktemp("alone"), beside.loot)
    _log.info("%s answers", len(beside.told))
    return beside.told, alone.told


def test_what_a_tenant_is_told_does_not_depend_on_its_neighbour(played: tuple[Told, Told]) -> None:
    beside, alone = played

    assert len(beside) >= LEAST_ANSWERS
    assert [label for label, _ in beside] == [label for label, _ in alone]
    found = [
        f"{label}{line}"
        for (label, ours), (_, theirs) in zip(beside, alone, strict=True)
        for line in differences(ours, theirs)
    ]
    assert not found, f"{len(found)}:\n" + "\n".join(found[:MAX_SHOWN])
