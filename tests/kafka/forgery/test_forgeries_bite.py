"""That nothing is found must mean something: at the broker itself, without a gateway, the same requests tell apart
what another has from what no tenant has, in almost every API.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from test_forged_requests import FORGED

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import REFUSED, served_versions
from support.brokers.kafka_versions import brokers_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import topic_id_of, warm_up
from support.clients.routed_client import RoutedClient
from support.forgery.attackers import make_own
from support.forgery.forged_requests import Loot, Own, forgeries
from support.forgery.probe import Prober, without_made_up
from support.forgery.victim import Victim
from support.gateways.gateway_process import GatewayProcess
from support.physical_names import prefix_of

TELLS_NOTHING = {
    ApiKey.ALTER_CLIENT_QUOTAS,  # The gateway keeps tenants' quotas: no broker has one to tell of.
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.FIND_COORDINATOR,  # There is one broker.
    ApiKey.LIST_GROUPS,  # It names filters, no group.
}
FIRST = (
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.SHARE_FETCH,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.JOIN_GROUP,
    ApiKey.OFFSET_COMMIT,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.LEAVE_GROUP,
    ApiKey.CREATE_TOPICS,
)
LAST = (ApiKey.DELETE_RECORDS, ApiKey.DELETE_SHARE_GROUP_OFFSETS, ApiKey.DELETE_GROUPS, ApiKey.DELETE_TOPICS)
"""There is one victim: what needs its members alive is tried first, and what destroys the rest last."""
ORDER = [*FIRST, *(key for key in FORGED if key not in {*FIRST, *LAST, *REFUSED}), *LAST]


@pytest.fixture(scope="module")
def make_loot(
    gateway: GatewayProcess, broker: Endpoint, kafka: EmbeddedKafka
) -> Iterator[Callable[[], Loot]]:
    """A victim that is not kept going: these requests do reach it."""
    victim = Victim(gateway.broker_endpoint("globex"), prefix_of("globex"))
    with RawClient(broker) as client:
        internal = topic_id_of(client, "__consumer_offsets")
    yield lambda: Loot(victim, cluster_id=kafka.cluster_id, internal_topic_id=internal)
    victim.close()
    with RawClient(broker) as client:
        # The last requests have deleted the offsets' topic; the tests that follow need it. Several brokers do not
        # become coordinators of a topic made anew: `make three-brokers` leaves this file out.
        if brokers_under_test() == 1:
            warm_up(client)


@pytest.fixture(scope="module")
def own(broker: Endpoint) -> Own:
    """What the sender has itself."""
    with RoutedClient(broker) as client:
        return make_own(client, "bite")


@pytest.fixture
def prober(broker: Endpoint) -> Iterator[Prober]:
    one = Prober(broker)
    yield one
    one.close()


def test_same_requests_tell_foreign_things_apart_at_the_broker(
    make_loot: Callable[[], Loot], own: Own, prober: Prober
) -> None:
    telling: set[ApiKey] = set()
    for api_key in ORDER:
        # Control values of its own: some requests create what they name.
        loot = make_loot()
        versions = served_versions(api_key)
        assert versions is not None
        offered = prober.client().versions()[api_key]
        for version in range(max(versions.low, offered[0]), min(versions.high, offered[1]) + 1):
            for forgery in forgeries(api_key, version, own, loot):
                foreign = prober.ask(forgery.foreign, version).swapped(forgery.swaps)
                control = prober.ask(forgery.control, version)
                if without_made_up(api_key, version, foreign) != without_made_up(api_key, version, control):
                    telling.add(api_key)

    silent = sorted(key.name for key in set(ORDER) - telling)
    assert silent == sorted(key.name for key in TELLS_NOTHING), silent
