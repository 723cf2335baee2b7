import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bifrost.gateway.brokers.broker_connection import (
    MAX_RESPONSE_BYTES,
    BrokerConnection,
    connect,
    renew_login,
)
from bifrost.gateway.brokers.broker_login import MAX_LOGIN_FRAME_BYTES
from bifrost.gateway.brokers.login_pace import LoginPace
from bifrost.gateway.errors import BrokerError, LoginError, OtherMechanism
from bifrost.session.close_reason import CloseReason
from support.stage.fake_transport import FakeTransport, framed, receive


class Client:
    """Takes note of what its broker side tells it."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.ends: list[tuple[CloseReason, str]] = []
        self.updates = 0
        self.logins_due = 0

    def broker_login_due(self) -> None:
        self.logins_due += 1

    def broker_bytes_received(self, framer, nbytes: int) -> None:
        self.frames += map(bytes, framer.buffer_updated(nbytes))

    def update_reading(self) -> None:
        self.updates += 1

    def end(self, reason: CloseReason, detail: str) -> None:
        self.ends.append((reason, detail))


@pytest.fixture
def client() -> Client:
    return Client()


@pytest.fixture
def broker(client: Client) -> BrokerConnection:
    broker = BrokerConnection(client)  # type: ignore[arg-type]
    broker.connection_made(FakeTransport())
    return broker


def test_what_comes_is_handed_to_the_client_in_frames(client: Client, broker: BrokerConnection) -> None:
    stream = framed(b"one", b"two" * 5000, b"three")

    receive(broker, stream[:5])
    receive(broker, stream[5:])

    assert client.frames == [b"one", b"two" * 5000, b"three"]


def test_it_tells_when_the_broker_does_not_read(client: Client, broker: BrokerConnection) -> None:
    broker.pause_writing()
    assert (broker.is_write_paused, client.updates) == (True, 1)

    broker.resume_writing()

    assert (broker.is_write_paused, client.updates) == (False, 2)


@pytest.mark.parametrize(
    ("error", "detail"),
    [
        (None, "the broker closed the connection"),
        (
            ConnectionResetError(104, "Connection reset by peer"),
            "ConnectionResetError: [Errno 104] Connection reset by peer",
        ),
    ],
)
def test_its_end_is_the_clients(client: Client, broker: BrokerConnection, error, detail: str) -> None:
    assert broker.eof_received() is False

    broker.connection_lost(error)

    assert client.ends == [(CloseReason.BROKER_CLOSED, detail)]
    assert broker.transport is None


def test_an_answer_has_a_largest_size(broker: BrokerConnection) -> None:
    assert broker.framer.max_frame_bytes == MAX_RESPONSE_BYTES


BROKER = SimpleNamespace(
    node_id=1, host="kafka-1", port=9092, offered=SimpleNamespace(broker_response="versions")
)
ADDRESS = "broker 1 at kafka-1:9092"


async def without_tls() -> None:
    """Return no context, as `BrokerSecurity.tls_context` does for PLAINTEXT."""


SECURITY = SimpleNamespace(tls_context=without_tls)


class Login:
    """An account whose exchange is one question, or what it is told."""

    def __init__(self, renew_after_ms: int | None = None, error: Exception | None = None) -> None:
        self.pace = LoginPace(lambda: 0)
        self.renew_after_ms, self.error = renew_after_ms, error
        self.answers: list[bytes] = []

    async def log_in(self, ask: Any, host: str, address: str, deadline: float, versions: Any) -> int | None:
        assert (host, address, versions) == ("kafka-1", ADDRESS, "versions")
        async with asyncio.timeout_at(deadline):
            self.answers.append(await ask(framed(b"a token")))
        if self.error is not None:
            raise self.error
        return self.renew_after_ms


def played(
    monkeypatch: pytest.MonkeyPatch,
    client: Client,
    login: Login | None,
    scenario: Callable[[BrokerConnection, asyncio.Task[BrokerConnection]], Awaitable[None]],
    timeout_ms: int = 1000,
) -> None:
    """Play a scenario while a connection is being made, up to where the broker's answer is awaited."""
    made: list[BrokerConnection] = []

    async def create_connection(_loop: Any, factory: Any, host: str, port: int) -> Any:
        assert (host, port) == ("kafka-1", 9092)
        made.append(factory())
        made[0].connection_made(FakeTransport())
        return made[0].transport, made[0]

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", create_connection)

    async def run() -> None:
        making = asyncio.create_task(connect(client, BROKER, SECURITY, login, timeout_ms))  # type: ignore[arg-type]
        await asyncio.sleep(0.001)
        await scenario(made[0], making)
        await asyncio.wait([making])

    asyncio.run(run())


async def failed(making: asyncio.Task[BrokerConnection]) -> BaseException:
    with pytest.raises(BrokerError) as caught:
        await making
    return caught.value


def test_without_an_account_it_is_open_at_once(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    async def scenario(broker: BrokerConnection, making: asyncio.Task[BrokerConnection]) -> None:
        assert await making is broker
        receive(broker, framed(b"an answer"))

        assert client.frames == [b"an answer"]

    played(monkeypatch, client, None, scenario)


def test_what_comes_during_a_login_is_the_login_s_alone(
    monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    login = Login()

    async def scenario(broker: BrokerConnection, making: asyncio.Task[BrokerConnection]) -> None:
        assert broker.framer.max_frame_bytes == MAX_LOGIN_FRAME_BYTES
        assert broker.transport.take_frames() == [b"a token"]
        answer = framed(b"welcome")
        receive(broker, answer[:5])
        receive(broker, answer[5:])
        assert await making is broker
        receive(broker, framed(b"an answer"))

        assert login.answers == [b"welcome"]
        assert client.frames == [b"an answer"]
        assert broker.framer.max_frame_bytes == MAX_RESPONSE_BYTES

    played(monkeypatch, client, login, scenario)


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (framed(b"welcome", b"more"), "sent what the login did not ask for"),
        (framed(b"welcome") + b"\0\0", "sent more than the login asked for"),
        ((MAX_LOGIN_FRAME_BYTES + 1).to_bytes(4, "big"), ""),
    ],
)
def test_a_broker_that_says_too_much_is_not_let_through(
    monkeypatch: pytest.MonkeyPatch, client: Client, sent: bytes, expected: str
) -> None:
    async def scenario(broker: BrokerConnection, making: asyncio.Task[BrokerConnection]) -> None:
        transport = broker.transport
        receive(broker, sent)

        assert expected in str(await failed(making))
        assert transport.is_aborted

    played(monkeypatch, client, Login(), scenario)
    assert (client.frames, client.ends) == ([], [])


@pytest.mark.parametrize("error", [None, ConnectionResetError(104, "Connection reset by peer")])
def test_a_broker_that_goes_during_a_login_fails_it(
    monkeypatch: pytest.MonkeyPatch, client: Client, error: Exception | None
) -> None:
    async def scenario(broker: BrokerConnection, making: asyncio.Task[BrokerConnection]) -> None:
        broker.connection_lost(error)

        assert str(await failed(making)).startswith(f"{ADDRESS}: the broker closed the connection")

    played(monkeypatch, client, Login(), scenario)
    assert client.ends == []


def test_a_broker_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    async def scenario(broker: BrokerConnection, making: asyncio.Task[BrokerConnection]) -> None:
        transport = broker.transport

        assert str(await failed(making)) == f"{ADDRESS}: no answer within 20 ms"
        assert transport.is_aborted

    played(monkeypatch, client, Login(), scenario, timeout_ms=20)


def test_a_client_that_goes_takes_its_login_along(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    async def scenario(broker: BrokerConnection, making: asyncio.Task[BrokerConnection]) -> None:
        transport = broker.transport
        making.cancel()
        await asyncio.wait([making])

        assert making.cancelled()
        assert transport.is_aborted

    played(monkeypatch, client, Login(), scenario)


def test_a_refusal_closes_and_counts(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    login = Login(error=LoginError("refused"))

    async def scenario(broker: BrokerConnection, making: asyncio.Task[BrokerConnection]) -> None:
        transport = broker.transport
        receive(broker, framed(b"no"))

        assert isinstance(await failed(making), LoginError)
        assert transport.is_aborted
        assert login.pace.has_failed

    played(monkeypatch, client, login, scenario)


@pytest.mark.parametrize("others", [1, 2])
def test_a_broker_with_another_mechanism_gets_one_more_connection(
    monkeypatch: pytest.MonkeyPatch, client: Client, others: int
) -> None:
    login, made = Login(), []

    async def log_in(*_: Any) -> None:
        if len(made) <= others:
            raise OtherMechanism("another mechanism")

    async def create_connection(_loop: Any, factory: Any, _host: str, _port: int) -> Any:
        made.append(factory())
        made[-1].connection_made(FakeTransport())
        return made[-1].transport, made[-1]

    monkeypatch.setattr(login, "log_in", log_in)
    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", create_connection)

    async def run() -> BrokerConnection | LoginError:
        try:
            return await connect(client, BROKER, SECURITY, login, 1000)  # type: ignore[arg-type]
        except LoginError as error:
            return error

    found = asyncio.run(run())

    assert len(made) == 2
    assert cast(FakeTransport, made[0].transport).is_aborted
    assert (found is made[1], login.pace.has_failed) == ((True, False) if others == 1 else (False, True))
    assert client.ends == []


def test_a_login_that_ends_is_due_and_renewed_on_the_connection(
    monkeypatch: pytest.MonkeyPatch, client: Client
) -> None:
    login = Login(renew_after_ms=1)

    async def scenario(broker: BrokerConnection, making: asyncio.Task[BrokerConnection]) -> None:
        receive(broker, framed(b"welcome"))
        await making
        await asyncio.sleep(0.01)
        assert (broker.is_login_due, client.logins_due) == (True, 1)

        login.renew_after_ms = None
        renewing = asyncio.create_task(renew_login(broker, BROKER, login, 1000))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        receive(broker, framed(b"welcome again"))
        await renewing

        assert not broker.is_login_due
        assert login.answers == [b"welcome", b"welcome again"]
        receive(broker, framed(b"an answer"))
        assert client.frames == [b"an answer"]

    played(monkeypatch, client, login, scenario)


def test_a_renewal_that_fails_is_told(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    async def scenario(broker: BrokerConnection, making: asyncio.Task[BrokerConnection]) -> None:
        receive(broker, framed(b"welcome"))
        await making
        broker.connection_lost(None)

        with pytest.raises(BrokerError, match="the broker closed the connection"):
            await renew_login(broker, BROKER, Login(), 1000)  # type: ignore[arg-type]

    played(monkeypatch, client, Login(), scenario)
