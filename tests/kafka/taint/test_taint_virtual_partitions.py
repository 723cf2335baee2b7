"""A tenant whose topics have virtual partitions, compacted and in transactions; what others are told is searched.

One attacker has virtual partitions as well, and works in topics of its own meanwhile, the other has none. Neither may
be told a name, a record, an ID or a member of that tenant; and nobody the marks by which the gateway tells the virtual
partitions of a physical one apart. Brokers are lost meanwhile as `taint_work.py` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from taint_admins import confluent_admin, make_topics
from taint_attacker import ATTACKER, attack, make_loot, make_own
from taint_batches import DECODERS, unpacked
from taint_clients import (
    confluent_compacted,
    confluent_virtual_partitions,
    confluent_virtual_transactions,
)
from taint_gateway import BEHIND, OwnTopics, records_told, upstream_secrets
from taint_search import Exposure, Secret, exposures
from taint_secrets import secrets_of
from taint_side import PHYSICAL, VIRTUAL, Side
from taint_work import LIMIT_S, MAX_SHOWN, Attacker, Job, again, ends_of, work

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.virtual_partitions.tagged_batches import TAG
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.fields.entities import SERVED
from support.brokers.kafka_versions import brokers_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_operations import topic_id_of, warm_up
from support.clients.routed_client import RoutedClient
from support.clients.tap import Connection, Tap, api_keys_of
from support.forgery.victim import Victim
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.physical_names import physical_name, prefix_of

STREAMS = (confluent_virtual_partitions, confluent_compacted)
IN_CALM = (confluent_virtual_transactions,)
"""What stands no loss of a coordinator: see test_taint.py."""

pytestmark = [pytest.mark.timeout(LIMIT_S), pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0)]


@dataclass
class Recorded:
    """What came of the work."""

    side: Side
    """The tenant that is attacked, and its connections."""
    own: list[Connection]
    secrets: list[Secret]
    upstream: list[Secret]
    attackers: list[Attacker]


def numbers_of(side: Side) -> list[dict[str, Any]]:
    """Return the rules for a side's topics, and for those that its attacker makes."""
    others = {"topics": ["orders", "billing"], "virtual": VIRTUAL, "physical": PHYSICAL}
    return [*side.virtual_partitions, others] if side.is_divided else []


@pytest.fixture(scope="module")
def recorded(kafka: EmbeddedKafka, broker: Endpoint, tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """The work, done before a gateway of its own and recorded; what was recorded is only looked at."""
    with RoutedClient(broker) as client:
        warm_up(client)
        internal_topic_id = topic_id_of(client, "__consumer_offsets")
    sides = Side(is_divided=True), Side(is_divided=True), Side()
    own_topics, brokers = OwnTopics(), brokers_under_test()

    def adjust(configuration: dict[str, Any]) -> None:
        for tenant, side in zip(configuration["tenants"], sides, strict=True):
            assert tenant["name"] == side.name
            tenant["virtual_partitions"] = numbers_of(side)

    with GatewayProcess(
        tmp_path_factory.mktemp("tapped-virtual-partitions"),
        kafka.bootstrap,
        tenants=[TenantSpec(side.name, allow_topic_deletion=True) for side in sides],
        bind_host=BEHIND,
        brokers=brokers,
        adjust=adjust,
        proxy=own_topics.sections,
    ) as gateway:
        gateway_topics = own_topics.await_ids(broker)
        ports = [gateway.bootstrap_port + number for number in range(brokers + 1)]
        users = [side.name for side in sides]
        with Tap(ports, host=HOST, behind=BEHIND, users=users, keeps=ATTACKER) as tap:
            for side in sides:
                side.endpoint = gateway.endpoint(side.name)
                make_topics(side)
            attacked, *others = sides
            endpoint = gateway.broker_endpoint(attacked.name)
            victim = Victim(endpoint, prefix_of(attacked.name))
            attackers = []
            try:
                jobs: list[Job] = [partial(job, attacked) for job in STREAMS]
                jobs.append(partial(again, attacked, partial(confluent_admin, attacked)))
                in_calm = [partial(job, attacked) for job in IN_CALM]
                for side in others:
                    loot = make_loot(
                        victim,
                        attacked,
                        cluster_id=kafka.cluster_id,
                        internal_topic_id=internal_topic_id,
                        gateway_topics=gateway_topics,
                    )
                    one = Attacker(side, loot)
                    endpoint = gateway.broker_endpoint(side.name)
                    own = make_own(side, endpoint, VIRTUAL if side.is_divided else 1)
                    attacks = partial(attack, endpoint, own, loot, one.sent, 1, versions_of=ends_of)
                    jobs.append(partial(again, side, attacks))
                    if side.is_divided:
                        jobs += [partial(job, side) for job in STREAMS]
                        in_calm += [partial(job, side) for job in IN_CALM]
                    attackers.append(one)
                work(kafka, victim, sides, jobs, in_calm)
            finally:
                victim.close()
    for one in attackers:
        one.connections = tap.of(one.side.name)
    upstream = upstream_secrets(kafka, gateway_topics)
    return Recorded(attacked, tap.of(attacked.name), secrets_of(attacked, victim), upstream, attackers)


def test_the_attackers_have_asked_for_everything(recorded: Recorded) -> None:
    for one in recorded.attackers:
        assert set(SERVED) <= set(api_keys_of(one.connections))
        assert one.sent.rounds >= 1


def test_the_tenant_was_told_what_the_search_looks_for(recorded: Recorded) -> None:
    """Else the search of what others were told would prove nothing. Records came in every codec."""
    found, codecs = set(), set()
    for connection in recorded.own:
        found |= {one.secret.what for one in exposures(connection.received, recorded.secrets)}
        for codec, records in unpacked(connection):
            if next(exposures(records, recorded.secrets), None):
                codecs.add(codec)

    assert {"marker", "config value", "tag", "member of a classic group"} <= found
    assert codecs == {name for name, _ in DECODERS.values()}


def test_brokers_have_the_marks_that_nobody_was_told(recorded: Recorded, broker: Endpoint) -> None:
    stored = records_told(broker, physical_name(recorded.side.name, recorded.side.committed_topic))

    assert TAG in stored


def test_the_tenant_was_told_nothing_of_the_upstream_nor_a_mark(recorded: Recorded) -> None:
    found = list[Exposure]()

    for connection in recorded.own:
        found += exposures(connection.received, recorded.upstream)
        for _codec, records in unpacked(connection):
            found += exposures(records, recorded.upstream)

    assert [(one.secret.what, one.around) for one in found[:MAX_SHOWN]] == []


@pytest.mark.parametrize("place", [0, 1], ids=["with virtual partitions", "without"])
def test_no_other_tenant_was_told_anything(place: int, recorded: Recorded) -> None:
    found = recorded.attackers[place].found([*recorded.secrets, *recorded.upstream])

    assert [(one.secret.what, one.around) for one in found[:MAX_SHOWN]] == []
