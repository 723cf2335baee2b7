"""What the shell does with time around an authentication: who failed waits, and who stays authenticates again."""

import asyncio
from typing import Any

import pytest
import structlog
from structlog.testing import capture_logs

from bifrost.authentication.accounts import Account
from bifrost.authentication.oauthbearer_server import CheckedToken, KeysAreFetched
from bifrost.config.fields.verifiers import Mechanism
from bifrost.gateway.sockets.client_origin import ClientOrigin
from bifrost.session.close_reason import CloseReason
from support.identity.issuer import client_first
from support.stage.fake_transport import framed, receive
from support.stage.stage import Stage, authenticate, handshake, plain_token

from .line import HEARTBEAT, FakeGateway, Line, authenticated, played, settled

pytestmark = pytest.mark.usefixtures("connects")
LIFETIME_MS = 200


def fail(gateway: FakeGateway, times: int = 1) -> None:
    """Let authentications fail, one connection after the other."""
    for _ in range(times):
        gateway.failed_authentications.note("192.0.2.1", gateway.cluster.stage.now_ms)


def is_heard(line: Line) -> bool:
    """Whether a handshake is answered at once; if not, nothing more is read."""
    line.send(handshake(), 1)
    answers = line.client.take_frames()
    assert line.client.is_reading() == bool(answers)
    return bool(answers)


def test_a_failure_makes_the_next_connection_wait() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        line.send(handshake(), 1)
        line.send(authenticate(plain_token("acme", "guess")), 2)
        assert len(line.client.take_frames()) == 2

        line = Line(gateway)

        assert not is_heard(line)
        await asyncio.sleep(0.15)
        assert len(line.client.take_frames()) == 1
        assert line.client.is_reading()
        line.send(authenticate(plain_token("acme")), 2)
        assert line.connection._session.is_authenticated

    assert played(scenario).ends == {CloseReason.AUTHENTICATION_FAILED: 1}


def test_what_came_during_the_delay_is_answered_in_order_after_it() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        fail(gateway)
        line = Line(gateway)
        line.send(handshake(), 1)
        line.send(authenticate(plain_token("acme")), 2)
        line.send(HEARTBEAT, 4)
        assert line.client.take_frames() == []

        await asyncio.sleep(0.15)

        assert [frame[:4] for frame in line.client.take_frames()] == [b"\0\0\0\1", b"\0\0\0\2"]
        assert not line.connection._deadline.is_set
        assert len(line.broker_side.transport.take_frames()) == 1

    played(scenario)


@pytest.mark.parametrize(
    ("frame", "reason"),
    [(b"\0\3\0\1\0\0\0\1\xff\xff", CloseReason.NOT_AUTHENTICATED), (b"\0", CloseReason.MALFORMED)],
)
def test_what_is_wrong_during_the_delay_ends_the_connection_after_it(
    frame: bytes, reason: CloseReason
) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        fail(gateway)
        line = Line(gateway)
        receive(line.connection, framed(frame))
        assert not line.client.is_closed

        await asyncio.sleep(0.15)

        assert line.client.is_closed

    assert played(scenario).ends == {reason: 1}


def test_who_sends_nothing_during_the_delay_is_heard_after_it() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        fail(gateway)
        line = Line(gateway)

        await asyncio.sleep(0.15)

        assert is_heard(line)

    played(scenario)


def test_a_delay_is_no_longer_than_its_limit() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        fail(gateway, times=12)

        line = Line(gateway)

        assert not is_heard(line)
        await asyncio.sleep(0.1)
        assert len(line.client.take_frames()) == 1

    played(scenario, max_authentication_delay_ms=50)


def test_without_a_limit_no_client_waits() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        fail(gateway, times=12)

        assert is_heard(Line(gateway))

    played(scenario, max_authentication_delay_ms=0)


def test_a_client_that_goes_while_it_waits_leaves_nothing() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        fail(gateway)
        line = Line(gateway)
        assert not is_heard(line)

        line.connection.connection_lost(None)
        await asyncio.sleep(0.15)

        assert line.client.take_frames() == []

    assert played(scenario).ends == {CloseReason.CLIENT_CLOSED: 1}


def test_a_right_password_makes_no_client_wait() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        authenticated(gateway)

        assert is_heard(Line(gateway))

    played(scenario)


async def pass_time(gateway: FakeGateway, ms: int) -> None:
    """Let the session's clock and the loop's go on together."""
    gateway.cluster.stage.now_ms += ms
    await asyncio.sleep(ms / 1000 + 0.02)


def test_a_request_after_the_time_ends_the_connection() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        await pass_time(gateway, LIFETIME_MS)
        assert not line.client.is_closed

        line.send(HEARTBEAT, 4)

        assert line.client.is_closed

    assert played(scenario, max_reauth_ms=LIFETIME_MS).ends == {CloseReason.SESSION_EXPIRED: 1}


@pytest.mark.parametrize("late_ms", [0, 1])
def test_who_authenticates_again_goes_on_until_the_next_time(late_ms: int) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        await pass_time(gateway, LIFETIME_MS // 2 if not late_ms else LIFETIME_MS)
        line.authenticate()
        if not late_ms:
            await pass_time(gateway, LIFETIME_MS // 2)

        line.send(HEARTBEAT, 4)
        await settled()
        assert not line.client.is_closed

        gateway.cluster.stage.now_ms += LIFETIME_MS
        await asyncio.sleep(2 * LIFETIME_MS / 1000)
        line.send(HEARTBEAT, 4)
        line.answer_heartbeat()
        assert line.client.is_closed

    assert played(scenario, max_reauth_ms=LIFETIME_MS).ends == {CloseReason.SESSION_EXPIRED: 1}


def test_both_are_told_in_the_log_for_who_looks_for_it() -> None:
    def scenario(seen: list[Any]) -> Any:
        async def play(gateway: FakeGateway) -> None:
            line = authenticated(gateway)
            await pass_time(gateway, LIFETIME_MS // 2)
            line.authenticate()
            await pass_time(gateway, LIFETIME_MS // 2)
            seen.append([entry["event"] for entry in logs][-1])
            await pass_time(gateway, LIFETIME_MS)
            seen.append([entry["event"] for entry in logs][-1])

        return play

    seen: list[Any] = []
    structlog.reset_defaults()
    with capture_logs() as logs:
        played(scenario(seen), max_reauth_ms=LIFETIME_MS)

    assert seen == ["authenticated_again", "authentication_expired"]


def test_without_a_limit_there_is_no_time() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = authenticated(gateway)
        await pass_time(gateway, LIFETIME_MS)

        line.send(HEARTBEAT, 4)

        assert not line.connection._expiry.is_set
        assert not line.client.is_closed

    played(scenario)


class FakeTokens:
    """Takes every token, for a time, once keys were fetched."""

    max_bytes = 1000
    has_principals = True
    is_fetching = False
    lifetime_ms = LIFETIME_MS

    def check(self, token: str) -> CheckedToken:
        if self.is_fetching:
            raise KeysAreFetched
        return CheckedToken(Account("alice", "acme"), self.lifetime_ms)


def played_with_tokens(scenario: Any) -> FakeGateway:
    """Play a scenario with a gateway that takes tokens, and sets no limit of its own."""
    tokens = FakeTokens()
    gateway = FakeGateway(Stage(mechanisms=(Mechanism.OAUTHBEARER,), tokens=tokens))
    asyncio.run(scenario(gateway, tokens))
    return gateway


def show_token(line: Line) -> None:
    line.send(handshake("OAUTHBEARER"), 1)
    line.send(authenticate(client_first("token")), 2)


def test_a_session_ends_with_its_token_though_there_is_no_limit() -> None:
    async def scenario(gateway: FakeGateway, tokens: FakeTokens) -> None:
        line = Line(gateway, (Mechanism.OAUTHBEARER,))
        show_token(line)
        await pass_time(gateway, LIFETIME_MS)
        assert not line.client.is_closed

        line.send(HEARTBEAT, 4)

        assert line.client.is_closed

    assert played_with_tokens(scenario).ends == {CloseReason.SESSION_EXPIRED: 1}


def test_who_shows_a_new_token_after_the_end_goes_on_until_that_ends() -> None:
    async def scenario(gateway: FakeGateway, tokens: FakeTokens) -> None:
        line = Line(gateway, (Mechanism.OAUTHBEARER,))
        show_token(line)
        await pass_time(gateway, 3 * LIFETIME_MS)
        tokens.lifetime_ms = LIFETIME_MS // 2
        show_token(line)
        line.send(HEARTBEAT, 4)
        await settled()
        assert not line.client.is_closed

        await pass_time(gateway, LIFETIME_MS // 2)
        line.send(HEARTBEAT, 4)
        line.answer_heartbeat()

        assert line.client.is_closed

    assert played_with_tokens(scenario).ends == {CloseReason.SESSION_EXPIRED: 1}


def test_a_token_for_years_needs_no_timer_for_years() -> None:
    async def scenario(gateway: FakeGateway, tokens: FakeTokens) -> None:
        tokens.lifetime_ms = 10**15
        line = Line(gateway, (Mechanism.OAUTHBEARER,))

        show_token(line)

        assert line.connection._expiry.when() < asyncio.get_running_loop().time() + 90_000
        line.connection.end(CloseReason.SHUTDOWN, "")

    played_with_tokens(scenario)


def test_who_needs_a_key_that_is_being_fetched_is_not_read_until_it_is_there() -> None:
    async def scenario(gateway: FakeGateway, tokens: FakeTokens) -> None:
        tokens.is_fetching = True
        line = Line(gateway, (Mechanism.OAUTHBEARER,))
        show_token(line)
        assert len(line.client.take_frames()) == 1
        assert not line.client.is_reading()
        [callback] = gateway.waiting_for_keys
        tokens.is_fetching = False

        callback()

        assert len(line.client.take_frames()) == 1
        assert line.client.is_reading()
        line.send(HEARTBEAT, 4)
        await settled()
        assert len(line.broker_side.transport.take_frames()) == 1

    played_with_tokens(scenario)


def test_who_goes_while_keys_are_fetched_leaves_nothing() -> None:
    async def scenario(gateway: FakeGateway, tokens: FakeTokens) -> None:
        tokens.is_fetching = True
        line = Line(gateway, (Mechanism.OAUTHBEARER,))
        show_token(line)
        line.connection.connection_lost(None)

        gateway.waiting_for_keys[0]()

        assert gateway.connections == set()

    played_with_tokens(scenario)


# -- clients that begin with a handshake


def test_what_was_waited_before_counts_and_is_not_waited_again() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        fail(gateway)
        line = Line(gateway, origin=ClientOrigin(waited_ms=gateway.limits.authentication_timeout_ms - 50))
        assert is_heard(line)
        await asyncio.sleep(0.1)

    assert played(scenario).ends == {CloseReason.AUTHENTICATION_TIMEOUT: 1}


def test_failures_are_those_of_the_address_that_a_balancer_tells() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway, origin=ClientOrigin(address=("203.0.113.9", 5), waited_ms=0))
        line.send(handshake(), 1)
        line.send(authenticate(plain_token("acme", "guess")), 2)
        now_ms = gateway.shared.sasl.now_ms()

        assert gateway.failed_authentications.delay_ms("203.0.113.9", now_ms)
        assert not gateway.failed_authentications.delay_ms("192.0.2.1", now_ms)

    played(scenario)


def test_a_client_that_is_known_is_let_in_at_once_and_has_no_time_limit() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        object.__setattr__(gateway.limits, "authentication_timeout_ms", 100)
        line = Line(gateway, origin=ClientOrigin("PLAINTEXT", Account("ANONYMOUS", "acme")))
        assert gateway.shared.sasl.outcomes == {("acme", "PLAINTEXT", "success"): 1}
        assert line.connection._framer.max_frame_bytes == gateway.limits.max_request_bytes
        await asyncio.sleep(0.15)
        line.send(HEARTBEAT, 4)
        await settled()
        assert len(line.broker_side.transport.take_frames()) == 1

    assert not played(scenario).ends


def test_tls_at_an_open_port_is_told_by_the_log() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway, origin=ClientOrigin("PLAINTEXT", Account("ANONYMOUS", "acme")))
        with capture_logs() as logged:
            receive(line.connection, b"\x16\x03\x01\x02\0\x01\0")
        assert "security.protocol to PLAINTEXT" in logged[0]["detail"]

    assert played(scenario).ends == {CloseReason.TLS_ON_PLAINTEXT: 1}
