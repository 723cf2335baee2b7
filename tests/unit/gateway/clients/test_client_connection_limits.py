"""A connection of a tenant that has limits."""

from typing import Any

import pytest

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.tenant_limits import TenantLimits
from bifrost.config.fields.tenants import Tenant
from bifrost.gateway.brokers.limits_of_tenants import LimitsOfTenants
from bifrost.session.close_reason import CloseReason
from support.stage import messages
from support.stage.messages import produce
from support.stage.playbook import response_frame

from .line import HEARTBEAT, FakeGateway, Line, authenticated, connected, played, settled

pytestmark = pytest.mark.usefixtures("connects")


def limit(gateway: FakeGateway, **limits: int) -> None:
    tenant = Tenant(name="acme", limits=TenantLimits(**limits))
    gateway.tenants.limit(Limits(), LimitsOfTenants.of([tenant]))


def turns(gateway: FakeGateway) -> None:
    """Let those have turns who wait."""
    waiting = gateway.cluster.stage.turns
    while waiting:
        waiting.pop(0)()


def answer(line: Line, correlation_id: int) -> None:
    line.answer(response_frame(messages.HeartbeatResponse(), 4, correlation_id))
    turns(line.gateway)


def test_one_connection_too_many_is_told_that_it_has_authenticated_and_closed(logged: list[Any]) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        limit(gateway, max_connections=1)
        first, second, other = authenticated(gateway), authenticated(gateway), Line(gateway)
        other.authenticate("globex")

        assert [line.client.is_closed for line in (first, second, other)] == [False, True, False]
        assert gateway.tenants.count() == {"acme": 1, "globex": 1}
        second.connection.connection_lost(None)
        assert authenticated(gateway).client.is_closed
        first.connection.connection_lost(None)
        assert not authenticated(gateway).client.is_closed

    assert played(scenario).ends[CloseReason.TENANT_CONNECTIONS] == 2
    ended = [entry for entry in logged if entry["event"] == "connection_ended"]
    assert {(entry["log_level"], entry["tenant"]) for entry in ended[:1]} == {("warning", "acme")}


def test_what_was_pipelined_behind_a_refused_authentication_goes_nowhere(connects: Any) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        limit(gateway, max_connections=1)
        authenticated(gateway)
        line = authenticated(gateway)

        line.send(HEARTBEAT, 4)
        await settled()

        assert connects.made == []

    played(scenario)


def test_a_request_too_large_for_the_tenant_ends_its_connection() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        limit(gateway, max_request_bytes=2000)
        line = authenticated(gateway)

        line.send(produce("orders", records=bytes(1000)), 9)
        assert not line.client.is_closed
        line.send(produce("orders", records=bytes(3000)), 9)

        assert line.client.is_closed

    assert played(scenario).ends == {CloseReason.FRAME_TOO_LARGE: 1}


def test_a_connection_without_room_is_not_read_until_its_turn() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        limit(gateway, max_in_flight_requests=1)
        first = await connected(gateway)
        second = authenticated(gateway)

        second.send(HEARTBEAT, 4)
        turns(gateway)
        assert (first.client.is_reading(), second.client.is_reading()) == (True, False)
        answer(first, 3)
        await settled()

        assert second.client.is_reading()
        assert len(second.broker_side.transport.take_frames()) == 1
        answer(second, 3)
        assert len(second.client.take_frames()) == 1

    played(scenario)


@pytest.mark.parametrize("goes_by", ["end", "drain"])
def test_one_that_goes_while_it_waits_is_forgotten(goes_by: str) -> None:
    async def scenario(gateway: FakeGateway) -> None:
        limit(gateway, max_in_flight_requests=1)
        first = await connected(gateway)
        second, third = authenticated(gateway), authenticated(gateway)
        second.send(HEARTBEAT, 4)
        third.send(HEARTBEAT, 4)

        if goes_by == "end":
            second.connection.connection_lost(None)
        else:
            second.connection.drain()
        answer(first, 3)

        assert second.connection.has_ended
        assert third.connection._session.in_flight == 1

    played(scenario)


def test_one_that_ends_with_a_request_in_flight_makes_room() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        limit(gateway, max_in_flight_requests=1)
        first = await connected(gateway)
        second = authenticated(gateway)
        second.send(HEARTBEAT, 4)

        first.connection.connection_lost(None)
        turns(gateway)

        assert second.connection._session.in_flight == 1
        assert gateway.shared.lanes.in_flight_limits.of_all.in_flight == 1

    played(scenario)


def test_a_turn_that_breaks_the_protocol_ends_that_connection() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        limit(gateway, max_in_flight_requests=1)
        first = await connected(gateway)
        second = authenticated(gateway)
        second.send(HEARTBEAT, 4)
        second.connection._session._held_requests[0] = b"\x00\x0c\x00\x04\x00\x00\x00\x09\xff\xff\x00\xff"

        answer(first, 3)

        assert second.client.is_closed

    assert played(scenario).ends == {CloseReason.MALFORMED: 1}
