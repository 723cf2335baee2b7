"""A client whose broker wants to know who is there: nothing of the client's goes before, and it notices no renewal."""

import asyncio
from types import SimpleNamespace
from typing import Any

from bifrost.gateway.brokers.login_pace import LoginPace
from bifrost.gateway.errors import LoginError
from bifrost.session.close_reason import CloseReason
from support.stage.fake_transport import framed
from support.stage.playbook import request_frame

from .line import HEARTBEAT, FakeGateway, Line, authenticated, played, settled, without_tls

TOKEN = request_frame(HEARTBEAT, 4, 77)


class Login:
    """An account whose exchange is one question; the test says when it is answered."""

    def __init__(self, error: Exception | None = None) -> None:
        self.pace = LoginPace(lambda: 0)
        self.error = error
        self.asked = 0
        self.renew_after_ms: int | None = None

    async def log_in(
        self, ask: Any, _host: str, _address: str, _deadline: float, _versions: Any
    ) -> int | None:
        self.asked += 1
        await ask(framed(TOKEN))
        if self.error is not None:
            raise self.error
        return self.renew_after_ms


def with_account(gateway: FakeGateway, login: Login) -> list[tuple[str, str]]:
    """Give the gateway an account at the broker; return whom it is asked for."""
    asked: list[tuple[str, str]] = []

    def login_of(tenant: str, username: str) -> Login:
        asked.append((tenant, username))
        return login

    gateway.cluster.security = SimpleNamespace(tls_context=without_tls, login_of=login_of)  # type: ignore[assignment]
    return asked


async def connecting(gateway: FakeGateway, broker_sides: list[Any]) -> Line:
    line = authenticated(gateway)
    line.send(HEARTBEAT, 4)
    await settled()
    assert line.connection._broker_side is None
    assert [side.transport.take_frames() for side in broker_sides] == [[TOKEN]]
    return line


def remembered(monkeypatch: Any) -> list[Any]:
    """Every broker connection there is, from when it is made."""
    made: list[Any] = []
    create_connection = asyncio.BaseEventLoop.create_connection

    async def remember(loop: Any, factory: Any, host: str, port: int) -> Any:
        transport, protocol = await create_connection(loop, factory, host, port)
        made.append(protocol)
        return transport, protocol

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", remember)
    return made


def test_a_request_waits_for_the_login(connects: Any, monkeypatch: Any) -> None:
    login, made = Login(), remembered(monkeypatch)

    async def scenario(gateway: FakeGateway) -> None:
        asked = with_account(gateway, login)
        line = await connecting(gateway, made)
        assert not line.client.reading

        receive_answer(made[0])
        await settled()

        assert asked == [("acme", "acme")]
        assert len(made[0].transport.take_frames()) == 1
        assert line.client.take_frames() == []
        assert line.client.reading

    played(scenario)


def receive_answer(broker_side: Any) -> None:
    data = framed(b"welcome")
    buffer = broker_side.get_buffer(-1)
    buffer[: len(data)] = data
    broker_side.buffer_updated(len(data))


def test_a_refusal_ends_the_connection_without_a_word(
    connects: Any, monkeypatch: Any, logged: list[dict[str, Any]]
) -> None:
    login, made = Login(LoginError("broker 1: the broker refused the login")), remembered(monkeypatch)

    async def scenario(gateway: FakeGateway) -> None:
        with_account(gateway, login)
        line = await connecting(gateway, made)
        receive_answer(made[0])
        await settled()

        assert line.client.take_frames() == []
        assert line.client.is_closed

    assert played(scenario).ends == {CloseReason.UPSTREAM_LOGIN_FAILED: 1}
    (end,) = [one for one in logged if one["event"] == "connection_ended"]
    assert (end["reason"], end["tenant"]) == ("upstream_login_failed", "acme")
    assert end["detail"] == "broker 1: the broker refused the login"


def test_a_renewal_waits_for_the_answers_and_requests_for_it(connects: Any, monkeypatch: Any) -> None:
    login, made = Login(), remembered(monkeypatch)
    login.renew_after_ms = 5

    async def scenario(gateway: FakeGateway) -> None:
        with_account(gateway, login)
        line = await connecting(gateway, made)
        receive_answer(made[0])
        await settled()
        login.renew_after_ms = None
        await asyncio.sleep(0.02)
        # It is due, but the heartbeat has no answer yet: nothing is sent, neither the login nor what comes meanwhile.
        line.send(HEARTBEAT, 4)
        assert made[0].is_login_due
        assert not line.client.reading
        assert login.asked == 1

        line.answer_heartbeat()
        assert made[0].transport.take_frames() == []
        await settled()
        assert len(line.client.take_frames()) == 1
        assert made[0].transport.take_frames() == [TOKEN]
        receive_answer(made[0])
        await settled()

        line.answer_heartbeat()
        assert len(line.client.take_frames()) == 1
        assert (login.asked, line.client.reading) == (2, True)

    played(scenario)


def test_an_idle_connection_is_renewed_too_and_ends_if_that_fails(connects: Any, monkeypatch: Any) -> None:
    login, made = Login(), remembered(monkeypatch)
    login.renew_after_ms = 5

    async def scenario(gateway: FakeGateway) -> None:
        with_account(gateway, login)
        line = await connecting(gateway, made)
        receive_answer(made[0])
        await settled()
        line.answer_heartbeat()
        login.error = LoginError("refused")
        await asyncio.sleep(0.02)
        receive_answer(made[0])
        await settled()

        assert line.client.is_closed

    assert played(scenario).ends == {CloseReason.UPSTREAM_LOGIN_FAILED: 1}
