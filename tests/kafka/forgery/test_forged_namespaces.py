"""The victim works in a namespace of the same tenant, in which the attackers have no permission.

One attacker is bound to the namespace beside it. The other is a user of the whole tenant, who may do everything but for
the namespace's ACLs: these close it. Both name the victim's things in every way (its own names, by the path of the
namespace, physical ones, IDs), and the gateway's own topics. There is no such thing, or it is answered as what is not
there; and meanwhile the victim goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from test_forged_requests import FORGED, check_alike

from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import REFUSED, served_versions
from bifrost.wire.messages import MetadataRequest
from support.brokers.kafka_versions import brokers_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import metadata_of, topic_id_of, warm_up
from support.clients.routed_client import RoutedClient
from support.forgery.attackers import make_own
from support.forgery.closed_namespace import ClosedNamespace
from support.forgery.forged_requests import Loot, Own
from support.forgery.probe import Prober
from support.forgery.victim import BusyVictim, Victim
from support.gateways.gateway_fixtures import address_of
from support.gateways.gateway_process import GatewayProcess
from support.moved_topics import WITHIN_S
from support.physical_names import prefix_of

pytestmark = pytest.mark.timeout(300)

CLOSED = ClosedNamespace("family")
TENANT, (VICTIM, SIBLING, OUTSIDER) = CLOSED.tenant, CLOSED.users

TELLS_OWN_IDS = {ApiKey.DELETE_TOPICS}
"""Tells the IDs of the attacker's own topics, which other requests have created: two are never equal."""
CREATES = (ApiKey.METADATA, ApiKey.CREATE_TOPICS)
"""Make topics of the attacker's own by the names that it tries, so they come last: these have IDs of their own."""
TELLS_MORE = {
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.METADATA,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.SHARE_FETCH,
    ApiKey.STREAMS_GROUP_DESCRIBE,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
}
"""Answers that differ for the user with ACLs: for a topic by its ID, which no client can guess, a broker's authorizer
says TOPIC_AUTHORIZATION_FAILED too; and texts repeat the user's own name for a thing of its own in another form."""


@dataclass
class Family:
    """The gateway of one tenant with three users."""

    process: GatewayProcess
    topics: dict[str, bytes]
    """The gateway's own topics, with their IDs."""

    def endpoint(self, user: str) -> Endpoint:
        return replace(self.process.broker_endpoint(TENANT.name), username=user)


@pytest.fixture(scope="module")
def family(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Family]:
    state = f"__state-{time.time_ns()}"
    with RoutedClient(broker) as client:
        warm_up(client)
    directory: Path = tmp_path_factory.mktemp("family")
    proxy = {"state": {"topic": state}, "journal": {}}
    with (
        GatewayProcess(
            directory,
            kafka.bootstrap,
            tenants=(TENANT,),
            brokers=brokers_under_test(),
            adjust=CLOSED.close_to_others,
            proxy=proxy,
        ) as process,
        RawClient(broker) as client,
    ):
        topics = (state, JOURNAL_TOPIC)
        ends = time.monotonic() + WITHIN_S
        while not all(metadata_of(client, one)[0].partitions for one in topics):
            assert time.monotonic() < ends
            time.sleep(0.1)
        yield Family(process, {one: topic_id_of(client, one) for one in topics})


@pytest.fixture(scope="module")
def gateway(family: Family) -> GatewayProcess:
    """In place of the one gateway of all tests."""
    return family.process


@pytest.fixture(scope="module")
def ways_in(family: Family) -> list[Endpoint]:
    return [replace(family.process.endpoint(TENANT.name), username=one) for one in (SIBLING, OUTSIDER)]


@pytest.fixture(scope="module")
def victim(family: Family) -> Iterator[BusyVictim]:
    """The user of the namespace at work."""
    one = Victim(family.endpoint(VICTIM), f"{prefix_of(TENANT.name)}--eu.")
    with BusyVictim(one) as busy:
        yield busy
    busy.check()
    one.finish()
    one.close()


@pytest.fixture(scope="module")
def loot(victim: BusyVictim, kafka: EmbeddedKafka, broker: Endpoint, family: Family) -> Loot:
    with RawClient(broker) as client:
        internal = topic_id_of(client, "__consumer_offsets")
    return Loot(
        victim.victim,
        cluster_id=kafka.cluster_id,
        internal_topic_id=internal,
        paths=CLOSED.paths,
        hidden_topics=family.topics,
    )


@pytest.fixture(scope="module")
def own(family: Family) -> dict[str, Own]:
    """What each attacker has itself."""
    made = {}
    for user in (SIBLING, OUTSIDER):
        with RoutedClient(family.endpoint(user)) as client:
            made[user] = make_own(client, user)
    return made


@pytest.fixture
def prober(user: str, family: Family, kafka: EmbeddedKafka, broker: Endpoint) -> Iterator[Prober]:
    secret = (kafka.cluster_id.encode(), address_of(broker))
    one = Prober(family.endpoint(user), never_receives=secret)
    yield one
    one.close()


def versions_of(api_key: ApiKey) -> list[int]:
    """The oldest and the newest: a name is found by the schema, which test_forged_requests.py tries in all versions."""
    served = sorted(served_versions(api_key) or ())
    return sorted({served[0], served[-1]}) if served else []


def compared() -> Iterator[tuple[ApiKey, str]]:
    """Yield the APIs whose answers are equal in bytes, for each of the attackers."""
    for api_key in sorted(FORGED, key=CREATES.__contains__):
        if api_key not in REFUSED | TELLS_OWN_IDS:
            yield api_key, SIBLING
            if api_key not in TELLS_MORE:
                yield api_key, OUTSIDER


@pytest.mark.parametrize("user", [SIBLING, OUTSIDER])
def test_a_list_of_all_topics_has_none_of_the_namespace_and_none_of_the_gateway(
    user: str, prober: Prober, loot: Loot, own: dict[str, Own], family: Family
) -> None:
    found = {one.name for one in prober.client().request(MetadataRequest(topics=None), 12).topics}

    assert {own[user].topic, own[user].busy_topic} <= found
    assert loot.victim.topic not in {name.rpartition(":")[2] for name in found}
    assert not found & family.topics.keys()


def test_the_namespace_is_not_closed_to_its_user(family: Family, loot: Loot) -> None:
    """Else nothing above would have been refused for the reason that is said there."""
    with RoutedClient(family.endpoint(VICTIM)) as client:
        assert metadata_of(client, loot.victim.topic)[0].error_code == ErrorCode.NONE
    with RoutedClient(family.endpoint(OUTSIDER)) as client:
        (answer,) = metadata_of(client, f"eu:{loot.victim.topic}")
        assert answer.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


@pytest.mark.parametrize(("api_key", "user"), list(compared()), ids=lambda one: getattr(one, "name", one))
def test_things_of_a_namespace_without_permission_are_answered_as_things_that_do_not_exist(
    api_key: ApiKey, user: str, prober: Prober, loot: Loot, own: dict[str, Own], victim: BusyVictim
) -> None:
    check_alike(api_key, versions_of(api_key), prober, own[user], loot)

    victim.check()
