"""Whatever comes instead of Kafka's protocol: one clear log line, a closed connection, no other client disturbed."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    HeartbeatRequest,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, request_frame
from support.clients.raw_operations import produce, produce_request, records_of
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import FreshTopic, StartGateway
from support.gateways.gateway_process import GatewayProcess

BEFORE_AUTHENTICATION_BYTES = (16 + 8) * 1024
"""What a frame may have, and what a PLAIN token may have besides."""
REQUEST_BYTES = 100 * 1024 * 1024
TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(range(190))

STRANGERS = {
    "zeros": (bytes(64), "frame_too_large"),
    "ones": (b"\xff" * 64, "frame_too_large"),
    "length 0": (bytes(4), "frame_too_large"),
    "length -1": (b"\xff" * 4, "frame_too_large"),
    "length of int32": (b"\x7f\xff\xff\xff", "frame_too_large"),
    "one byte too long": ((BEFORE_AUTHENTICATION_BYTES + 1).to_bytes(4, "big"), "frame_too_large"),
    "header too short": (b"\0\0\0\3abc", "malformed"),
    "negative length of the client ID": (b"\0\0\0\x0a\0\x12\0\0\0\0\0\1\x80\0", "malformed"),
    "TLS": (TLS_HELLO, "tls_on_plaintext"),
    "HTTP": (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "http"),
    "HTTP post": (b"POST /topics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc", "http"),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "http"),
    "text": (b"hello, is this a broker?\n", "frame_too_large"),
    "terminal's escape codes": (b"\x1b[2J\x1b[31mred\n" * 4, "frame_too_large"),
}


@pytest.fixture
def neighbour(acme: Endpoint, fresh_topic: FreshTopic) -> Iterator[RawClient]:
    """Another client, in the middle of its work before and after."""
    fresh_topic("acme", "orders")
    with RawClient.authenticated(acme) as client:
        assert produce(client, "orders", [b"before"]) == 0
        yield client
        assert produce(client, "orders", [b"after"]) == 1


@pytest.mark.parametrize("name", STRANGERS)
def test_stranger_is_closed_with_one_log_line(
    name: str, acme: Endpoint, gateway: GatewayProcess, neighbour: RawClient
) -> None:
    sent, reason = STRANGERS[name]
    with RawClient(acme) as stranger:
        since = gateway.mark()
        stranger.send_bytes(sent)

        assert stranger.receives_end()
    ended = gateway.await_event(since, event="connection_ended", peer=stranger.address)
    lines = [event for event in gateway.events(since) if stranger.address in str(event)]
    assert len(lines) == 1
    assert ended["reason"] == reason
    assert ended["detail"]
    assert gateway.log().isascii()
    assert "\x1b" not in gateway.log()
    assert records_of(neighbour, "orders").count(b"before") == 1


def test_real_tls_client_is_told_by_the_log(
    acme: Endpoint, gateway: GatewayProcess, neighbour: RawClient
) -> None:
    context = ssl.create_default_context()
    since = gateway.mark()
    with RawClient(acme) as client:
        address = client.address
        with pytest.raises((ssl.SSLError, ConnectionError)):
            context.wrap_socket(client.socket, server_hostname="localhost")

    ended = gateway.await_event(since, event="connection_ended", peer=address)
    assert ended["reason"] == "tls_on_plaintext"
    assert "SASL_PLAINTEXT" in ended["detail"]


def test_real_http_client_is_told_by_the_log(
    acme: Endpoint, gateway: GatewayProcess, neighbour: RawClient
) -> None:
    since = gateway.mark()
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(f"http://{acme.bootstrap}/", timeout=10)

    assert gateway.await_event(since, event="connection_ended", reason="http")["detail"]


def test_frame_of_the_largest_size_before_authentication_is_read(acme: Endpoint) -> None:
    """A token of that size is wrong, not too large."""
    with RawClient(acme) as client:
        client.request(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        head = len(request_frame(SaslAuthenticateRequest(auth_bytes=b""), 1, 1)) - 4
        token = bytes(BEFORE_AUTHENTICATION_BYTES - head)

        answer = client.request(SaslAuthenticateRequest(auth_bytes=token), 1)

    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED


@pytest.mark.parametrize(
    ("length", "reason"),
    [
        (0, "frame_too_large"),
        (-1, "frame_too_large"),
        (REQUEST_BYTES + 1, "frame_too_large"),
        (2**31 - 1, "frame_too_large"),
    ],
)
def test_bad_length_after_authentication_closes(
    length: int, reason: str, acme: Endpoint, gateway: GatewayProcess, neighbour: RawClient
) -> None:
    with RawClient.authenticated(acme) as client:
        since = gateway.mark()
        client.send_bytes(length.to_bytes(4, "big", signed=True) + bytes(100))

        assert client.receives_end()
        ended = gateway.await_event(since, event="connection_ended", peer=client.address)
    assert (ended["reason"], ended["tenant"]) == (reason, "acme")


def test_what_came_before_a_bad_frame_is_answered_or_closed_in_order(acme: Endpoint) -> None:
    with RawClient.authenticated(acme) as client:
        good = request_frame(MetadataRequest(topics=[]), 9, 1)
        client.send_bytes(good + b"\xff" * 8)

        assert client.receives_end() or int.from_bytes(client.receive_frame()[:4], "big") == 1


def test_request_with_something_behind_its_body_closes(
    acme: Endpoint, gateway: GatewayProcess, neighbour: RawClient
) -> None:
    with RawClient.authenticated(acme) as client:
        since = gateway.mark()
        sound = request_frame(HeartbeatRequest(group_id="g", member_id="m"), 4, 1)

        client.send_bytes((len(sound) - 4 + 1).to_bytes(4, "big") + sound[4:] + b"\0")

        assert client.receives_end()
        ended = gateway.await_event(since, event="connection_ended", peer=client.address)
    assert ended["reason"] == "malformed"
    assert "goes on behind its body" in ended["detail"]


@pytest.mark.parametrize("api_key", [ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.METADATA, ApiKey.CREATE_TOPICS])
def test_body_that_does_not_parse_closes(
    api_key: ApiKey, acme: Endpoint, gateway: GatewayProcess, neighbour: RawClient
) -> None:
    with RawClient.authenticated(acme) as client:
        version = client.newest(api_key)
        since = gateway.mark()
        body = (
            int(api_key).to_bytes(2, "big")
            + version.to_bytes(2, "big")
            + b"\0\0\0\7\xff\xff\0"
            + b"\xff" * 50
        )

        client.send_bytes(len(body).to_bytes(4, "big") + body)

        assert client.receives_end()
        ended = gateway.await_event(since, event="connection_ended", peer=client.address)
    assert ended["reason"] == "malformed"


def test_limits_of_sizes_are_those_configured(start_gateway: StartGateway, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")
    gateway = start_gateway(limits={"max_request_bytes": 4096, "max_unauthenticated_frame_bytes": 1024})
    with RawClient.authenticated(gateway.endpoint("acme")) as client:
        fits = produce_request("orders", build_batch([bytes(3500)]))
        assert client.request(fits, 12).responses[0].partition_responses[0].error_code == ErrorCode.NONE

        client.send(produce_request("orders", build_batch([bytes(5000)])), 12)

        assert client.receives_end()
        ended = gateway.await_event(0, event="connection_ended", peer=client.address)
    assert ended["reason"] == "frame_too_large"
    with RawClient(gateway.endpoint("acme")) as client:
        client.send_bytes((1025).to_bytes(4, "big"))
        assert client.receives_end()


def test_connection_cut_in_the_middle_of_a_frame_is_quiet(
    acme: Endpoint, gateway: GatewayProcess, neighbour: RawClient
) -> None:
    """A client that dies is everyday's: no warning is worth it."""
    since = gateway.mark()
    for sent in (b"", b"\0", b"\0\0\1\0\0\3"):
        with RawClient(acme) as client:
            client.send_bytes(sent)
        with RawClient.authenticated(acme) as client:
            client.send_bytes(sent)
    with RawClient.authenticated(acme) as client:
        client.request(MetadataRequest(topics=[]), 9)

    assert gateway.events(since) == []
