"""What the embedded Kafka decides without a JVM and a network; `tests/kafka/test_embedded.py` starts it."""

from __future__ import annotations

import socket
import struct
from pathlib import Path
from typing import Self

import pytest

from bifrost.embedded.errors import KafkaError
from bifrost.embedded.kafka import EmbeddedKafka, _Node, count_brokers


class FakeBroker:
    """Answers every request with the same bytes, as the socket a client would have."""

    def __init__(self, answer: bytes) -> None:
        self.received = b""
        self._answer = answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def sendall(self, data: bytes) -> None:
        self.received += data

    def recv(self, size: int, flags: int) -> bytes:
        assert flags == socket.MSG_WAITALL
        taken, self._answer = self._answer[:size], self._answer[size:]
        return taken


@pytest.fixture
def cluster(tmp_path: Path) -> EmbeddedKafka:
    """Three nodes with ports, not started."""
    kafka = EmbeddedKafka(brokers=3, properties={"num.partitions": "7", "default.replication.factor": "1"})
    kafka._nodes = [
        _Node(n, tmp_path / f"node{n}", port=1000 + n, controller_port=2000 + n) for n in (1, 2, 3)
    ]
    return kafka


def answer(monkeypatch: pytest.MonkeyPatch, data: bytes) -> FakeBroker:
    broker = FakeBroker(data)
    monkeypatch.setattr(socket, "create_connection", lambda address, timeout: broker)
    return broker


def metadata(brokers: int, cluster_id: bytes) -> bytes:
    body = (
        struct.pack(">ii", 1, brokers) + b"broker" * brokers + struct.pack(">h", len(cluster_id)) + cluster_id
    )
    return struct.pack(">i", len(body)) + body


def test_nodes_know_each_other_and_only_the_loopback(cluster: EmbeddedKafka) -> None:
    properties = cluster._server_properties(cluster._nodes[1])

    assert properties["node.id"] == "2"
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:1002,CONTROLLER://127.0.0.1:2002"
    assert properties["controller.quorum.voters"] == "1@127.0.0.1:2001,2@127.0.0.1:2002,3@127.0.0.1:2003"
    assert properties["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1002"


def test_callers_properties_win(cluster: EmbeddedKafka) -> None:
    properties = cluster._server_properties(cluster._nodes[0])

    assert properties["num.partitions"] == "7"
    assert properties["default.replication.factor"] == "1"
    assert properties["offsets.topic.replication.factor"] == "3"


def test_addresses_of_every_broker(cluster: EmbeddedKafka) -> None:
    assert cluster.bootstrap == "127.0.0.1:1001,127.0.0.1:1002,127.0.0.1:1003"
    assert cluster.node_ids == [1, 2, 3]
    assert cluster.broker_port(3) == 1003
    assert cluster.pids == []


def test_second_start_is_an_error(cluster: EmbeddedKafka) -> None:
    with pytest.raises(KafkaError, match="runs already"):
        cluster.start()


def test_stop_without_start_does_nothing() -> None:
    kafka = EmbeddedKafka()

    kafka.stop()

    assert kafka.bootstrap == ""


def test_metadata_request_is_version_2_for_no_topics(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = answer(monkeypatch, metadata(3, b"our-cluster"))

    assert count_brokers(9092, "our-cluster") == 3
    assert broker.received == bytes.fromhex("0000000e 0003 0002 00000001 0000 00000000")


@pytest.mark.parametrize(
    "data",
    [
        metadata(3, b"another"),
        b"",
        b"\0\0",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        struct.pack(">iii", 4, 1, 3),
    ],
    ids=["other cluster", "closed", "cut", "HTTP", "length too small"],
)
def test_a_process_that_is_not_our_broker_counts_as_none(
    monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    answer(monkeypatch, data)

    assert count_brokers(9092, "our-cluster") == 0


def test_refused_connection_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(address: object, timeout: float) -> None:
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", refuse)

    assert count_brokers(9092, "our-cluster") == 0
