"""Answers that are put together of three brokers' answers are bounded, too, where clients do not read them."""

from __future__ import annotations

import os
import socket
import threading
import time

import psutil
import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import CreateTopicsRequest, FetchRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import await_topic, create_topic, produce_request
from support.clients.record_batches import build_batch
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import HOST, GatewayProcess
from support.physical_names import physical_name

pytestmark = pytest.mark.skipif("BIFROST_WORKERS" in os.environ, reason="the one process is measured")

MIB = 1 << 20
MOST = 200 * MIB
"""Of 112 MiB for frames, 28 for what waits to be written and the process itself (docs/operations.md)."""
TOPIC, BROKERS, VERSION = "unread", 3, 12
BATCHES = 6
"""Of 900 KB, in each partition."""
READERS = 40
"""They would be answered 650 MB."""


def read_all() -> FetchRequest:
    """Return a Fetch of all records that does not want to wait, so that all brokers' answers are put together."""
    asked = [
        FetchRequest.FetchPartition(partition=one, fetch_offset=0, partition_max_bytes=16 * MIB)
        for one in range(BROKERS)
    ]
    topics = [FetchRequest.FetchTopic(topic=TOPIC, partitions=asked)]
    return FetchRequest(max_wait_ms=0, min_bytes=1, max_bytes=48 * MIB, session_epoch=-1, topics=topics)


def fill(gateway: GatewayProcess, kafka_cluster: EmbeddedKafka) -> None:
    """Let each broker lead a partition with megabytes of records."""
    with RoutedClient(Endpoint(HOST, kafka_cluster.broker_port(1))) as direct:
        placed = CreateTopicsRequest.CreatableReplicaAssignment
        places = [placed(partition_index=one, broker_ids=[one + 1]) for one in range(BROKERS)]
        create_topic(direct, physical_name("initech", TOPIC), BROKERS, assignments=places)
    batch = build_batch([os.urandom(1000)] * 900)
    with RawClient.authenticated(gateway.endpoint("initech")) as client:
        await_topic(client, TOPIC, BROKERS)
        for partition in range(BROKERS):
            for _ in range(BATCHES):
                request = produce_request(TOPIC, batch)
                request.topic_data[0].partition_data[0].index = partition
                answer = client.request(request, 9)
                assert not answer.responses[0].partition_responses[0].error_code


def test_answers_of_several_brokers_that_clients_do_not_read_do_not_fill_the_memory(
    gateway: GatewayProcess, kafka_cluster: EmbeddedKafka
) -> None:
    fill(gateway, kafka_cluster)
    with RawClient.authenticated(gateway.endpoint("initech")) as client:
        whole = client.request(read_all(), VERSION)
        answered = [len(one.records or b"") for one in whole.responses[0].partitions]
    assert len(answered) == BROKERS, "the answers of all brokers are one"
    assert min(answered) > (BATCHES - 1) * 900_000
    process, most, is_over = psutil.Process(gateway.pid), [0], threading.Event()

    def look() -> None:
        while not is_over.wait(0.02):
            most[0] = max(most[0], process.memory_info().rss)

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    readers = [RawClient.authenticated(gateway.endpoint("initech")) for _ in range(READERS)]
    for reader in readers:
        reader.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        for _ in range(2):
            reader.send(read_all(), VERSION)
    time.sleep(5)
    with RawClient.authenticated(gateway.endpoint("initech")) as other:
        began_s = time.monotonic()
        await_topic(other, TOPIC, BROKERS)
        assert time.monotonic() - began_s < 2
    is_over.set()
    looking.join()
    for reader in readers:
        reader.close()

    assert most[0] < MOST, f"{most[0] // MIB} MiB"
