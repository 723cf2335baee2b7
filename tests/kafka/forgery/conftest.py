"""Forgery: a tenant's credential in a hostile hand. Whatever it names of others, there is no such thing.

With three brokers (`make three-brokers`) one of them is away while a file's tests run, or was killed before.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import MetadataRequest
from support.brokers.broker_loss import BrokerLoss
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import delete_topic, topic_id_of
from support.clients.routed_client import RoutedClient
from support.forgery.attackers import ATTACKERS, Attack, make_own
from support.forgery.forged_requests import Loot, Own
from support.forgery.probe import Prober
from support.forgery.victim import BusyVictim, Victim
from support.gateways.gateway_fixtures import FreshTopic, address_of
from support.gateways.gateway_process import GatewayProcess
from support.physical_names import MARK, physical_name, prefix_of

AWAY = {"test_forged_frames.py": 2, "test_forged_patterns.py": 3, "test_forged_requests.py": 3}
"""The broker without which a file's tests run; before the others the first one is killed and comes back."""
MADE_BY_FORGERIES = ("__consumer_offset", MARK, "zebra-")
"""How topics of attackers begin that requests of other files have created: what they named was nothing, and is now."""


@pytest.fixture(scope="module")
def ways_in(gateway: GatewayProcess) -> list[Endpoint]:
    """How the attackers connect: all must see it when a broker is away, and when it is back."""
    return [gateway.endpoint(tenant) for tenant in ATTACKERS]


@pytest.fixture(scope="module", autouse=True)
def broker_loss(
    request: pytest.FixtureRequest, kafka: EmbeddedKafka, ways_in: list[Endpoint]
) -> Iterator[None]:
    """Take a broker away, if there are several."""
    if len(kafka.node_ids) == 1:
        yield
        return
    loss = BrokerLoss(kafka, lambda: ways_in)
    node_id = AWAY.get(request.path.name)
    if node_id is None:
        with loss.without(1):
            pass
        yield
        return
    with loss.without(node_id):
        yield


@pytest.fixture(scope="module")
def victim(gateway: GatewayProcess) -> Iterator[BusyVictim]:
    """Tenant globex at work, in the background of all of a module's tests."""
    one = Victim(gateway.broker_endpoint("globex"), prefix_of("globex"))
    with BusyVictim(one) as busy:
        yield busy
    busy.check()
    one.finish()
    one.close()


@pytest.fixture(scope="module")
def loot(victim: BusyVictim, kafka: EmbeddedKafka, broker: Endpoint) -> Loot:
    """All that the victim has, as the attackers know it."""
    with RawClient(broker) as client:
        internal = topic_id_of(client, "__consumer_offsets")
    return Loot(victim.victim, cluster_id=kafka.cluster_id, internal_topic_id=internal)


@pytest.fixture(scope="module")
def own(gateway: GatewayProcess, broker: Endpoint, fresh_topic: FreshTopic) -> dict[str, Own]:
    """What each attacker has itself."""
    made = {}
    for tenant in ATTACKERS:
        for topic in ("orders", "billing"):
            fresh_topic(tenant, topic)
        made_up = tuple(physical_name(tenant, one) for one in MADE_BY_FORGERIES)
        with RoutedClient(broker) as client:
            for topic in client.request(MetadataRequest(topics=None), 5).topics:
                if topic.name.startswith(made_up):
                    delete_topic(client, topic.name)
        with RoutedClient(gateway.broker_endpoint(tenant)) as client:
            made[tenant] = make_own(client, tenant)
    return made


@pytest.fixture
def attack(gateway: GatewayProcess, kafka: EmbeddedKafka, broker: Endpoint) -> Iterator[Attack]:
    """Connect as an attacker, to the broker's port."""
    probers: list[Prober] = []
    secret = (kafka.cluster_id.encode(), address_of(broker))

    def connect(tenant: str) -> Prober:
        prober = Prober(gateway.broker_endpoint(tenant), never_receives=secret)
        probers.append(prober)
        return prober

    yield connect
    for prober in probers:
        prober.close()
