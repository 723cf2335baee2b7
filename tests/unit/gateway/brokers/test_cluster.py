"""What the gateway knows of the physical cluster, asked of brokers that are played by the test."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.upstream import Upstream
from bifrost.gateway.brokers import cluster as module
from bifrost.gateway.brokers.cluster import LOST_MS, Cluster
from bifrost.gateway.errors import BrokerError
from bifrost.tenancy.topic_ids import TopicIds
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.playbook import response_frame
from support.stage.stage import Stage, broker_versions

UNSUPPORTED = messages.ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
ONE = b"one topic ID...."


class Brokers:
    """Every broker of a cluster, by address; stands for the class BrokerClient."""

    def __init__(self, *addresses: str) -> None:
        self.up = set(addresses)
        self.nodes = dict(enumerate(addresses, start=1))
        self.versions = broker_versions()
        self.newest_api_versions = 4
        self.topics: dict[bytes, str] = {}
        self.asked: list[tuple[str, int, Any]] = []
        self.open: list[str] = []
        self.cluster_id: str | None = None
        self.timeout_ms = 0
        """Time limit of the client that was made last."""
        self.num_partitions: dict[str, str | None] = {}
        """Of each broker that tells it, by its address."""

    def __call__(self, host: str, port: int, *, timeout_ms: int, security: Any) -> "FakeClient":
        self.timeout_ms = timeout_ms
        return FakeClient(self, f"{host}:{port}")

    def metadata(self, request: Any) -> Any:
        brokers = [
            {"node_id": number, "host": address.partition(":")[0], "port": int(address.partition(":")[2])}
            for number, address in self.nodes.items()
        ]
        known = self.topics if request.topics is None else [one.topic_id for one in request.topics]
        topics = [
            {"topic_id": one, "name": self.topics[one]}
            if one in self.topics
            else {"topic_id": one, "name": None, "error_code": ErrorCode.UNKNOWN_TOPIC_ID}
            for one in known
        ]
        return messages.MetadataResponse(brokers=brokers, topics=topics, cluster_id=self.cluster_id)

    def configs(self, address: str, request: Any) -> Any:
        (resource,) = request.resources
        assert (self.nodes[int(resource.resource_name)], resource.resource_type) == (address, 4)
        result: dict[str, Any] = {"error_code": ErrorCode.CLUSTER_AUTHORIZATION_FAILED}
        if address in self.num_partitions:
            result = {"configs": [{"name": "num.partitions", "value": self.num_partitions[address]}]}
        return messages.DescribeConfigsResponse(results=[result])


class FakeClient:
    def __init__(self, brokers: Brokers, address: str) -> None:
        self.brokers = brokers
        self.address = address
        brokers.open.append(address)

    async def request(self, message: Any, version: int) -> Any:
        if self.address not in self.brokers.up:
            raise BrokerError(f"{self.address}: connection refused")
        self.brokers.asked.append((self.address, version, message))
        if message.SCHEMA.name == "ApiVersionsRequest":
            return self.brokers.versions if version <= self.brokers.newest_api_versions else UNSUPPORTED
        if message.SCHEMA.name == "DescribeConfigsRequest":
            return self.brokers.configs(self.address, message)
        return self.brokers.metadata(message)

    async def read(self, message: Any, version: int, read: Callable[[int, int, int, bytes], Any]) -> Any:
        response = await self.request(message, version)
        frame = response_frame(response, version, 1)
        return read(message.SCHEMA.api_key, version, 1, frame)

    async def close(self) -> None:
        self.brokers.open.remove(self.address)


@pytest.fixture
def brokers(monkeypatch: pytest.MonkeyPatch) -> Brokers:
    brokers = Brokers("kafka-1:9092", "kafka-2:9092", "kafka-3:9092")
    monkeypatch.setattr(module, "BrokerClient", brokers)
    return brokers


def played(
    scenario: Callable[[Cluster, TopicIds], Awaitable[None]],
    *bootstrap: tuple[str, int],
    now_ms: Callable[[], int] = lambda: 0,
    **limits: int,
) -> None:
    """Play a scenario with a cluster that knows nothing but its bootstrap addresses."""
    addresses = [f"{host}:{port}" for host, port in bootstrap or (("kafka-1", 9092), ("kafka-2", 9092))]

    async def run() -> None:
        cluster = Cluster(Upstream(bootstrap=addresses), (), Limits(**limits), now_ms)
        await scenario(cluster, cluster.topic_ids)
        await cluster.close()

    asyncio.run(run())


def test_all_brokers_are_discovered_with_what_they_offer(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()

        assert cluster.node_ids == {1, 2, 3}
        third = cluster.broker(3)
        assert (third.host, third.port, third.offered.offers(ApiKey.METADATA, 9)) == ("kafka-3", 9092, True)
        assert cluster.broker(4) is None
        assert cluster.any_broker().node_id in (1, 2, 3)

    played(scenario)


def test_clients_that_bootstrap_are_led_to_brokers_that_can_be_connected_to(brokers: Brokers) -> None:
    now_ms = 1_000

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        nonlocal now_ms
        await cluster.refresh()
        cluster.note_lost(2)
        assert {cluster.any_broker().node_id for _ in range(50)} == {1, 3}
        assert cluster.broker(2) is not None

        now_ms += LOST_MS - 1
        for node_id in (1, 3):
            cluster.note_lost(node_id)
        assert {cluster.any_broker().node_id for _ in range(50)} == {1, 2, 3}, "there is no other"

        now_ms += 1
        assert {cluster.any_broker().node_id for _ in range(50)} == {2}

    played(scenario, now_ms=lambda: now_ms)


def test_one_connection_is_kept_and_closed_at_the_end(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()
        await cluster.refresh()

        assert brokers.open == ["kafka-1:9092"]

    played(scenario)
    assert brokers.open == []


def test_asking_who_is_there_names_no_topic_and_creates_none(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()

    played(scenario)
    (request,) = (one for _, _, one in brokers.asked if one.SCHEMA.name == "MetadataRequest")
    assert (request.topics, request.allow_auto_topic_creation) == ([], False)


def test_the_next_address_is_tried_when_one_is_down(brokers: Brokers) -> None:
    brokers.up.discard("kafka-1:9092")

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()

        # Broker 1 was never reached, so nothing is known of it.
        assert cluster.node_ids == {2, 3}
        assert brokers.open == ["kafka-2:9092"]

    played(scenario)


def test_a_broker_that_goes_down_keeps_what_was_known_of_it(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()
        brokers.up.discard("kafka-3:9092")

        await cluster.refresh()

        assert cluster.node_ids == {1, 2, 3}
        assert cluster.broker(3).offered.offers(ApiKey.METADATA, 9)

    played(scenario)


def test_brokers_that_leave_the_cluster_are_forgotten_and_new_ones_found(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()
        del brokers.nodes[2]
        brokers.nodes[7] = "kafka-7:9092"
        brokers.up.add("kafka-7:9092")

        await cluster.refresh()

        assert cluster.node_ids == {1, 3, 7}

    played(scenario)


def test_metadata_that_names_no_broker_leaves_those_known(brokers: Brokers) -> None:
    """A single broker that is fenced answers so (KIP-631)."""

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()
        nodes, brokers.nodes = brokers.nodes, {}

        with pytest.raises(BrokerError, match="names no broker"):
            await cluster.refresh()
        assert cluster.node_ids == cluster.served_node_ids == {1, 2, 3}
        assert cluster.any_broker() is not None

        brokers.nodes = nodes
        await cluster.refresh()
        assert cluster.node_ids == {1, 2, 3}

    played(scenario)


def test_metadata_of_brokers_that_cannot_be_reached_leaves_those_known(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()
        brokers.nodes = {7: "kafka-7:9092"}

        with pytest.raises(BrokerError, match="none of the brokers it names"):
            await cluster.refresh()
        assert cluster.node_ids == {1, 2, 3}

    played(scenario)


def test_known_brokers_of_which_none_can_be_reached_stay_and_the_refresh_fails(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()
        before = brokers.nodes
        brokers.nodes = {number: f"moved-{number}:9092" for number in before}

        with pytest.raises(BrokerError, match="none of the brokers it names"):
            await cluster.refresh()
        assert cluster.node_ids == {1, 2, 3}

        brokers.nodes = before | {3: "moved-3:9092"}
        await cluster.refresh()
        assert cluster.node_ids == {1, 2, 3}

    played(scenario)


def test_a_broker_that_leaves_the_metadata_is_served_for_the_grace(
    brokers: Brokers, logged: list[dict[str, Any]]
) -> None:
    now_ms = 1_000

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        nonlocal now_ms
        await cluster.refresh()
        away = brokers.nodes.pop(3)
        await cluster.refresh()
        now_ms += 999
        await cluster.refresh()
        assert (cluster.node_ids, cluster.served_node_ids) == ({1, 2}, {1, 2, 3})
        known = cluster.broker(3)
        assert known is not None
        assert known.host == "kafka-3"
        assert {cluster.any_broker().node_id for _ in range(50)} == {1, 2}

        now_ms += 1
        await cluster.refresh()
        assert (cluster.served_node_ids, cluster.broker(3)) == ({1, 2}, None)

        brokers.nodes[3] = away
        await cluster.refresh()
        assert cluster.node_ids == cluster.served_node_ids == {1, 2, 3}

    played(scenario, now_ms=lambda: now_ms, broker_grace_ms=1_000)
    assert [(one["event"], one["node_ids"]) for one in logged] == [("brokers_away", [3])]


def test_a_broker_that_comes_back_has_a_whole_grace_the_next_time(brokers: Brokers) -> None:
    now_ms = 1_000

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        nonlocal now_ms
        await cluster.refresh()
        for _ in range(3):
            away = brokers.nodes.pop(3)
            await cluster.refresh()
            now_ms += 900
            await cluster.refresh()
            assert cluster.served_node_ids == {1, 2, 3}
            brokers.nodes[3] = away
            await cluster.refresh()

    played(scenario, now_ms=lambda: now_ms, broker_grace_ms=1_000)


def test_without_a_grace_a_broker_is_gone_at_once(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()
        del brokers.nodes[3]
        await cluster.refresh()

        assert cluster.served_node_ids == {1, 2}

    played(scenario, broker_grace_ms=0)


def test_discovery_survives_an_answer_that_is_a_bug_of_ours(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch, logged: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(module, "FIRST_RETRY_MS", 1)
    failures = iter([RuntimeError("a bug")])
    metadata = Brokers.metadata

    def fails_once(self: Brokers, request: Any) -> Any:
        failure = next(failures, None)
        if failure is not None:
            raise failure
        return metadata(self, request)

    monkeypatch.setattr(Brokers, "metadata", fails_once)

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.discover()
        assert cluster.node_ids == {1, 2, 3}

    played(scenario)
    assert [one["place"] for one in logged if one["event"] == "internal_error"] == ["discovery"]


def test_if_the_bootstrap_brokers_are_gone_those_known_are_asked(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()
        brokers.up = {"kafka-3:9092"}

        await cluster.refresh()

        assert cluster.node_ids == {1, 2, 3}

    played(scenario, ("kafka-1", 9092))


def test_if_no_broker_answers_every_address_is_named(brokers: Brokers) -> None:
    brokers.up.clear()

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        with pytest.raises(BrokerError) as caught:
            await cluster.refresh()

        assert str(caught.value) == "kafka-1:9092: connection refused; kafka-2:9092: connection refused"
        assert brokers.open == []

    played(scenario)


def test_discovery_tries_again_until_a_broker_is_there(
    brokers: Brokers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_RETRY_MS", 1)
    monkeypatch.setattr(module, "LAST_RETRY_MS", 2)
    up, brokers.up = brokers.up, set()

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        discovering = asyncio.create_task(cluster.discover())
        await asyncio.sleep(0.01)
        assert not discovering.done()

        brokers.up = up
        await discovering

        assert cluster.node_ids == {1, 2, 3}

    played(scenario)


@pytest.mark.parametrize(("newest", "asked"), [(4, [4]), (3, [4, 3]), (2, [4, 3, 0]), (0, [4, 3, 0])])
def test_versions_are_asked_for_as_clients_do(brokers: Brokers, newest: int, asked: list[int]) -> None:
    brokers.newest_api_versions = newest

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.look_ups.look_up(
            Stage().namespaces["initech"], frozenset({ONE}), Stage().shared.lanes.in_flight_limits
        )

    played(scenario)
    versions = [version for _, version, one in brokers.asked if one.SCHEMA.name == "ApiVersionsRequest"]
    assert versions == asked


def test_a_broker_of_before_kafka_0_10_is_refused(brokers: Brokers) -> None:
    brokers.versions = broker_versions(Metadata=(0, 0))

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        with pytest.raises(BrokerError, match=r"older than Kafka 0\.10"):
            await cluster.refresh()

    played(scenario)


def test_a_connection_that_was_idle_for_too_long_is_made_anew(brokers: Brokers) -> None:
    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()
        brokers.up.discard("kafka-1:9092")

        await cluster.refresh()

        assert ("kafka-2:9092", "MetadataRequest") in [
            (address, one.SCHEMA.name) for address, _, one in brokers.asked
        ]

    played(scenario)


def test_a_topic_gets_the_most_partitions_that_any_broker_gives_by_default(brokers: Brokers) -> None:
    brokers.num_partitions = {"kafka-1:9092": "3", "kafka-2:9092": "6"}

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        assert cluster.topic_defaults() == (1, 1)
        await cluster.refresh()

        assert cluster.topic_defaults() == (6, 1)

    played(scenario)


@pytest.mark.parametrize("told", [None, "", "many"])
def test_a_broker_that_does_not_tell_its_default_is_taken_to_have_kafkas(
    brokers: Brokers, told: str | None
) -> None:
    brokers.num_partitions = {"kafka-1:9092": told}

    async def scenario(cluster: Cluster, _ids: TopicIds) -> None:
        await cluster.refresh()

        assert cluster.topic_defaults() == (1, 1)

    played(scenario)
