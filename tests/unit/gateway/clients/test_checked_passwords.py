"""PLAIN against verifiers: a connection waits for the check of its password, and no other connection does."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from bifrost.authentication.accounts import Account, Accounts
from bifrost.authentication.address_costs import BURST, EACH_S
from bifrost.config.fields.verifiers import MAX_ITERATIONS, Mechanism, ScramVerifier
from bifrost.session.close_reason import CloseReason
from support.stage.fake_transport import framed, receive
from support.stage.playbook import request_frame
from support.stage.stage import Stage, authenticate, handshake, plain_token

from .line import HEARTBEAT, FakeGateway, Line, settled

pytestmark = pytest.mark.usefixtures("connects")
SHA_512 = Mechanism.SCRAM_SHA_512
VERIFIER = ScramVerifier.derive(SHA_512, b"acme-password", b"a salt of 16 byt", MAX_ITERATIONS)
HERE = "192.0.2.1"


def play(scenario: Callable[[FakeGateway], Awaitable[None]], **limits: int) -> FakeGateway:
    """Play a scenario in a gateway that has verifiers alone."""
    stage = Stage(max_reauth_ms=limits.get("max_reauth_ms", 0))
    accounts = Accounts([Account("acme", "acme", verifiers={SHA_512: VERIFIER})], key=b"key")
    stage.shared.sasl = replace(stage.shared.sasl, accounts=accounts)
    gateway = FakeGateway(stage, **limits)
    asyncio.run(scenario(gateway))
    return gateway


def log_in(gateway: FakeGateway, *, password: str | None = None) -> Line:
    line = Line(gateway)
    line.send(handshake(), 1)
    line.send(authenticate(plain_token("acme", password)), 2)
    assert len(line.client.take_frames()) == 1, "the handshake's answer"
    return line


async def checked(gateway: FakeGateway, connections: int) -> None:
    """Wait until so many connections have authenticated or ended."""
    async with asyncio.timeout(20):
        while gateway.tenants.count().total() + gateway.ends.total() < connections:  # noqa: ASYNC110
            await asyncio.sleep(0.002)


def test_the_client_is_not_read_until_its_password_was_checked() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = log_in(gateway)
        assert not line.client.is_reading()
        assert not line.connection._session.is_authenticated

        await checked(gateway, 1)

        assert len(line.client.take_frames()) == 1
        assert line.connection._session.is_authenticated
        assert line.client.is_reading()
        line.send(HEARTBEAT, 4)
        await settled()
        assert len(line.broker_side.transport.take_frames()) == 1

    assert not play(scenario).ends


def test_what_follows_the_password_at_once_is_kept_until_then() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        login = [request_frame(handshake(), 1, 1), request_frame(authenticate(plain_token("acme")), 2, 2)]
        receive(line.connection, framed(*login, request_frame(HEARTBEAT, 4, 3)))

        await checked(gateway, 1)
        await settled()

        assert len(line.client.take_frames()) == 2
        assert len(line.broker_side.transport.take_frames()) == 1

    play(scenario)


def test_a_wrong_password_ends_the_connection_with_the_same_error_as_ever() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = log_in(gateway, password="guess")

        await checked(gateway, 1)

        [answer] = line.client.take_frames()
        assert b"Invalid username or password" in answer
        assert gateway.failed_authentications.delay_ms(HERE, gateway.cluster.stage.now_ms) == 100

    assert play(scenario).ends == {CloseReason.AUTHENTICATION_FAILED: 1}


def test_a_request_is_counted_once_though_it_is_handled_twice() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        log_in(gateway)
        await checked(gateway, 1)

        traffic = gateway.shared.lanes.traffic("", 36)
        assert traffic.requests == 1

    play(scenario)


@pytest.mark.parametrize("password", [None, "guess"])
def test_thirty_logins_at_once_stop_the_event_loop_for_none_of_them(password: str | None) -> None:
    clients = 30

    async def scenario(gateway: FakeGateway) -> None:
        began_ns, began_s = time.thread_time_ns(), time.monotonic()
        for _ in range(clients):
            log_in(gateway, password=password)
        await asyncio.sleep(0)
        # Each of them takes some 12 ms in a thread, so none is done yet but the first.
        assert (time.thread_time_ns() - began_ns) / clients < 1_000_000
        assert len(gateway.password_checks) >= clients - 10

        await checked(gateway, clients)

        assert (time.thread_time_ns() - began_ns) / clients < (time.monotonic() - began_s) * 1e9 / clients / 2

    play(scenario, max_authentication_delay_ms=0)


@pytest.mark.parametrize("password", [None, "guess"])
def test_what_a_login_cost_is_taken_back_if_it_succeeds(password: str | None) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        now_ms = gateway.cluster.stage.now_ms
        failures = gateway.failed_authentications
        failures.charge(HERE, BURST, now_ms)
        line = Line(gateway)
        assert failures.debt_ms(HERE, now_ms) == 10, "a millisecond: it was accepted"
        failures.forgive(HERE, EACH_S, now_ms)  # So that its check has its turn.
        line.send(handshake(), 1)
        line.send(authenticate(plain_token("acme", password)), 2)

        await checked(gateway, 1)

        failures.charge(HERE, EACH_S, now_ms)
        assert (failures.debt_ms(HERE, now_ms) == 0) == (password is None)

    play(scenario)


def test_a_client_whose_address_is_in_debt_is_not_read_until_it_is_paid() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        stage = gateway.cluster.stage
        gateway.failed_authentications.charge(HERE, BURST + EACH_S, stage.now_ms)
        gateway.failed_authentications._costs.charge(HERE, -(BURST + EACH_S), stage.now_ms)
        line = Line(gateway)
        line.send(handshake(), 1)
        assert line.client.take_frames() == []
        assert not line.client.is_reading()

        stage.now_ms += 2_000
        gateway.address_turns.forgive(HERE, EACH_S)
        await asyncio.sleep(0.02)

        assert len(line.client.take_frames()) == 1
        assert line.client.is_reading()

    play(scenario)


@pytest.mark.parametrize("is_checking", [False, True])
def test_a_connection_that_ends_meanwhile_leaves_nothing(is_checking: bool) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        stage = gateway.cluster.stage
        if not is_checking:
            gateway.failed_authentications.charge(HERE, BURST + EACH_S, stage.now_ms)
            gateway.failed_authentications._costs.charge(HERE, -(BURST + EACH_S), stage.now_ms)
        line = log_in(gateway) if is_checking else Line(gateway)

        line.connection.connection_lost(None)
        await asyncio.sleep(0.05)

        assert gateway.connections == set()
        assert len(gateway.password_checks) == 0
        assert gateway.address_turns._lines == {}

    assert play(scenario).ends == {CloseReason.CLIENT_CLOSED: 1}


def test_a_connection_waits_for_its_check_no_longer_than_for_authentication() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        log_in(gateway)
        gateway.failed_authentications.charge(HERE, BURST + EACH_S, gateway.cluster.stage.now_ms)

        await checked(gateway, 1)

        assert len(gateway.password_checks) == 0

    ends = play(scenario, authentication_timeout_ms=200, max_authentication_delay_ms=100).ends
    assert ends == {CloseReason.AUTHENTICATION_TIMEOUT: 1}


def test_a_client_authenticates_again_in_the_same_way() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = log_in(gateway)
        await checked(gateway, 1)
        line.client.take_frames()
        gateway.cluster.stage.now_ms += 2_000
        line.send(handshake(), 1)
        line.send(authenticate(plain_token("acme")), 2)
        assert len(line.client.take_frames()) == 1

        async with asyncio.timeout(5):
            while line.connection._session.authentications < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.002)

        assert len(line.client.take_frames()) == 1

    assert not play(scenario, max_reauth_ms=60_000).ends
