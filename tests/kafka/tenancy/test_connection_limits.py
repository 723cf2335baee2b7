"""Everything has a limit, and answers keep their order within it."""

from __future__ import annotations

import time

import psutil

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import ApiVersionsRequest, MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, decode_response, request_frame
from support.clients.raw_operations import fetch_request, metadata_of, produce, produce_request
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import FreshTopic, StartGateway

MIB = 1024 * 1024


def _mixed(count: int) -> list[tuple[Message, int]]:
    """Requests that the broker answers, that the gateway answers, that are decoded and that are rewritten."""
    metadata = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="orders")])
    versions = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    kinds: list[tuple[Message, int]] = [
        (metadata, 9),
        (versions, 3),
        (fetch_request("orders"), 11),
        (versions, 99),
        (produce_request("orders", build_batch([b"x"])), 9),
        (fetch_request("orders", session_id=123_456, session_epoch=4), 11),
    ]
    return [kinds[number % len(kinds)] for number in range(count)]


def test_more_than_the_limit_pipelined_is_answered_in_order(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    gateway = start_gateway(limits={"max_in_flight_requests": 4})
    with RawClient.authenticated(gateway.endpoint("acme")) as client:
        sent = []
        stream = b""
        for message, version in _mixed(240):
            correlation_id = client.next_correlation_id()
            known = 3 if version == 99 else version
            frame = request_frame(message, known, correlation_id)
            stream += frame[:6] + version.to_bytes(2, "big") + frame[8:]
            sent.append((correlation_id, message.SCHEMA.api_key, version))

        client.send_bytes(stream)
        frames = [client.receive_frame() for _ in sent]

    assert [int.from_bytes(frame[:4], "big") for frame in frames] == [one for one, _key, _version in sent]
    by_api: dict[tuple[int | None, int], set[int]] = {}
    for frame, (_id, api_key, version) in zip(frames, sent, strict=True):
        answer = decode_response(api_key or 0, 0 if version == 99 else version, frame)
        codes = by_api.setdefault((api_key, version), set())
        codes.add(getattr(answer, "error_code", 0))
        if api_key == ApiKey.PRODUCE:
            codes.add(answer.responses[0].partition_responses[0].error_code)
    assert by_api == {
        (ApiKey.METADATA, 9): {ErrorCode.NONE},
        (ApiKey.API_VERSIONS, 3): {ErrorCode.NONE},
        (ApiKey.API_VERSIONS, 99): {ErrorCode.UNSUPPORTED_VERSION},
        (ApiKey.FETCH, 11): {ErrorCode.NONE, ErrorCode.FETCH_SESSION_ID_NOT_FOUND},
        (ApiKey.PRODUCE, 9): {ErrorCode.NONE},
    }


def _send_until_full(client: RawClient, frame: bytes, at_most: int) -> int:
    """Send a frame again and again until no more is taken; return the bytes taken."""
    client.socket.settimeout(1.0)
    taken = 0
    view = memoryview(frame)
    offset = 0
    while taken < at_most:
        try:
            sent = client.socket.send(view[offset:])
        except TimeoutError:
            break
        taken += sent
        offset = (offset + sent) % len(frame)
    return taken


def test_client_is_not_read_while_too_much_is_unanswered(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    """Behind a request that waits, others pile up in the kernel's buffers, not in the gateway."""
    fresh_topic("acme", "orders")
    gateway = start_gateway(limits={"max_in_flight_requests": 2})
    process = psutil.Process(gateway.pid)
    with RawClient.authenticated(gateway.endpoint("acme")) as client:
        before = process.memory_info().rss
        waiting = fetch_request("orders", max_wait_ms=8000)
        waiting.min_bytes = MIB
        client.send(waiting, 11)
        frame = request_frame(produce_request("orders", build_batch([bytes(200_000)])), 9, 5)

        taken = _send_until_full(client, frame, at_most=200 * MIB)

        assert taken < 100 * MIB
        assert process.memory_info().rss - before < 30 * MIB


def test_broker_is_not_read_while_the_client_does_not(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    gateway = start_gateway()
    process = psutil.Process(gateway.pid)
    with RawClient.authenticated(gateway.endpoint("acme")) as client:
        for _ in range(8):
            produce(client, "orders", [bytes(900_000)])
        request = fetch_request("orders")
        request.max_bytes = request.topics[0].partitions[0].partition_max_bytes = 8 * MIB
        before = process.memory_info().rss
        sent = [client.send(request, 11) for _ in range(60)]
        time.sleep(1.5)

        growth = process.memory_info().rss - before
        received = [client.receive_frame() for _ in sent]

    assert [int.from_bytes(frame[:4], "big") for frame in received] == sent
    assert sum(map(len, received)) > 400 * MIB
    assert growth < 60 * MIB


def test_connections_beyond_the_limit_are_closed_until_one_is_free(start_gateway: StartGateway) -> None:
    gateway = start_gateway(limits={"max_connections": 3})
    endpoint = gateway.endpoint("acme")
    clients = [RawClient.authenticated(endpoint) for _ in range(3)]

    with RawClient(endpoint) as one_too_many:
        assert one_too_many.receives_end()
        ended = gateway.await_event(0, event="connection_ended", peer=one_too_many.address)
    assert ended["reason"] == "too_many_connections"
    assert "3" in ended["detail"]

    clients[0].close()
    deadline = time.monotonic() + 10
    while not _is_admitted(endpoint):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert clients[1].request(MetadataRequest(topics=[]), 9).brokers != []
    for client in clients:
        client.close()


def test_idle_connections_are_closed_and_those_that_wait_are_not(
    start_gateway: StartGateway, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    gateway = start_gateway(limits={"max_idle_ms": 1000}, log_level="debug")
    with (
        RawClient.authenticated(gateway.endpoint("acme")) as idle,
        RawClient.authenticated(gateway.endpoint("acme")) as waiting,
        RawClient.authenticated(gateway.endpoint("acme")) as busy,
    ):
        request = fetch_request("orders", max_wait_ms=3000)
        request.min_bytes = MIB
        sent = waiting.send(request, 11)
        deadline = time.monotonic() + 2.5
        while time.monotonic() < deadline:
            busy.request(MetadataRequest(topics=[]), 9)
            time.sleep(0.1)

        assert idle.socket.recv(1) == b""
        assert int.from_bytes(waiting.receive_frame()[:4], "big") == sent
        ended = gateway.await_event(0, event="connection_ended", peer=idle.address)
        assert (ended["reason"], ended["level"]) == ("idle", "debug")
        assert busy.socket.recv(1) == b""


def _is_admitted(endpoint: Endpoint) -> bool:
    try:
        with RawClient.authenticated(endpoint):
            return True
    except (EOFError, ConnectionError):
        return False


def test_produce_without_an_answer_keeps_the_order_of_the_others(
    acme: Endpoint, fresh_topic: FreshTopic
) -> None:
    topic_id = fresh_topic("acme", "orders")
    with RawClient.authenticated(acme) as client:
        sent = []
        for number, version in enumerate((3, 5, 8, 9, 12, 13) * 5):
            request = produce_request(
                "orders", build_batch([f"unanswered {number}".encode()]), acks=0, topic_id=topic_id
            )
            client.send(request, version)
            sent.append(client.send(MetadataRequest(topics=[]), 9))
            answered = produce_request("orders", build_batch([b"answered"]), topic_id=topic_id)
            sent.append(client.send(answered, version))

        received = [client.receive_frame() for _ in sent]

        assert [int.from_bytes(frame[:4], "big") for frame in received] == sent
        last = decode_response(ApiKey.PRODUCE, 13, received[-1])
        assert last.responses[0].partition_responses[0].base_offset == 59
        assert metadata_of(client, "orders")[0].error_code == ErrorCode.NONE


def test_failed_produce_without_an_answer_closes_as_at_a_broker(acme: Endpoint) -> None:
    """It is the only way a broker can say it."""
    with RawClient.authenticated(acme) as client:
        client.send(produce_request("users", build_batch([b"x"]), acks=0), 9)

        assert client.receives_end()
