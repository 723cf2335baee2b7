"""The gateway's own requests, with a broker that is played by the test."""

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.gateway.brokers import broker_client
from bifrost.gateway.brokers.broker_client import MAX_RESPONSE_BYTES, BrokerClient
from bifrost.gateway.brokers.login_pace import LoginPace
from bifrost.gateway.errors import BrokerError, LoginError, OtherMechanism
from bifrost.wire.own.own_request import encode_request
from support.stage import messages
from support.stage.fake_transport import framed
from support.stage.playbook import read_request, response_frame, split_frames

METADATA = messages.MetadataRequest(topics=[])


class Broker:
    """Answers each request with what `reply` gives for (correlation ID, request): bytes, or None to say nothing."""

    def __init__(self, reply: Callable[[int, Any], bytes | None]) -> None:
        self.reply = reply
        self.requests: list[Any] = []
        self.connections = 0
        self.closed = 0

    async def open(self, host: str, port: int) -> tuple[Any, Any]:
        assert (host, port) == ("kafka-1.internal", 9092)
        self.connections += 1
        self.reader = asyncio.StreamReader()
        return self.reader, self

    def write(self, data: bytes) -> None:
        (frame,) = split_frames(data)
        asked, request, client_id = read_request(frame)
        assert client_id == b"bifrost"
        self.requests.append((asked.api_version, request))
        answer = self.reply(asked.correlation_id, request)
        if answer is not None:
            self.reader.feed_data(answer)
        if answer == b"":
            self.reader.feed_eof()

    def close(self) -> None:
        self.closed += 1


def asked(
    monkeypatch: pytest.MonkeyPatch, broker: Broker, *requests: tuple[Any, int], timeout_ms: int = 1000
) -> list[Any]:
    """Ask a broker; give its answers, or the errors instead of them."""
    monkeypatch.setattr(asyncio, "open_connection", broker.open)
    results = []

    async def scenario() -> None:
        client = BrokerClient("kafka-1.internal", 9092, timeout_ms=timeout_ms)
        for message, version in requests:
            try:
                results.append(await client.request(message, version))
            except BrokerError as error:
                results.append(str(error))
        await client.close()

    asyncio.run(scenario())
    return results


def metadata_frame(correlation_id: int, version: int) -> bytes:
    return framed(response_frame(messages.MetadataResponse(controller_id=version), version, correlation_id))


@pytest.mark.parametrize("version", [1, 8, 9, 13])
def test_a_request_gets_its_answer(monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    broker = Broker(lambda number, _request: metadata_frame(number, version))

    (answer,) = asked(monkeypatch, broker, (METADATA, version))

    assert answer.controller_id == version
    assert broker.requests[0][0] == version


def test_one_connection_serves_many_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(lambda number, _request: metadata_frame(number, 9))

    answers = asked(monkeypatch, broker, *[(METADATA, 9)] * 3)

    assert len(answers) == 3
    assert (broker.connections, broker.closed) == (1, 1)


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (lambda _number, _request: b"", "the broker closed the connection; does security_protocol suit"),
        (
            lambda _number, _request: b"\x15\x03\x03\0\2\2\x46",
            "its listener speaks TLS: mend security_protocol",
        ),
        (lambda _number, _request: b"HTTP/1.1 400 Bad Request", "this is no Kafka broker"),
        (lambda _number, _request: bytes(4), "response length 0, this is no Kafka broker"),
        (lambda _number, _request: b"\xff\xff\xff\xff", "response length -1"),
        (lambda _number, _request: (MAX_RESPONSE_BYTES + 1).to_bytes(4, "big"), "no Kafka broker"),
        (lambda number, _request: metadata_frame(number + 1, 9), "an answer to another request"),
        (lambda number, _request: framed(metadata_frame(number, 9)[4:-1]), "at byte"),
        (lambda _number, _request: None, "no answer within 50 ms"),
    ],
)
def test_an_answer_that_is_none_closes_the_connection_and_the_next_request_makes_another(
    monkeypatch: pytest.MonkeyPatch, reply: Any, problem: str
) -> None:
    broker = Broker(reply)

    answers = asked(monkeypatch, broker, (METADATA, 9), (METADATA, 9), timeout_ms=50)

    assert [answer.startswith("kafka-1.internal:9092: ") and problem in answer for answer in answers] == [
        True,
        True,
    ]
    assert (broker.connections, broker.closed) == (2, 2)


def test_a_broker_that_cannot_be_connected_to_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(lambda _number, _request: None)

    async def refuse(_host: str, _port: int) -> Any:
        raise ConnectionRefusedError(111, "Connection refused")

    broker.open = refuse  # type: ignore[method-assign]

    assert asked(monkeypatch, broker, (METADATA, 9)) == [
        "kafka-1.internal:9092: [Errno 111] Connection refused"
    ]


def test_an_answer_to_an_unknown_version_of_api_versions_is_in_version_0(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = messages.ApiVersionsResponse(error_code=35, api_keys=[{"api_key": 18, "max_version": 3}])
    broker = Broker(lambda number, _request: framed(response_frame(answer, 0, number)))
    request = messages.ApiVersionsRequest(client_software_name="bifrost", client_software_version="0")

    (found,) = asked(monkeypatch, broker, (request, 4))

    assert (found.error_code, found.api_keys[0].max_version) == (35, 3)


def test_who_is_cancelled_leaves_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(lambda _number, _request: None)
    monkeypatch.setattr(asyncio, "open_connection", broker.open)

    async def scenario() -> None:
        client = BrokerClient("kafka-1.internal", 9092, timeout_ms=1000)
        task = asyncio.create_task(client.request(METADATA, 9))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(scenario())
    assert broker.closed == 1


class Login:
    """Stands for the gateway's own account: takes note of when it is asked, and fails once told so."""

    def __init__(self, renew_after_ms: int | None = None) -> None:
        self.pace = LoginPace(lambda: 0)
        self.renew_after_ms = renew_after_ms
        self.hosts: list[tuple[str, str]] = []
        self.fails = False
        self.other_mechanisms = 0
        """How many times in a row the broker offers another mechanism than the one that is tried."""

    async def log_in(self, ask: Any, host: str, address: str, deadline: float) -> int | None:
        assert deadline > asyncio.get_running_loop().time()
        self.hosts.append((host, address))
        if self.fails:
            raise LoginError(f"{address}: refused")
        if self.other_mechanisms:
            self.other_mechanisms -= 1
            raise OtherMechanism(f"{address}: another mechanism")
        assert (await ask(encode_request(METADATA, 9, 1))).startswith(b"\0\0\0\1")
        return self.renew_after_ms


def logged_in(monkeypatch: pytest.MonkeyPatch, login: Login, requests: int) -> tuple[Broker, list[Any]]:
    broker = Broker(lambda number, _request: metadata_frame(number, 9))
    results: list[Any] = []

    async def open_connection(host: str, port: int, **options: Any) -> Any:
        assert options == {"ssl": "context", "server_hostname": host}
        return await broker.open(host, port)

    monkeypatch.setattr(asyncio, "open_connection", open_connection)

    async def connect_options(host: str) -> dict[str, Any]:
        return {"ssl": "context", "server_hostname": host}

    security = SimpleNamespace(own=login, connect_options=connect_options)

    async def scenario() -> None:
        client = BrokerClient("kafka-1.internal", 9092, timeout_ms=50, security=security)  # type: ignore[arg-type]
        for _ in range(requests):
            try:
                results.append(await client.request(METADATA, 9))
            except BrokerError as error:
                results.append(error)
        await client.close()

    asyncio.run(scenario())
    return broker, results


def test_it_logs_in_once_before_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    login = Login()

    broker, answers = logged_in(monkeypatch, login, 3)

    assert [answer.controller_id for answer in answers] == [9, 9, 9]
    assert login.hosts == [("kafka-1.internal", "kafka-1.internal:9092")]
    assert (len(broker.requests), broker.connections) == (4, 1)


def test_a_login_that_ends_is_renewed_between_two_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    login = Login(renew_after_ms=0)

    broker, answers = logged_in(monkeypatch, login, 3)

    assert [answer.controller_id for answer in answers] == [9, 9, 9]
    assert len(login.hosts) == 3
    assert (broker.connections, broker.closed) == (1, 1)


def test_a_login_that_is_refused_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    login = Login()
    login.fails = True

    broker, (error,) = logged_in(monkeypatch, login, 1)

    assert isinstance(error, LoginError)
    assert (broker.requests, broker.closed) == ([], 1)
    assert login.pace.has_failed


def test_a_broker_with_another_mechanism_is_asked_by_a_second_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    login = Login()
    login.other_mechanisms = 1

    broker, (answer,) = logged_in(monkeypatch, login, 1)

    assert answer.controller_id == 9
    assert (broker.connections, broker.closed) == (2, 2)
    assert not login.pace.has_failed


def test_a_broker_that_wants_another_mechanism_each_time_has_refused_the_login(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    login = Login()
    login.other_mechanisms = 2

    broker, (error,) = logged_in(monkeypatch, login, 1)

    assert isinstance(error, LoginError)
    assert (broker.connections, broker.closed) == (2, 2)
    assert login.pace.has_failed


def test_a_large_answer_is_decoded_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads = []
    decode = broker_client.decode_response

    def noting(*arguments: Any) -> Any:
        threads.append(threading.current_thread() is threading.main_thread())
        return decode(*arguments)

    def reply(number: int, request: Any) -> bytes:
        topics = [{"name": f"topic-{one}", "partitions": []} for one in range(2000 if number == 1 else 2)]
        return framed(response_frame(messages.MetadataResponse(topics=topics), 8, number))

    monkeypatch.setattr(broker_client, "decode_response", noting)
    large, small = asked(monkeypatch, Broker(reply), (METADATA, 8), (METADATA, 8))

    assert (len(large.topics), len(small.topics)) == (2000, 2)
    assert threads == [False, True]
