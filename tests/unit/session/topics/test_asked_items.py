import pytest

from bifrost.forwarding.broker_costs import broker_cost_ns
from bifrost.forwarding.load import ITEM_NS
from bifrost.session.topics.asked_items import items_cost_ns, request_cost_ns
from bifrost.wire.api_keys import ApiKey
from support.stage import messages
from support.stage.messages import metadata


@pytest.mark.parametrize(
    ("message", "items"),
    [
        (metadata("a", "b", "c"), 3),
        (messages.MetadataRequest(topics=None), 0),
        (messages.MetadataRequest(topics=[{"topic_id": bytes(15) + b"x", "name": None}]), 1),
        (
            messages.DescribeTopicPartitionsRequest(topics=[], response_partition_limit=700, cursor=None),
            700,
        ),
        (
            messages.DescribeTopicPartitionsRequest(topics=[{"name": "a"}], response_partition_limit=700),
            1,
        ),
        (
            messages.ListOffsetsRequest(
                topics=[
                    {"name": "a", "partitions": [{"partition_index": one} for one in range(5)]},
                    {"name": "b", "partitions": []},
                ]
            ),
            7,
        ),
        (
            messages.DescribeProducersRequest(topics=[{"name": "a", "partition_indexes": [0, 1]}]),
            3,
        ),
        (messages.HeartbeatRequest(), 0),
    ],
)
def test_topics_and_partitions_are_items(message, items: int) -> None:
    assert items_cost_ns(message) == items * ITEM_NS


def test_a_request_costs_what_a_small_one_does_and_its_items() -> None:
    cost_ns = request_cost_ns(metadata("a", "b"))

    assert cost_ns == broker_cost_ns(ApiKey.METADATA) + 2 * ITEM_NS
