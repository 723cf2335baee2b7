"""A namespace that ACLs close to two users of its tenant; every byte delivered to these two is searched.

Neither the user of the namespace beside it nor one of the whole tenant may be told a name, a record, a config, an ID or
a member of that namespace, whatever they ask for, while its own user works in it. Brokers are lost meanwhile as
`taint_work.py` says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import pytest
from taint_admins import confluent_admin, make_topics, python_admin
from taint_attacker import ATTACKER, attack, make_loot, make_own
from taint_clients import confluent_classic, confluent_codecs, confluent_consumer_protocol
from taint_gateway import BEHIND, OwnTopics, upstream_secrets
from taint_search import Secret, exposures
from taint_secrets import secrets_of
from taint_side import Side
from taint_work import LIMIT_S, MAX_SHOWN, Attacker, again, ends_of, work

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import SERVED
from support.brokers.kafka_versions import brokers_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_operations import topic_id_of, warm_up
from support.clients.routed_client import RoutedClient
from support.clients.tap import Connection, Tap, api_keys_of
from support.forgery.closed_namespace import ClosedNamespace
from support.forgery.victim import Victim
from support.gateways.gateway_process import HOST, GatewayProcess
from support.physical_names import prefix_of

CLOSED = ClosedNamespace("clan")
TENANT, (VICTIM, SIBLING, OUTSIDER) = CLOSED.tenant, CLOSED.users
STREAMS = (confluent_classic, confluent_consumer_protocol, confluent_codecs)
ADMINS = (confluent_admin, python_admin)

pytestmark = [pytest.mark.timeout(LIMIT_S), pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0)]


@dataclass
class Recorded:
    """What came of the work."""

    secrets: list[Secret]
    outsiders: list[Attacker]
    own: list[Connection]
    """Those of the namespace's own user."""


def side_of(user: str, endpoint: Endpoint) -> Side:
    """Return what a user has, with its topics."""
    side = Side(name=user)
    side.endpoint = replace(endpoint, username=user)
    make_topics(side)
    return side


@pytest.fixture(scope="module")
def recorded(kafka: EmbeddedKafka, broker: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The work, done before a gateway of its own and recorded; what was recorded is only looked at."""
    with RoutedClient(broker) as client:
        warm_up(client)
        internal_topic_id = topic_id_of(client, "__consumer_offsets")
    own_topics, brokers = OwnTopics(), brokers_under_test()
    users = (VICTIM, SIBLING, OUTSIDER)
    with GatewayProcess(
        tmp_path_factory.mktemp("tapped-namespaces"),
        kafka.bootstrap,
        tenants=(TENANT,),
        bind_host=BEHIND,
        brokers=brokers,
        adjust=CLOSED.close_to_others,
        proxy=own_topics.sections,
    ) as gateway:
        gateway_topics = own_topics.await_ids(broker)
        ports = [gateway.bootstrap_port + number for number in range(brokers + 1)]
        bootstrap, at_broker = gateway.endpoint(TENANT.name), gateway.broker_endpoint(TENANT.name)
        with Tap(ports, host=HOST, behind=BEHIND, users=users, keeps=ATTACKER) as tap:
            side = side_of(VICTIM, bootstrap)
            victim = Victim(replace(at_broker, username=VICTIM), f"{prefix_of(TENANT.name)}--eu.")
            try:
                outsiders = []
                jobs = [partial(job, side) for job in STREAMS]
                jobs.append(partial(again, side, partial(confluent_admin, side)))
                for user in (SIBLING, OUTSIDER):
                    loot = make_loot(
                        victim,
                        side,
                        cluster_id=kafka.cluster_id,
                        internal_topic_id=internal_topic_id,
                        gateway_topics=gateway_topics,
                        paths=CLOSED.paths,
                    )
                    one = Attacker(side_of(user, bootstrap), loot)
                    endpoint = replace(at_broker, username=user)
                    own = make_own(one.side, endpoint)
                    begun_anew = [partial(job, one.side) for job in ADMINS]
                    begun_anew.append(partial(attack, endpoint, own, loot, one.sent, 1, versions_of=ends_of))
                    jobs += [partial(again, one.side, job) for job in begun_anew]
                    outsiders.append(one)
                work(kafka, victim, [side, *(one.side for one in outsiders)], jobs)
            finally:
                victim.close()
    for one in outsiders:
        one.connections = tap.of(one.side.name)
    secrets = [*secrets_of(side, victim), *upstream_secrets(kafka, gateway_topics)]
    return Recorded(secrets, outsiders, tap.of(VICTIM))


def test_the_outsiders_have_asked_for_everything(recorded: Recorded) -> None:
    for one in recorded.outsiders:
        assert set(SERVED) <= set(api_keys_of(one.connections))
        assert one.sent.rounds >= 1


def test_the_user_of_the_namespace_was_told_what_the_search_looks_for(recorded: Recorded) -> None:
    """Else the search of what others were told would prove nothing."""
    received = b"".join(bytes(one.received) for one in recorded.own)

    found = {one.secret.what for one in exposures(received, recorded.secrets)}

    assert {"marker", "config value", "tag", "member of a classic group"} <= found


@pytest.mark.parametrize("place", [0, 1], ids=[SIBLING, OUTSIDER])
def test_no_other_user_of_the_tenant_was_told_anything_of_the_namespace(
    place: int, recorded: Recorded
) -> None:
    found = recorded.outsiders[place].found(recorded.secrets)

    assert [(one.secret.what, one.around) for one in found[:MAX_SHOWN]] == []
