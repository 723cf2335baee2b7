"""Topologies whose topics cannot share their tasks are refused by name, and nothing is created for them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest, StreamsGroupDescribeRequest, StreamsGroupHeartbeatRequest
from support.clients.raw_client import RawClient
from support.clients.streams_member import StreamsMember, settle
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GatewayProcess
from support.java.streams_shop import CUSTOMERS, TOTALS, Shop, shop_jvm
from support.physical_names import physical_name
from support.virtual_topics import create

pytestmark = [pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0), pytest.mark.timeout(120)]

_New = StreamsGroupHeartbeatRequest
ORDERS = "shop-orders"


def internal(name: str, partitions: int = 0, policy: str = "compact") -> Any:
    configs = [_New.KeyValue(key="cleanup.policy", value=policy)]
    return _New.TopicInfo(name=name, partitions=partitions, topic_configs=configs)


@pytest.fixture
def topic(dividing: GatewayProcess, direct: RawClient, unique: UniqueName) -> str:
    return create(dividing.endpoint("globex"), direct, unique("even"), 12, 4)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        (
            {"repartition_source_topics": [internal("odd-again", policy="delete")]},
            "odd-again has 7 virtual partitions on 3",
        ),
        ({"state_changelog_topics": [internal("store")]}, "store has no virtual partitions"),
        (
            {"state_changelog_topics": [internal("even-store")]},
            "The internal topic even-store: it is compacted, and virtual partitions would share their keys. The "
            "operator's rule for it needs compacted: true",
        ),
        (
            {"repartition_source_topics": [internal("even-again", 8, policy="delete")]},
            "The internal topic even-again: The topic has 12 virtual partitions; the operator of the gateway sets how "
            "many",
        ),
        ({"source_topic_regex": ["even-.*"]}, "the source topics of a streams group are named"),
    ],
)
def test_it_says_which_topic_and_why(
    client: RawClient, direct: RawClient, topic: str, unique: UniqueName, fields: dict[str, Any], text: str
) -> None:
    group = unique("group")

    answer = StreamsMember(client, group, topic, **fields).beat()

    assert answer.error_code == ErrorCode.STREAMS_INVALID_TOPOLOGY
    assert text in answer.error_message
    request = StreamsGroupDescribeRequest(group_ids=[physical_name("globex", group)])
    (found,) = direct.request(request, 0).groups
    assert found.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_an_internal_topic_with_a_number_is_made_with_the_physical_one(
    client: RawClient, direct: RawClient, topic: str, unique: UniqueName
) -> None:
    again, changelog = unique("even-again"), f"{unique('even')}-changelog"
    member = StreamsMember(
        client,
        unique("group"),
        topic,
        repartition_source_topics=[internal(again, 12, "delete")],
        state_changelog_topics=[internal(changelog)],
    )

    settle([member], 12)

    for name in (again, changelog):
        (shown,) = client.request(named(name), 5).topics
        (made,) = direct.request(named(physical_name("globex", name)), 5).topics
        assert (len(shown.partitions), len(made.partitions)) == (12, 4)


def named(topic: str) -> MetadataRequest:
    return MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False
    )


def test_kafka_streams_says_why(dividing: GatewayProcess, direct: RawClient, tmp_path: Path) -> None:
    """Its repartition topic has a number of partitions in the topology that the rule does not give."""
    endpoint = dividing.endpoint("globex")
    for name in (ORDERS, CUSTOMERS, TOTALS):
        create(endpoint, direct, name, 12, 4)
    with shop_jvm() as jvm:
        shop = Shop(jvm, endpoint, "shop-refused", "streams", tmp_path, by_order=3)
        shop.start(ORDERS)

        with pytest.raises(AssertionError, match="The topic has 12 virtual partitions"):
            watch(shop)
        shop.close()


def watch(shop: Shop) -> None:
    """Wait until the application runs, or has given up."""
    while not shop.is_running:
        time.sleep(0.1)
