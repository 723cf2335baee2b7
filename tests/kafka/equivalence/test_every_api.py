"""Every API at every version: what a client is told through the gateway is what the broker tells it directly.

Each scenario is played twice, against the broker and as a tenant, with the same names, and all answers are compared
field by field, with the records byte by byte. Where the two may differ is written down here.

With three brokers (`make three-brokers`) each of them is killed while the scenarios are played: two are away for a
sixth of the scenarios each, and the first, through which both worlds are entered, comes back at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import admin_scenarios as admin
import data_scenarios as data
import group_scenarios as group
import heartbeat_scenarios as heartbeat
import pytest
import quota_scenarios as quota
import share_scenarios as share
import transaction_scenarios as transaction

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import SERVED
from bifrost.wire.message import message_class
from bifrost.wire.messages import MetadataRequest
from bifrost.wire.schema import request_schema
from support.brokers.broker_loss import BrokerLoss
from support.brokers.kafka_versions import version_under_test
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.forgery.worlds import CLOSED, ConnectionClosedError, World, differences
from support.gateways.gateway_process import IS_SINGLE_ADDRESS, GatewayProcess

Scenario = Callable[[World, int], None]

SCENARIOS: dict[ApiKey, tuple[Scenario, ...]] = {
    ApiKey.PRODUCE: (data.produce, data.produce_rejected_records, data.produce_with_acks_0),
    ApiKey.FETCH: (data.fetch, transaction.fetch_of_transactions),
    ApiKey.LIST_OFFSETS: (data.list_offsets,),
    ApiKey.METADATA: (data.metadata, data.metadata_that_creates),
    ApiKey.OFFSET_COMMIT: (group.offset_commit,),
    ApiKey.OFFSET_FETCH: (group.offset_fetch,),
    ApiKey.FIND_COORDINATOR: (group.find_coordinator,),
    ApiKey.JOIN_GROUP: (group.join_group,),
    ApiKey.HEARTBEAT: (group.heartbeat,),
    ApiKey.LEAVE_GROUP: (group.leave_group,),
    ApiKey.SYNC_GROUP: (group.sync_group,),
    ApiKey.DESCRIBE_GROUPS: (group.describe_groups,),
    ApiKey.LIST_GROUPS: (group.list_groups,),
    ApiKey.API_VERSIONS: (admin.api_versions,),
    ApiKey.CREATE_TOPICS: (admin.create_topics,),
    ApiKey.DELETE_TOPICS: (admin.delete_topics,),
    ApiKey.DELETE_RECORDS: (admin.delete_records,),
    ApiKey.INIT_PRODUCER_ID: (transaction.init_producer_id,),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (data.offset_for_leader_epoch,),
    ApiKey.ADD_PARTITIONS_TO_TXN: (transaction.add_partitions_to_txn,),
    ApiKey.ADD_OFFSETS_TO_TXN: (transaction.add_offsets_to_txn,),
    ApiKey.END_TXN: (transaction.end_txn,),
    ApiKey.TXN_OFFSET_COMMIT: (transaction.txn_offset_commit,),
    ApiKey.DESCRIBE_CONFIGS: (admin.describe_configs,),
    ApiKey.CREATE_PARTITIONS: (admin.create_partitions,),
    ApiKey.DELETE_GROUPS: (group.delete_groups,),
    ApiKey.OFFSET_DELETE: (group.offset_delete,),
    ApiKey.DESCRIBE_CLUSTER: (admin.describe_cluster,),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (admin.describe_topic_partitions,),
    ApiKey.SHARE_GROUP_HEARTBEAT: (share.share_group_heartbeat,),
    ApiKey.SHARE_GROUP_DESCRIBE: (share.share_group_describe,),
    ApiKey.SHARE_FETCH: (share.share_fetch,),
    ApiKey.SHARE_ACKNOWLEDGE: (share.share_acknowledge,),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (share.describe_share_group_offsets,),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (share.alter_share_group_offsets,),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: (share.delete_share_group_offsets,),
    ApiKey.CONSUMER_GROUP_HEARTBEAT: (
        heartbeat.consumer_group_heartbeat,
        heartbeat.consumer_group_heartbeat_by_regex,
    ),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (heartbeat.consumer_group_describe,),
    ApiKey.STREAMS_GROUP_HEARTBEAT: (heartbeat.streams_group_heartbeat,),
    ApiKey.STREAMS_GROUP_DESCRIBE: (share.streams_group_describe,),
    ApiKey.LIST_TRANSACTIONS: (transaction.list_transactions,),
    ApiKey.DESCRIBE_TRANSACTIONS: (transaction.describe_transactions,),
    ApiKey.DESCRIBE_PRODUCERS: (transaction.describe_producers,),
    ApiKey.ALTER_CONFIGS: (admin.alter_configs,),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (admin.incremental_alter_configs,),
    ApiKey.LIST_CONFIG_RESOURCES: (admin.list_config_resources,),
    ApiKey.DESCRIBE_LOG_DIRS: (admin.describe_log_dirs,),
    ApiKey.DESCRIBE_CLIENT_QUOTAS: (quota.describe_client_quotas,),
    ApiKey.ALTER_CLIENT_QUOTAS: (quota.alter_client_quotas,),
}

GATEWAY_ONLY = {ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
"""A broker's listener without SASL has none of these; tenancy/test_authentication.py has them."""

BROKERS_ONLY = {(ApiKey.ADD_PARTITIONS_TO_TXN, 4), (ApiKey.ADD_PARTITIONS_TO_TXN, 5)}
"""Sent by brokers to each other, and not offered to clients."""

PRESENTED_ONLY = {(ApiKey.PRODUCE, version) for version in range(3)}
"""From 4.0 on a broker lists these for old librdkafka's sake, and closes the connection when they come
(KAFKA-18659)."""

FIRST_WITHOUT_OLD_FORMATS = "4.0"

OF_ABSENT = {
    ApiKey.SHARE_FETCH: ("[5].error_code: direct -1,", "[5].responses: direct [],"),
    ApiKey.DESCRIBE_PRODUCERS: (
        "[4].topics[0].partitions[0].error_message: direct 'This server does not host",
    ),
}
"""What a gateway with a single address answers otherwise for partitions that do not exist, of which it asks no broker:
a broker fails to read a ShareFetch that names no other ones, and DescribeProducers has a text."""

ENDED_EARLY = "the scenario asked one broker for what several have"
LOSSES = (
    [("kill", 3)],
    [("restore", 3)],
    [("kill", 2)],
    [("restore", 2), ("kill", 1), ("restore", 1)],
)
"""What happens to three brokers after each sixth of the scenarios."""


def cases() -> Iterator[tuple[ApiKey, int, Scenario]]:
    """Yield every version that the schemas have of every API, with each of the API's scenarios."""
    for api_key, scenarios in SCENARIOS.items():
        for version in request_schema(api_key).versions:
            for scenario in scenarios:
                yield api_key, version, scenario


@pytest.fixture(scope="module")
def worlds(kafka: EmbeddedKafka, broker: Endpoint, gateway: GatewayProcess) -> Iterator[tuple[World, World]]:
    """The brokers, and the cluster of tenant soylent."""
    through = gateway.broker_endpoint("soylent")
    with RawClient.authenticated(through) as client:
        cluster_id = client.request(MetadataRequest(topics=[]), 5).cluster_id
    assert cluster_id != kafka.cluster_id
    ports = [kafka.broker_port(node_id) for node_id in kafka.node_ids]
    direct = World(broker, advertised_ports=ports, cluster_id=kafka.cluster_id)
    ports = [gateway.broker_port(node_id) for node_id in kafka.node_ids]
    tenant = World(through, advertised_ports=ports, cluster_id=cluster_id)
    yield direct, tenant
    direct.close()
    tenant.close()


@pytest.fixture(scope="module")
def losses(
    kafka: EmbeddedKafka, gateway: GatewayProcess, worlds: tuple[World, World]
) -> Iterator[Callable[[], None]]:
    """Call before each scenario: it kills a broker or starts it again when it is time."""
    loss = BrokerLoss(kafka, lambda: [gateway.endpoint("soylent")])
    total, played = len(list(cases())), itertools.count(1)
    steps = (
        {total * place // 6: step for place, step in enumerate(LOSSES, 1)} if len(kafka.node_ids) > 1 else {}
    )

    def lose() -> None:
        changes = steps.get(next(played), [])
        for change, node_id in changes:
            loss.kill(node_id) if change == "kill" else loss.restore()
        if changes:
            for world in worlds:
                world.reconnect()

    yield lose
    loss.restore()
    assert loss.count in (0, 3)


@pytest.mark.parametrize(
    ("api_key", "version", "scenario"),
    [pytest.param(*case, id=f"{case[0].name}-v{case[1]}-{case[2].__name__}") for case in cases()],
)
def test_same_answers_through_the_gateway(
    worlds: tuple[World, World], losses: Callable[[], None], api_key: ApiKey, version: int, scenario: Scenario
) -> None:
    losses()
    direct, tenant = worlds
    if (api_key, version) in BROKERS_ONLY:
        assert direct.offers(api_key, version)
        assert not tenant.offers(api_key, version)
        return

    is_offered = direct.offers(api_key, version)
    assert tenant.offers(api_key, version) == is_offered
    if not is_offered:
        # A broker closes the connection; the gateway says why, where there is room.
        direct_answer, answer = (_ask_for_nothing(world, api_key, version) for world in worlds)
        assert _is_refused(answer)
        # Some versions that are not released yet are answered by brokers that do not offer them.
        assert direct_answer == CLOSED or version_under_test() != DEFAULT_VERSION
        return
    answers = [_play(world, scenario, version) for world in worlds]
    is_presented_only = (
        api_key,
        version,
    ) in PRESENTED_ONLY and version_under_test() >= FIRST_WITHOUT_OLD_FORMATS
    if is_presented_only and IS_SINGLE_ADDRESS and answers[1] != [CLOSED]:
        # The broker closes the gateway's connection; the client's stays, for others answer it as well.
        codes = {partition["error_code"] for partition in _produced(answers[1])}
        assert ErrorCode.REQUEST_TIMED_OUT in codes
        assert codes <= {ErrorCode.REQUEST_TIMED_OUT, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    else:
        known = OF_ABSENT.get(api_key, ()) if IS_SINGLE_ADDRESS else ()
        found = differences(*answers)
        assert [one for one in found if not one.startswith(known)] == []
    assert (answers[0] == [CLOSED]) == is_presented_only
    assert answers[0] != []
    assert answers[0] != [ENDED_EARLY]


def _produced(answers: list[Any]) -> list[Any]:
    """Return what Produce requests were answered, by partition."""
    return [
        partition
        for answer in answers
        for topic in answer["responses"]
        for partition in topic["partition_responses"]
    ]


def _ask_for_nothing(world: World, api_key: ApiKey, version: int) -> Any:
    """Send a request without content, and return what it is answered."""
    world.forget()
    with suppress(ConnectionClosedError):
        world.ask(message_class(request_schema(api_key).name)(), version)
    return world.comparable()[-1]


def _is_refused(answer: Any) -> bool:
    refused = {"error_code": ErrorCode.UNSUPPORTED_VERSION}
    return answer == CLOSED or refused.items() <= answer.items()


def _play(world: World, scenario: Scenario, version: int) -> list[Any]:
    world.forget()
    try:
        scenario(world, version)
    except ConnectionClosedError:
        assert world.answers[-1] == CLOSED
    except AssertionError:
        # A scenario expects from one broker what several have. What it was told until then is compared.
        if world.brokers == 1:
            raise
        world.answers.append(ENDED_EARLY)
    return world.comparable()


def test_every_served_api_has_a_scenario() -> None:
    assert set(SCENARIOS) | GATEWAY_ONLY == set(SERVED)
