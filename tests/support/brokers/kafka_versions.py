"""A cluster of any version of Kafka that the gateway is tested with: KRaft, or ZooKeeper where there is no other."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping

import pytest

from bifrost.embedded.child import Child
from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka, _Node
from bifrost.embedded.properties import cluster_properties, format_properties, read_properties
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ShareGroupHeartbeatRequest, UpdateFeaturesRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient

VERSIONS = ("2.8.2", "3.3.2", "3.9.1", "4.1.1", "4.3.1")
"""From the oldest that today's clients speak to, with ZooKeeper, to the newest."""
VERSION_VARIABLE = "BIFROST_TEST_KAFKA"
BROKERS_VARIABLE = "BIFROST_TEST_BROKERS"
FIRST_KRAFT = (3, 3)
CONSUMER_PROTOCOL = {"group.coordinator.rebalance.protocols": "classic,consumer"}
"""KIP-848 is there in Kafka 3.9, and off."""
FIRST_WITH_INTERVALS = (4, 3)
AT_ONCE = {"group.consumer.assignment.interval.ms": "0"}
"""From Kafka 4.3 on, assignments are made a second later: whether one was made would depend on how fast a test is."""
SHARE_HEARTBEAT = ShareGroupHeartbeatRequest(
    group_id="x", member_id="", member_epoch=0, subscribed_topic_names=["x"]
)
"""Answered with an error of its own or another: it tells whether there are share groups."""
ZOOKEEPER_S = 30.0


def version_under_test() -> str:
    """Return the version of the brokers of this run: that of the environment variable, or the newest."""
    return os.environ.get(VERSION_VARIABLE, DEFAULT_VERSION)


def brokers_under_test() -> int:
    """Return how many brokers this run's cluster has: the environment variable's number, or one."""
    return int(os.environ.get(BROKERS_VARIABLE, "1"))


def cluster_of(
    version: str, *, brokers: int = 1, properties: Mapping[str, str] | None = None
) -> EmbeddedKafka:
    """Return a cluster, not started yet; what its version has for clients but does not switch on by itself is on.

    Args:
        version: of Kafka.
        brokers: how many.
        properties: further server properties.
    """
    numbers, own = tuple(int(part) for part in version.split(".")), dict(properties or {})
    if numbers < FIRST_KRAFT:
        return ZooKeeperKafka(version, brokers=brokers, properties=own)
    if numbers[:2] == (3, 9):
        return EmbeddedKafka(version, brokers=brokers, properties=CONSUMER_PROTOCOL | own)
    kind = PreviewKafka if numbers[:2] == (4, 1) else EmbeddedKafka
    return kind(
        version, brokers=brokers, properties=(AT_ONCE if numbers >= FIRST_WITH_INTERVALS else {}) | own
    )


def skip_unless_offered(api_key: int, version: int, offered: Mapping[int, tuple[int, int]]) -> None:
    """Skip a test that needs what the brokers of this run lack.

    Args:
        api_key: the API.
        version: of the API.
        offered: oldest and newest version by API key, as the broker's ApiVersions says.
    """
    low, high = offered.get(api_key, (0, -1))
    if not low <= version <= high:
        pytest.skip(f"Kafka {version_under_test()} has no {ApiKey(api_key).name} v{version}")


class PreviewKafka(EmbeddedKafka):
    """A cluster whose share groups (KIP-932) are a preview, as in Kafka 4.1: a feature turns them on."""

    def start(self) -> None:
        super().start()
        share = UpdateFeaturesRequest.FeatureUpdateKey(
            feature="share.version", max_version_level=1, upgrade_type=1
        )
        with RawClient(Endpoint("127.0.0.1", self.broker_port(1))) as client:
            response = client.request(UpdateFeaturesRequest(feature_updates=[share]), 1)
            assert response.error_code == ErrorCode.NONE, response
            while client.request(SHARE_HEARTBEAT, 1).error_code == ErrorCode.UNSUPPORTED_VERSION:
                time.sleep(0.05)


class ZooKeeperKafka(EmbeddedKafka):
    """A cluster of brokers with one ZooKeeper, which Kafka's own jars bring; otherwise as its base."""

    _zookeeper: Child | None = None

    def start(self) -> None:
        super().start()
        meta = (self._node(1).log_dir / "meta.properties").read_text(encoding="utf-8")
        self.cluster_id = read_properties(meta)["cluster.id"]

    def stop(self) -> None:
        # A broker that has lost its ZooKeeper does not end: its own end comes first.
        super().stop()
        self._stop_zookeeper()

    def _stop_zookeeper(self) -> None:
        if self._zookeeper is not None:
            self._zookeeper.stop()
            self._zookeeper = None

    def _server_properties(self, node: _Node) -> dict[str, str]:
        own = {
            "broker.id": str(node.node_id),
            "broker.rack": f"rack-{node.node_id}",
            "zookeeper.connect": f"127.0.0.1:{self._node(1).controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{node.port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{node.port}",
            "log.dirs": str(node.log_dir),
        }
        return own | cluster_properties(self._brokers) | self._properties

    def _format_storage(self) -> None:
        """Start ZooKeeper; a broker of this kind formats its storage itself."""
        self._stop_zookeeper()
        node = self._node(1)
        file = node.directory / "zookeeper.properties"
        properties = {
            "dataDir": str(node.directory / "zookeeper"),
            "clientPortAddress": "127.0.0.1",
            "clientPort": str(node.controller_port),
            "admin.enableServer": "false",
        }
        file.write_text(format_properties(properties), encoding="utf-8")
        command = self._java(["org.apache.zookeeper.server.quorum.QuorumPeerMain", str(file)])
        log_file = node.directory / "zookeeper.log"
        self._zookeeper = Child(command, log_file=log_file, env=self._environment())
        deadline = time.monotonic() + ZOOKEEPER_S
        while not _listens(node.controller_port):
            assert self._zookeeper.exit_status() is None, self._zookeeper.log()
            assert time.monotonic() < deadline, self._zookeeper.log()
            time.sleep(0.02)


def _listens(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False
