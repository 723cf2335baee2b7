"""A gateway of two workers: together they are one gateway."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ApiVersionsRequest,
    FetchRequest,
    HeartbeatRequest,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, request_frame
from support.clients.raw_operations import fetch_request, produce, topic_id_of
from support.clients.scram_client import ScramClient
from support.gateways.admin_port import ask
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import ACME, GLOBEX, HOST, INITECH
from support.gateways.worker_gateway import WORKERS, WorkerGateway, await_true

TENANT_CONNECTIONS, ALL_CONNECTIONS, IN_FLIGHT = 3, 12, 3
LIMITED = replace(
    INITECH,
    name="limited",
    limits={"max_connections": TENANT_CONNECTIONS, "max_in_flight_requests": IN_FLIGHT},
)
LIMITS = {"max_connections": ALL_CONNECTIONS, "max_authentication_delay_ms": 0}


@pytest.fixture(scope="module")
def workers(kafka: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerGateway]:
    """Two of them."""
    with WorkerGateway(
        tmp_path_factory.mktemp("workers"),
        kafka.bootstrap,
        tenants=(ACME, GLOBEX, LIMITED),
        has_admin=True,
        limits=LIMITS,
        log_level="debug",
        proxy={"workers": 2, "watch_files_ms": 0},
    ) as gateway:
        yield gateway


@pytest.fixture(autouse=True)
def _alone(workers: WorkerGateway) -> None:
    """Wait until the connections of the test before are gone."""
    await_true(lambda: workers.connections() == [0, 0], "connections of the last test are open")


def is_served(client: RawClient) -> bool:
    return bool(client.request(MetadataRequest(topics=[]), 5).brokers)


class Busy(threading.Thread):
    """A client that never stops asking."""

    def __init__(self, client: RawClient, request: Message, version: int) -> None:
        super().__init__(daemon=True)
        self.client, self.is_over = client, False
        self._frames = b"".join(request_frame(request, version, one) for one in range(50))

    def run(self) -> None:
        while not self.is_over:
            self.client.send_bytes(self._frames)
            for _ in range(50):
                self.client.receive_frame()


HEARTBEAT = HeartbeatRequest(group_id="g", member_id="m")
ANSWERED_BY_THE_GATEWAY = ApiVersionsRequest(client_software_name="x", client_software_version="1")


def test_connections_are_shared_out_evenly(workers: WorkerGateway) -> None:
    with ExitStack() as stack:
        for _ in range(10):
            assert is_served(stack.enter_context(RawClient.authenticated(workers.broker_endpoint("acme"))))

        # On a busy machine one of them may have used a little more time than the other.
        assert sorted(workers.connections()) in ([5, 5], [4, 6])


def cpu_s(workers: WorkerGateway) -> list[float]:
    samples = workers.samples()
    return [samples["kafka_proxy_worker_cpu_seconds_total", str(number)] for number in WORKERS]


def test_who_has_much_to_do_is_given_less(workers: WorkerGateway) -> None:
    with ExitStack() as stack:

        def connect() -> RawClient:
            return stack.enter_context(RawClient.authenticated(workers.broker_endpoint("acme")))

        clients = [connect() for _ in range(4)]
        busy = workers.worker_of(clients[0])
        load = Busy(clients[0], ANSWERED_BY_THE_GATEWAY, 3)
        load.start()
        difference, deadline = 0.0, time.monotonic() + 40
        while difference < 0.25:
            assert time.monotonic() < deadline, "this machine is too busy for a load"
            before = cpu_s(workers)
            time.sleep(2)
            used = [after - one for after, one in zip(cpu_s(workers), before, strict=True)]
            difference = (used[busy] - used[1 - busy]) / 2

        went = [workers.worker_of(connect()) for _ in range(2)]
        load.is_over = True
        load.join(10)

    assert went == [1 - busy] * 2


def test_no_more_connections_than_there_may_be(workers: WorkerGateway) -> None:
    before = workers.samples()["kafka_proxy_connections_ended_total", "too_many_connections"]
    with ExitStack() as stack:
        clients = [
            stack.enter_context(RawClient.authenticated(workers.broker_endpoint("acme")))
            for _ in range(ALL_CONNECTIONS)
        ]
        for _ in range(5):
            with RawClient(workers.broker_endpoint("acme")) as one_too_many:
                assert one_too_many.receives_end()

        assert all(is_served(one) for one in clients)
        samples = workers.samples()
        assert samples["kafka_proxy_connections_ended_total", "too_many_connections"] == before + 5
        assert samples["kafka_proxy_active_client_connections", "acme"] == ALL_CONNECTIONS
        assert samples["kafka_proxy_active_broker_connections", "upstream"] == ALL_CONNECTIONS
        clients[0].close()
        await_true(lambda: sum(workers.connections()) == ALL_CONNECTIONS - 1, "one is gone")
        assert is_served(stack.enter_context(RawClient.authenticated(workers.broker_endpoint("acme"))))


def test_a_tenant_has_no_more_connections_than_it_may(workers: WorkerGateway) -> None:
    endpoint = workers.broker_endpoint("limited")
    for _ in range(5):
        found: list[RawClient] = []
        start = workers.mark()

        def connect() -> None:
            found.append(RawClient.authenticated(endpoint))  # noqa: B023

        threads = [threading.Thread(target=connect) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        time.sleep(0.2)
        served = []
        for client in found:
            try:
                served.append(is_served(client))
            except (EOFError, OSError):
                continue
            finally:
                client.close()
        ends = [workers.await_event(start, event="connection_ended", peer=client.address) for client in found]
        assert len(found) == 8
        assert served == [True] * TENANT_CONNECTIONS
        assert {end["worker"] for end in ends} == set(WORKERS)
        await_true(lambda: workers.connections() == [0, 0], "all are gone")


def test_a_tenant_has_no_more_requests_in_flight_than_it_may_and_all_come_through(
    workers: WorkerGateway,
) -> None:
    with ExitStack() as stack:
        loads = [
            Busy(
                stack.enter_context(closing(workers.client_at(number, workers.broker_endpoint("limited")))),
                HEARTBEAT,
                4,
            )
            for number in (0, 1)
        ]
        for load in loads:
            load.start()
        most = 0.0
        end = time.monotonic() + 3
        while time.monotonic() < end:
            most = max(most, workers.samples()["kafka_proxy_in_flight_requests", "limited"])
        for load in loads:
            load.is_over = True
        for load in loads:
            load.join(20)
            assert not load.is_alive()
    # Two workers may take the last place in the same moment.
    assert 0 < most <= IN_FLIGHT + 1
    assert workers.samples()["kafka_proxy_limits_hit_total", "max_in_flight_requests", "limited"] > 0
    assert workers.samples()["kafka_proxy_in_flight_requests", "limited"] == 0


def test_metrics_are_the_sums(workers: WorkerGateway) -> None:
    key = ("kafka_proxy_requests_total", "Heartbeat", "globex")
    before = workers.samples().get(key, 0)
    clients = [workers.client_at(number, workers.broker_endpoint("globex")) for number in WORKERS]

    for client in clients:
        for _ in range(7):
            client.request(HeartbeatRequest(group_id="g", member_id="m"), 4)

    samples = workers.samples()
    assert samples[key] == before + 14
    assert samples["kafka_proxy_request_duration_seconds_count", "Heartbeat", "globex"] == before + 14
    errors = [
        key for key in samples if key[:2] == ("kafka_proxy_errors_total", "Heartbeat") and key[-1] == "globex"
    ]
    assert {key[-2] for key in errors} == {"broker"}
    assert sum(samples[key] for key in errors) == before + 14
    assert samples["kafka_proxy_gateway_duration_seconds_count", "request", "globex"] >= 14
    assert samples["kafka_proxy_active_client_connections", "globex"] == 2
    assert [samples["kafka_proxy_worker_up", str(number)] for number in WORKERS] == [1, 1]
    assert samples["kafka_proxy_brokers", "upstream"] == 1
    assert samples["kafka_proxy_upstream_up", "upstream"] == 1
    assert samples["kafka_proxy_ready",] == 1
    assert samples["process_resident_memory_bytes",] > 60e6
    assert [ask(workers, path)[0] for path in ("/healthz", "/readyz")] == [200, 200]
    for client in clients:
        client.close()


def salt_of(endpoint: Endpoint, username: str) -> tuple[str, str]:
    """Return the connection's own address, and the salt that a user name is shown."""
    with RawClient(endpoint) as client:
        client.request(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
        first = ScramClient("SCRAM-SHA-256", username, "whatever").first()
        answer = client.request(SaslAuthenticateRequest(auth_bytes=first), 2)
        attributes = dict(part.split("=", 1) for part in answer.auth_bytes.decode().split(","))
        return client.address, attributes["s"]


@pytest.mark.parametrize("username", ["acme", "unknown", "limited"])
def test_a_user_has_one_salt_whether_it_exists_or_not(workers: WorkerGateway, username: str) -> None:
    salts = {salt_of(workers.broker_endpoint("acme"), username)[1] for _ in range(10)}

    assert len(salts) == 1


def _next(session_id: int, epoch: int) -> FetchRequest:
    return FetchRequest(min_bytes=0, session_id=session_id, session_epoch=epoch)


def test_a_fetch_session_is_its_tenants_in_all_workers(
    workers: WorkerGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("globex", "events")
    first = workers.client_at(0, workers.broker_endpoint("globex"))
    second = workers.client_at(1, workers.broker_endpoint("globex"))
    stranger = workers.client_at(1, workers.broker_endpoint("acme"))
    request = fetch_request("events", topic_id=topic_id_of(first, "events"), session_epoch=0)
    session_id = first.request(request, 12).session_id
    produce(first, "events", [b"for globex"])

    refused = stranger.request(_next(session_id, 1), 12)
    answered = second.request(_next(session_id, 1), 12)

    assert session_id > 0
    assert refused.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert answered.error_code == ErrorCode.NONE
    assert b"for globex" in bytes(answered.responses[0].partitions[0].records)
    for client in (first, second, stranger):
        client.close()


def test_a_reload_acts_in_all_workers(workers: WorkerGateway) -> None:
    def with_one_more(configuration: dict[str, Any]) -> None:
        user = configuration["tenants"][0]["auth"]["credentials"][0] | {"username": "new"}
        configuration["tenants"].append(
            {"name": "new", "auth": {"credentials": [user]}, "limits": {"max_connections": 2}}
        )

    def without(configuration: dict[str, Any]) -> None:
        configuration["tenants"] = [one for one in configuration["tenants"] if one["name"] != "new"]

    workers.apply(with_one_more)
    new = Endpoint(HOST, workers.broker_port(1), "new", ACME.password)
    clients = [workers.client_at(number, new) for number in WORKERS]
    staying = RawClient.authenticated(workers.broker_endpoint("acme"))
    assert all(is_served(client) for client in clients)
    with RawClient.authenticated(new) as one_too_many:
        assert one_too_many.receives_end()

    workers.apply(without)

    assert all(client.receives_end() for client in clients)
    assert is_served(staying)
    for client in (*clients, staying):
        client.close()


@pytest.mark.parametrize(
    ("key", "value", "says"),
    [
        ("workers", 3, "proxy.workers cannot change"),
        ("limits", {"max_connections": "many"}, "max_connections"),
    ],
)
def test_a_bad_configuration_is_refused_in_all(
    workers: WorkerGateway, key: str, value: object, says: str
) -> None:
    before = workers.path.read_text()
    workers.change(lambda configuration: configuration["proxy"].update({key: value}))

    done = workers.reload()

    workers.path.write_text(before)
    assert done.returncode == 1
    assert says in done.stderr
    for number in WORKERS:
        with closing(workers.client_at(number, workers.broker_endpoint("acme"))) as client:
            assert is_served(client)
    assert workers.reload().stdout == "unchanged: nothing has changed\n"
    # Or the end of the gateway would take the refusal for a bug.
    workers.log_file.write_text("")


def test_a_configuration_that_one_worker_cannot_take_is_taken_by_none(workers: WorkerGateway) -> None:
    """A new physical cluster where no broker answers is found out by the workers."""
    before = workers.path.read_text()

    def elsewhere(configuration: dict[str, Any]) -> None:
        configuration["upstream"]["bootstrap"] = [f"{HOST}:1"]

    workers.change(elsewhere)
    done = workers.reload()

    workers.path.write_text(before)
    assert done.returncode == 1
    assert f"{HOST}:1" in done.stderr
    assert done.stderr.count(f"{HOST}:1:") == 1, "all said the same, once"
    assert workers.reload().stdout == "unchanged: nothing has changed\n"
    workers.log_file.write_text("")
