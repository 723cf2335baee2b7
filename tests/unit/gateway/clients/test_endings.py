import asyncio
import socket
from typing import Any

import pytest

from bifrost.gateway.clients.endings import (
    AT_ONCE,
    AWAY,
    AWAY_LINE_S,
    IN_ORDER,
    LINES_A_SECOND,
    EndLines,
    close,
    end_of,
    log_end,
)
from bifrost.gateway.errors import BrokerError, LoginError
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.session.close_reason import CloseReason, SessionEnded
from bifrost.wire.errors import FrameTooLarge, MalformedFrame

REFUSED, MALFORMED = CloseReason.TENANT_CONNECTIONS, CloseReason.MALFORMED


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (SessionEnded(CloseReason.SESSION_EXPIRED, "after 5 s"), (CloseReason.SESSION_EXPIRED, "after 5 s")),
        (LoginError("no such user"), (CloseReason.UPSTREAM_LOGIN_FAILED, "no such user")),
        (BrokerError("kafka-1:9092: refused"), (CloseReason.BROKER_UNREACHABLE, "kafka-1:9092: refused")),
        (FrameTooLarge(9, 8, 0), (CloseReason.FRAME_TOO_LARGE, str(FrameTooLarge(9, 8, 0)))),
        (MalformedFrame("a reason", 7), (CloseReason.MALFORMED, str(MalformedFrame("a reason", 7)))),
    ],
)
def test_an_error_ends_a_connection_for_its_reason(
    error: Exception, expected: tuple[CloseReason, str]
) -> None:
    assert end_of(error) == expected


def test_what_an_unexpected_error_says_is_not_in_the_reason() -> None:
    """It may contain what a client sent; the trace is logged by itself."""
    assert end_of(KeyError("a password")) == (CloseReason.INTERNAL_ERROR, "see the trace above")


@pytest.mark.parametrize("reason", CloseReason)
def test_only_ordinary_ends_are_logged_for_debugging(
    reason: CloseReason, logged: list[dict[str, Any]]
) -> None:
    ordinary = {CloseReason.CLIENT_CLOSED, CloseReason.SHUTDOWN, CloseReason.IDLE, CloseReason.DRAINED}

    log_end(reason, "10.0.0.7:51234", "acme", "why")

    assert logged == [
        {
            "event": "connection_ended",
            "log_level": "debug" if reason in ordinary else "warning",
            "reason": str(reason),
            "peer": "10.0.0.7:51234",
            "tenant": "acme",
            "detail": "why",
        }
    ]
    assert type(logged[0]["reason"]) is str


def test_a_connection_over_a_limit_gets_no_time_to_read_an_answer() -> None:
    assert CloseReason.TOO_MANY_CONNECTIONS in AT_ONCE
    assert not AT_ONCE & IN_ORDER
    assert CloseReason.AUTHENTICATION_FAILED not in AT_ONCE | IN_ORDER


def test_so_many_lines_a_second_are_written_and_the_next_counts_the_others() -> None:
    now_s = [1.0]
    lines = EndLines(lambda: now_s[0])

    assert [lines.admit(REFUSED, "acme") for _ in range(LINES_A_SECOND)] == [0] * LINES_A_SECOND
    assert [lines.admit(REFUSED, "acme") for _ in range(7)] == [None] * 7
    now_s[0] = 2.5

    assert [lines.admit(REFUSED, "acme"), lines.admit(REFUSED, "acme")] == [7, 0]


def test_other_reasons_and_tenants_have_lines_of_their_own() -> None:
    lines = EndLines(lambda: 1.0)
    for _ in range(LINES_A_SECOND + 1):
        lines.admit(REFUSED, "acme")

    assert lines.admit(MALFORMED, "acme") == 0
    assert lines.admit(REFUSED, "globex") == 0
    assert lines.admit(REFUSED, None) == 0


@pytest.mark.parametrize("reason", sorted(AWAY))
def test_a_broker_that_is_away_has_one_line_in_ten_seconds(reason: CloseReason) -> None:
    now_s = [1.0]
    lines = EndLines(lambda: now_s[0])
    admitted = []
    for tick in range(250):
        now_s[0] = 1.0 + tick / 10
        admitted.append(lines.admit(reason, "kafka-1:9092"))

    every = int(AWAY_LINE_S * 10)
    assert {tick: one for tick, one in enumerate(admitted) if one is not None} == {
        0: 0,
        every: every - 1,
        2 * every: every - 1,
    }
    assert lines.admit(reason, "kafka-2:9092") == 0


def test_the_line_names_the_broker_and_not_each_tenant_has_one(logged: list[dict[str, Any]]) -> None:
    for tenant in ("acme", "globex", "acme"):
        log_end(CloseReason.BROKER_CLOSED, "10.0.0.7:51234", tenant, "it is gone", "kafka-1:9092")
    log_end(CloseReason.MALFORMED, "10.0.0.7:51234", "acme", "why", "kafka-1:9092")

    assert [(one["tenant"], one.get("broker")) for one in logged] == [
        ("acme", "kafka-1:9092"),
        ("acme", None),
    ]


def test_without_an_address_the_words_tell_what_is_away(logged: list[dict[str, Any]]) -> None:
    for detail in ("no broker is known yet", "upstream far has no broker", "no broker is known yet"):
        log_end(CloseReason.BROKER_UNREACHABLE, "10.0.0.7:51234", None, detail)

    assert [one["detail"] for one in logged] == ["no broker is known yet", "upstream far has no broker"]


@pytest.mark.parametrize("waits", [False, True])
def test_only_a_client_that_was_let_in_is_waited_for(waits: bool) -> None:
    lost: list[Exception | None] = []

    class Client(asyncio.BufferedProtocol):
        def connection_lost(self, exc: Exception | None) -> None:
            lost.append(exc)

    async def scenario() -> tuple[bytes, int]:
        other, own = socket.socketpair()
        other.setblocking(False)
        own.setblocking(False)
        with other:
            transport = SocketTransport(asyncio.get_running_loop(), own, Client())
            transport.write(b"the last answer")
            close(transport, waits=waits)
            await asyncio.sleep(0.05)
            said = other.recv(100) + other.recv(1)  # All of it, and the end.
            before = len(lost)
        await asyncio.sleep(0.05)
        return said, before

    assert asyncio.run(scenario()) == (b"the last answer", 0 if waits else 1)
    assert lost == [None]
