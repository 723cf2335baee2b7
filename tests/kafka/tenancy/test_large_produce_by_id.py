"""A Produce that is too large to be decoded, by the IDs of topics that the gateway has not met yet."""

from __future__ import annotations

import os

import pytest

from bifrost.session.decoded_request import MAX_OTHER_DECODED_BYTES
from bifrost.tenancy.topic_ids import FEW_IDS
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, request_frame
from support.clients.raw_operations import create_topic, log_end
from support.clients.record_batches import build_batch
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import GatewayProcess
from support.physical_names import physical_name

pytestmark = [
    pytest.mark.needs_api(ApiKey.PRODUCE, 13),
    pytest.mark.skipif("BIFROST_WORKERS" in os.environ, reason="another worker may know the topics"),
]

BY_ID = 13
LARGE = 900_000
"""Bytes of a batch: less than a broker's `message.max.bytes`."""
BATCHES = MAX_OTHER_DECODED_BYTES // LARGE + 2


@pytest.fixture
def gateway(start_gateway: StartGateway) -> GatewayProcess:
    """A gateway that has met no topic, as a client that was at another gateway before finds it."""
    return start_gateway()


def created(broker: Endpoint, names: list[str]) -> list[bytes]:
    with RoutedClient(broker) as direct:
        return [create_topic(direct, physical_name("globex", name)) for name in names]


def produce(client: RawClient, ids: list[bytes]) -> dict[bytes, int]:
    """Produce a batch to each topic, the first ones large; return the error codes."""
    sizes = [LARGE if number < BATCHES else 10 for number in range(len(ids))]
    topics = [
        ProduceRequest.TopicProduceData(
            name=None,
            topic_id=one,
            partition_data=[ProduceRequest.PartitionProduceData(index=0, records=build_batch([bytes(size)]))],
        )
        for one, size in zip(ids, sizes, strict=True)
    ]
    request = ProduceRequest(acks=1, timeout_ms=30_000, topic_data=topics)
    assert len(request_frame(request, BY_ID, 1)) > MAX_OTHER_DECODED_BYTES
    response = client.request(request, BY_ID)
    return {one.topic_id: one.partition_responses[0].error_code for one in response.responses}


@pytest.mark.parametrize("count", [BATCHES, FEW_IDS + BATCHES], ids=["few", "many"])
def test_all_topics_are_found_together(gateway: GatewayProcess, broker: Endpoint, count: int) -> None:
    names = [f"large-{count}-{number}" for number in range(count)]
    ids = created(broker, names)

    with RawClient.authenticated(gateway.broker_endpoint("globex"), timeout_s=30) as client:
        assert produce(client, ids) == dict.fromkeys(ids, ErrorCode.NONE)
        # Another time they are known.
        assert produce(client, ids) == dict.fromkeys(ids, ErrorCode.NONE)
    with RoutedClient(broker) as direct:
        assert [log_end(direct, physical_name("globex", name)) for name in names] == [2] * count


@pytest.mark.parametrize("count", [5, 2 * FEW_IDS, 100 * FEW_IDS], ids=["few", "many", "masses"])
def test_topics_that_do_not_exist_or_are_foreign_are_answered_one_by_one(
    gateway: GatewayProcess, broker: Endpoint, count: int
) -> None:
    ids = created(broker, [f"mixed-{count}-{number}" for number in range(BATCHES)])
    with RoutedClient(broker) as direct:
        foreign = create_topic(direct, physical_name("initech", f"mixed-{count}"))
    absent = [os.urandom(16) for _ in range(count)]
    expected = {
        **dict.fromkeys(ids, ErrorCode.NONE),
        **dict.fromkeys([foreign, *absent], ErrorCode.UNKNOWN_TOPIC_ID),
    }

    with RawClient.authenticated(gateway.broker_endpoint("globex"), timeout_s=30) as client:
        assert produce(client, [*ids, foreign, *absent]) == expected
        # The connection goes on, and others are answered likewise.
        assert produce(client, [*absent, *ids, foreign]) == expected

    with RoutedClient(broker) as direct:
        assert log_end(direct, physical_name("initech", f"mixed-{count}")) == 0
        assert [
            log_end(direct, physical_name("globex", f"mixed-{count}-{one}")) for one in range(BATCHES)
        ] == [2] * BATCHES
