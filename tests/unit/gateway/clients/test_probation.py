"""What a client may send before it has authenticated, through the connection that holds it to that."""

import asyncio
import sys
from types import FrameType
from typing import Any

import pytest

from bifrost.authentication import sasl_server
from bifrost.authentication.address_costs import Cost
from bifrost.gateway.admission.address_turns import ENTRY
from bifrost.gateway.clients.probation import MAX_PART_BYTES, MAX_PARTS, PART_CPU_NS, Probation
from bifrost.session.authentication import OTHER_BYTES
from bifrost.session.close_reason import CloseReason
from support.stage import messages
from support.stage.fake_transport import framed, receive
from support.stage.playbook import request_frame
from support.stage.stage import authenticate, handshake, plain_token

from .line import HEARTBEAT, FakeGateway, Line, played

pytestmark = pytest.mark.usefixtures("connects")
ASK = request_frame(messages.ApiVersionsRequest(), 0, 1)
HELLO, LOGIN = request_frame(handshake(), 1, 2), request_frame(authenticate(plain_token("acme")), 2, 3)


def test_thousands_of_requests_in_one_read_are_not_answered() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)

        receive(line.connection, framed(*[ASK] * 4000))

        assert len(line.client.take_frames()) == 30
        assert gateway.failed_authentications.delay_ms("192.0.2.1", gateway.cluster.stage.now_ms) > 0

    assert played(scenario).ends == {CloseReason.UNAUTHENTICATED_REQUESTS: 1}


def test_requests_of_several_reads_are_added_up() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        for _ in range(5):
            receive(line.connection, framed(ASK))
        assert not line.client.is_closed

        receive(line.connection, framed(ASK))

        assert len(line.client.take_frames()) == 5

    played_ends = played(scenario, max_unauthenticated_requests=5).ends
    assert played_ends == {CloseReason.UNAUTHENTICATED_REQUESTS: 1}


def test_what_follows_an_authentication_in_the_same_read_is_not_counted() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        heartbeats = [request_frame(HEARTBEAT, 4, number) for number in range(10, 60)]

        receive(line.connection, framed(*[ASK] * 3, HELLO, LOGIN, *heartbeats))

        assert line.connection._session.is_authenticated
        assert not line.client.is_closed

    assert played(scenario, max_unauthenticated_requests=5).ends == {}


def test_bytes_are_added_up_though_no_frame_is_whole() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        whole = framed(bytes(3_000))
        receive(line.connection, whole[:2_000])
        assert not line.client.is_closed

        receive(line.connection, whole[2_000:2_001])

        assert line.client.take_frames() == []

    assert played(scenario, max_unauthenticated_bytes=2_000).ends == {CloseReason.UNAUTHENTICATED_BYTES: 1}


def test_parts_of_frames_are_charged_together(monkeypatch: pytest.MonkeyPatch) -> None:
    charged: list[Cost] = []

    async def scenario(gateway: FakeGateway) -> None:
        monkeypatch.setattr(
            gateway.failed_authentications, "charge", lambda _address, cost, _now_ms: charged.append(cost)
        )
        line = Line(gateway)
        assert charged == [ENTRY]
        charged.clear()
        frame = framed(ASK)
        for n in range(MAX_PARTS):
            receive(line.connection, frame[n : n + 1])
        assert charged == []

        receive(line.connection, frame[MAX_PARTS : MAX_PARTS + 1])
        assert [(one.requests, one.nbytes) for one in charged] == [(0, MAX_PARTS + 1)]
        assert charged[0].cpu_ns >= MAX_PARTS * PART_CPU_NS
        receive(line.connection, frame[MAX_PARTS + 1 :])

        assert [one.requests for one in charged] == [0, 1]
        assert sum(one.nbytes for one in charged) == len(frame)
        assert len(line.client.take_frames()) == 1

    played(scenario)


def test_a_large_part_of_a_frame_is_charged_at_once() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        for _ in range(10_000):
            line = Line(gateway)
            receive(line.connection, framed(bytes(OTHER_BYTES))[: MAX_PART_BYTES + 1])
            line.connection.connection_lost(None)

        assert gateway.failed_authentications.delay_ms("192.0.2.1", gateway.cluster.stage.now_ms) > 0

    played(scenario)


def test_a_byte_of_an_unfinished_frame_costs_few_calls() -> None:
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        frame = framed(ASK)
        sys.setprofile(count)
        try:
            for n in range(MAX_PARTS):
                receive(line.connection, frame[n : n + 1])
        finally:
            sys.setprofile(None)

    played(scenario)
    assert calls <= 20 * MAX_PARTS


def test_cpu_time_is_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(range(0, 10**9, 4_000_000))
    monkeypatch.setattr("bifrost.gateway.clients.probation.time.thread_time_ns", lambda: next(times))

    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        receive(line.connection, framed(ASK))
        receive(line.connection, framed(ASK))
        assert not line.client.is_closed

        receive(line.connection, framed(ASK))

        assert len(line.client.take_frames()) == 3

    played_ends = played(scenario, max_unauthenticated_cpu_ms=10).ends
    assert played_ends == {CloseReason.UNAUTHENTICATED_CPU: 1}


@pytest.mark.parametrize("size", [OTHER_BYTES, OTHER_BYTES + 1])
def test_a_first_frame_has_a_largest_size(size: int) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)

        receive(line.connection, size.to_bytes(4, "big"))

        assert line.client.is_closed == (size > OTHER_BYTES)

    played(scenario)


@pytest.mark.parametrize("above", [0, 1])
def test_a_frame_with_a_token_may_be_larger_by_the_token(above: int) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        receive(line.connection, framed(HELLO))

        size = OTHER_BYTES + sasl_server.MAX_PLAIN_BYTES + above
        receive(line.connection, size.to_bytes(4, "big"))

        assert line.client.is_closed == bool(above)

    played(scenario)


def test_the_limit_of_the_configuration_holds_where_it_is_lower() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        receive(line.connection, framed(HELLO))

        receive(line.connection, (2_001).to_bytes(4, "big"))

        assert line.client.is_closed

    limits: dict[str, Any] = {"max_unauthenticated_frame_bytes": 2_000}
    assert played(scenario, **limits).ends == {CloseReason.FRAME_TOO_LARGE: 1}


def test_an_authenticated_client_has_its_tenants_limit() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        line = Line(gateway)
        line.authenticate()

        assert isinstance(line.connection._probation, Probation)
        assert line.connection._framer.max_frame_bytes == gateway.limits.max_request_bytes

    played(scenario)


def test_connections_one_after_the_other_are_charged_to_their_address() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        for _ in range(5_001 // 25 + 1):
            receive(Line(gateway).connection, framed(*[ASK] * 25))
        waiting = Line(gateway)

        receive(waiting.connection, framed(ASK))
        assert waiting.client.take_frames() == []
        gateway.cluster.stage.now_ms += 100
        await asyncio.sleep(0.3)
        assert len(waiting.client.take_frames()) == 1

    played(scenario, max_authentication_delay_ms=100)
