"""How a gateway stops: what is in flight is answered, nothing else is begun, and no answer is lost on the way."""

from __future__ import annotations

import select
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, decode_response, request_frame
from support.clients.raw_operations import fetch_request, produce, produce_request, records_of
from support.clients.record_batches import build_batch
from support.gateways.admin_port import ask
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import HOST, GatewayProcess
from support.identity.certificates import Authority
from support.physical_names import physical_name

LONG_POLL_MS = 4000


@pytest.fixture
def start(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[StartGateway]:
    """Start a gateway that the test itself ends."""
    with ExitStack() as stack:

        def start(first: GatewayProcess | None = None, **options: object) -> GatewayProcess:
            directory = tmp_path / ("first" if first is None else "second")
            directory.mkdir()
            process = GatewayProcess(directory, kafka.bootstrap, **options)  # type: ignore[arg-type]
            stack.callback(process.kill)
            if first is None:
                process.start()
            else:
                process.start_second(first)
            return process

        yield start


def long_poll(client: RawClient) -> int:
    """Ask for records that do not come; the broker waits with its answer."""
    deadline = time.monotonic() + 20
    # A topic that has just been made may not have its leader yet, which the broker says at once.
    while client.request(fetch_request("orders", max_wait_ms=0), 11).responses[0].partitions[0].error_code:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    request = fetch_request("orders", max_wait_ms=LONG_POLL_MS)
    request.min_bytes = 1 << 20
    return client.send(request, 11)


def receive_all(client: RawClient) -> tuple[list[int], str]:
    """Return the correlation IDs of all answers, and how the connection ended."""
    received = []
    while True:
        try:
            received.append(int.from_bytes(client.receive_frame()[:4], "big"))
        except EOFError as error:
            return received, str(error)


def readiness(gateway: GatewayProcess) -> int:
    return ask(gateway, "/readyz")[0]


def refuses(endpoint: Endpoint) -> bool:
    try:
        socket.create_connection((endpoint.host, endpoint.port), 5).close()
    except OSError:
        return True
    return False


def await_drain(gateway: GatewayProcess) -> None:
    gateway.terminate()
    gateway.await_event(0, event="draining")


def test_what_is_in_flight_is_answered_and_no_unread_byte_destroys_it(
    start: StartGateway, fresh_topic: FreshTopic, direct: RawClient
) -> None:
    fresh_topic("acme", "orders")
    gateway = start(has_admin=True)
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        idle = RawClient.authenticated(gateway.broker_endpoint("acme"))
        waiting = long_poll(client)
        time.sleep(0.2)
        began = time.monotonic()
        await_drain(gateway)
        assert readiness(gateway) == 503
        assert refuses(gateway.endpoint("acme"))
        assert idle.receives_end()
        assert time.monotonic() - began < LONG_POLL_MS / 1000 - 0.3
        # What comes from now on is not begun, and stands unread when the connection ends.
        time.sleep(0.1)
        late = request_frame(produce_request("orders", build_batch([bytes(300_000)])), 9, 77)
        client.socket.settimeout(20)
        client.send_bytes(late[: len(late) // 2])

        frame = client.receive_frame()

        assert int.from_bytes(frame[:4], "big") == waiting
        assert decode_response(ApiKey.FETCH, 11, frame).responses[0].partitions[0].error_code == 0
        assert client.socket.recv(1) == b"", "an end in order, no reset"
        client.send_bytes(late[len(late) // 2 :])
        time.sleep(0.1)
        assert client.socket.recv(1) == b""
    gateway.await_end()
    idle.close()
    drained = gateway.await_event(0, event="drained")
    assert (drained["drained"], drained["cut"]) == (2, 0)
    assert records_of(direct, physical_name("acme", "orders")) == b""


def test_pipelined_requests_are_answered_as_far_as_they_were_sent_on(
    start: StartGateway, fresh_topic: FreshTopic, direct: RawClient
) -> None:
    """A client that does not wait has more under way than was begun: the answers are a prefix of the requests."""
    fresh_topic("acme", "orders")
    gateway = start(limits={"max_in_flight_requests": 3})
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        first = long_poll(client)
        sent = [first] + [
            client.send(produce_request("orders", build_batch([b"x" * 20_000])), 9) for _ in range(100)
        ]
        time.sleep(0.2)
        gateway.terminate()
        answered, end = receive_all(client)
    assert end == "closed"
    gateway.await_end()
    assert answered == sent[: len(answered)]
    assert 1 <= len(answered) <= 3
    records = records_of(direct, physical_name("acme", "orders"))
    assert len(records) // 20_000 == len(answered) - 1


def test_a_gateway_that_stops_waits_for_the_rest_of_a_request(
    start: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    gateway = start()
    batch = build_batch([bytes(900_000)])
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        produce(client, "orders", [b"the first takes the long way"])
        version, correlation_id = client.at_most(ApiKey.PRODUCE, 12), client.next_correlation_id()
        frame = request_frame(produce_request("orders", batch), version, correlation_id)
        client.send_bytes(frame[:450_000])
        time.sleep(0.2)
        gateway.terminate()
        time.sleep(0.3)
        client.send_bytes(frame[450_000:])
        response = client.receive(ApiKey.PRODUCE, version, correlation_id)

        assert response.responses[0].partition_responses[0].base_offset == 1
        assert client.receives_end()
    gateway.await_end()


def test_over_tls_answers_come_before_the_end_as_well(
    start: StartGateway, fresh_topic: FreshTopic, tmp_path: Path
) -> None:
    fresh_topic("acme", "orders")
    authority = Authority("CA")
    server = authority.server(HOST).write(tmp_path, "server")
    tls = {"certificate_file": str(server.certificate), "key_file": str(server.key)}
    gateway = start(listener={"security_protocol": "SASL_SSL", "tls": tls})
    context = ssl.create_default_context(cafile=authority.write(tmp_path / "ca.pem"))
    with (
        RawClient.authenticated(gateway.broker_endpoint("acme"), context=context) as client,
        RawClient.authenticated(gateway.broker_endpoint("acme"), context=context) as idle,
    ):
        first = long_poll(client)
        sent = [first] + [
            client.send(produce_request("orders", build_batch([b"x" * 20_000])), 9) for _ in range(50)
        ]
        time.sleep(0.3)
        gateway.terminate()
        assert idle.socket.recv(1) == b""
        answered, end = receive_all(client)
    gateway.await_end()
    assert end == "closed"
    assert answered == sent[: len(answered)]
    assert len(answered) >= 1
    assert gateway.await_event(0, event="drained")["cut"] == 0


def test_after_the_time_out_what_is_left_is_cut(start: StartGateway, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")
    gateway = start(limits={"drain_timeout_ms": 300})
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        long_poll(client)
        time.sleep(0.2)
        gateway.terminate()
        assert client.receives_end(1.2)
    gateway.await_end()
    drained = gateway.await_event(0, event="drained")
    assert drained["cut"] == 1
    assert gateway.events()[-1]["ends"]["shutdown"] == 1


def test_a_second_signal_ends_at_once(start: StartGateway, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")
    gateway = start(limits={"drain_timeout_ms": 60_000})
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        long_poll(client)
        await_drain(gateway)
        gateway.terminate()
        assert client.receives_end(1.0)
    gateway.await_end()
    assert gateway.await_event(0, event="drained")["cut"] == 1


def test_many_idle_clients_are_not_sent_away_in_one_moment(start: StartGateway) -> None:
    gateway = start()
    clients = [RawClient.authenticated(gateway.broker_endpoint("acme")) for _ in range(100)]
    gateway.terminate()
    ends = []
    while clients:
        readable, _, _ = select.select([client.socket for client in clients], [], [], 10)
        assert readable
        ends.append(time.monotonic())
        for client in [one for one in clients if one.socket in readable]:
            assert client.socket.recv(1) == b""
            client.close()
            clients.remove(client)
    gateway.await_end()
    assert ends[-1] - ends[0] > 0.05
    assert gateway.await_event(0, event="drained")["drained"] == 100


def test_a_second_gateway_takes_the_ports_over(start: StartGateway) -> None:
    first = start(has_admin=True)
    second = start(first, has_admin=True)
    shared = [event["listener"] for event in second.events() if event["event"] == "port_shared"]
    assert shared == ["admin", "listener plaintext", "listener plaintext"]

    first.stop()

    for _ in range(20):
        with RawClient.authenticated(first.broker_endpoint("acme")) as client:
            assert client.request(MetadataRequest(topics=[]), 9).brokers != []
    assert readiness(second) == 200
    second.stop()


def test_the_port_of_another_program_is_not_shared(start: StartGateway) -> None:
    first = start()
    first.stop()
    with (
        socket.create_server((HOST, first.bootstrap_port)),
        pytest.raises(AssertionError, match="did not start") as caught,
    ):
        start(first)

    assert f"port {first.bootstrap_port} on {HOST} is in use: end the program that listens there" in str(
        caught.value
    )
