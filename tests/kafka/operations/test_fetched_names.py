"""A tenant that fetches names which it makes up takes no memory of the broker's."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, fetch_request, records_of
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GatewayProcess

JCMD = shutil.which("jcmd")
counts_metrics = pytest.mark.skipif(
    JCMD is None, reason="jcmd, which counts the broker's objects, is not installed"
)
IMPOSSIBLE = ["", ".", "..", "a b", "m\u00e4rz", "x" * 250, "y" * 30_000]

NAMES, VERSION = 300, 11
EACH = 14
"""Metrics that a broker has of a topic at the least."""
_METERS = re.compile(r"^\s*\d+:\s+(\d+)\s+\d+\s+\S*BrokerTopicMetrics\$MeterWrapper\b", re.MULTILINE)


def meters(kafka: EmbeddedKafka) -> int:
    """Return how many metrics of topics the broker's heap has."""
    (pid,) = kafka.pids
    command = [str(JCMD), str(pid), "GC.class_histogram"]
    found = _METERS.search(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert found is not None
    return int(found[1])


def fetch_made_up_names(client: RawClient, prefix: str) -> None:
    for number in range(NAMES):
        response = client.request(fetch_request(f"{prefix}-{number}"), VERSION)
        (topic,) = response.responses
        assert topic.topic == f"{prefix}-{number}"
        assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@counts_metrics
def test_a_broker_keeps_metrics_of_names_that_no_topic_has(kafka: EmbeddedKafka, unique: UniqueName) -> None:
    """If this fails, Kafka has mended KAFKA-5238, and the gateway need not ask before it sends a Fetch on."""
    host, port = kafka.bootstrap.split(",")[0].split(":")
    before = meters(kafka)

    with RawClient(Endpoint(host, int(port))) as direct:
        fetch_made_up_names(direct, unique("direct"))

    assert meters(kafka) >= before + NAMES * EACH


@counts_metrics
def test_none_of_them_reaches_the_broker(
    kafka: EmbeddedKafka, gateway: GatewayProcess, unique: UniqueName
) -> None:
    topic = unique("orders")
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        create_topic(client, topic)
        records_of(client, topic)
        before = meters(kafka)

        fetch_made_up_names(client, unique("made-up"))

        assert meters(kafka) < before + NAMES * EACH / 10
        assert records_of(client, topic) == b""


@pytest.mark.parametrize("name", IMPOSSIBLE)
@pytest.mark.parametrize("version", [4, VERSION, 12])
def test_names_that_no_topic_can_have_are_answered_as_a_broker_does(
    kafka: EmbeddedKafka, gateway: GatewayProcess, name: str, version: int
) -> None:
    host, port = kafka.bootstrap.split(",")[0].split(":")
    with RawClient(Endpoint(host, int(port))) as direct:
        wanted = direct.request(fetch_request(name), version)

    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        assert client.request(fetch_request(name), version) == wanted
