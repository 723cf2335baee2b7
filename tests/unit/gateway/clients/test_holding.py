"""What a connection holds, through a real client's connection with played sockets."""

from typing import Any

import pytest

from bifrost.forwarding.rooms import Rooms
from bifrost.gateway.clients.holding import Holding
from bifrost.session.close_reason import CloseReason
from bifrost.wire.framer import Framer
from support.stage.fake_transport import FakeTransport, framed, receive

from .line import FakeGateway, Line, connected, played, settled

pytestmark = pytest.mark.usefixtures("connects")
MIB = 1 << 20


def limit(gateway: FakeGateway, total: int = 8 * MIB, each: int = 4 * MIB) -> Rooms:
    rooms: Rooms = gateway.tenants.rooms
    rooms.limit(total, each, MIB, {})
    return rooms


def beginning(size: int) -> bytes:
    return size.to_bytes(4, "big") + bytes(5000)


def test_a_client_without_room_is_not_read_until_there_is_some() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        rooms = limit(gateway)
        one, two = await connected(gateway), await connected(gateway)
        receive(one.connection, beginning(3 * MIB))

        receive(two.connection, beginning(3 * MIB))

        assert one.client.is_reading()
        assert not two.client.is_reading()
        assert rooms.is_short_for("acme")
        limit(gateway, total=16 * MIB, each=8 * MIB)
        await settled()
        assert two.client.is_reading()

    played(scenario)


def test_a_broker_is_not_read_for_a_tenant_without_room_but_for_one_answer() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        limit(gateway)
        one, two = await connected(gateway), await connected(gateway)

        receive(one.broker_side, beginning(3 * MIB))
        receive(two.broker_side, beginning(3 * MIB))

        assert one.broker_side.transport.is_reading()
        assert not two.broker_side.transport.is_reading()
        assert two.client.is_reading()

    played(scenario)


def test_an_end_gives_back_what_was_counted_of_chunks() -> None:
    async def scenario(gateway: FakeGateway) -> None:
        rooms = limit(gateway)
        stranger, one = Line(gateway), await connected(gateway)
        receive(stranger.connection, (100).to_bytes(4, "big") + b"x")
        receive(one.connection, (100).to_bytes(4, "big") + b"x")
        assert rooms.of_all.used == 4096 + 65536

        stranger.connection.end(CloseReason.SHUTDOWN, "")
        one.connection.end(CloseReason.SHUTDOWN, "")

        assert rooms.of_all.used == 0

    played(scenario)


class Ends:
    """As much of a connection as is ended."""

    def __init__(self) -> None:
        self.has_ended = False
        self.ends: list[CloseReason] = []

    def end(self, reason: CloseReason, detail: str) -> None:
        self.has_ended = True
        self.ends.append(reason)

    def update_reading(self) -> None:
        pass


def holding() -> tuple[Any, Any, Ends, Rooms]:
    rooms, connection, framer = Rooms(lambda call: None), Ends(), Framer(1 << 30)
    rooms.limit(8 * MIB, 4 * MIB, MIB, {})
    made = Holding(rooms, framer, connection)  # type: ignore[arg-type]
    made.let_in("acme")
    return made, framer, connection, rooms


def fill(framer: Any, data: bytes) -> list[Any]:
    buffer = framer.get_buffer()
    buffer[: len(data)] = data
    frames: list[Any] = framer.buffer_updated(len(data))
    return frames


@pytest.mark.parametrize("size", [100, 3 * MIB])
def test_a_frame_that_is_unfinished_for_too_long_ends_its_connection(size: int) -> None:
    one, framer, connection, _ = holding()
    fill(framer, size.to_bytes(4, "big") + b"x")
    framer.see()
    one.look(1_000, 500, is_read=True)
    fill(framer, b"y")

    one.look(1_499, 500, is_read=True)
    assert not connection.ends
    one.look(1_500, 500, is_read=True)

    assert connection.ends == [CloseReason.FRAME_TIMEOUT]


def test_frames_that_come_one_after_the_other_end_nothing() -> None:
    one, framer, connection, _ = holding()
    for number in range(10):
        fill(framer, framed(bytes(100))[:50])
        one.look(number * 400, 500, is_read=True)
        assert len(fill(framer, framed(bytes(100))[50:])) == 1

    one.look(10_000, 500, is_read=True)
    one.look(20_000, 500, is_read=True)

    assert not connection.ends


def test_a_frame_that_waits_for_room_has_time() -> None:
    one, framer, connection, rooms = holding()
    _, other, _, _ = holding()
    other.enter(rooms.room("acme"))
    fill(other, beginning(3 * MIB))
    assert other.see()
    fill(framer, beginning(3 * MIB))
    assert not framer.see()

    for now_ms in (1_000, 2_000, 3_000):
        one.look(now_ms, 500, is_read=True)

    assert not connection.ends


def test_a_frame_that_the_gateway_does_not_read_has_time() -> None:
    one, framer, connection, _ = holding()
    fill(framer, (100).to_bytes(4, "big") + b"x")

    for now_ms in (1_000, 2_000, 3_000):
        one.look(now_ms, 500, is_read=False)
    one.look(4_000, 500, is_read=True)
    assert not connection.ends
    one.look(4_500, 500, is_read=True)

    assert connection.ends == [CloseReason.FRAME_TIMEOUT]


def let_others_wait(rooms: Rooms, tenant: str, held: int) -> tuple[Any, Any]:
    """Let one of a tenant's connections hold so much, and another one wait for 3 MiB."""
    framers = Framer(1 << 30), Framer(1 << 30)
    for framer, size in zip(framers, (held, 3 * MIB), strict=True):
        framer.enter(rooms.room(tenant))
        fill(framer, beginning(size))
        if not framer.see():
            rooms.wait(tenant, framer, Ends())
    return framers


@pytest.mark.parametrize(
    ("tenant", "held", "is_ended"),
    [("acme", 2 * MIB, True), ("other", 2 * MIB, False), (None, 0, False)],
)
def test_who_reads_nothing_ends_only_while_it_keeps_others_waiting(
    tenant: str | None, held: int, is_ended: bool
) -> None:
    one, _framer, connection, rooms = holding()
    transport = FakeTransport()
    one._transports = [transport]
    transport.unwritten_bytes = 70_000
    held_by = None if tenant is None else let_others_wait(rooms, tenant, held)

    one.look(1_000, 500, is_read=True)
    one.look(1_499, 500, is_read=True)
    assert not connection.ends
    one.look(1_500, 500, is_read=True)

    assert connection.ends == ([CloseReason.STALLED] if is_ended else [])
    del held_by


def test_who_reads_nothing_ends_when_the_process_has_no_room_for_another_tenant() -> None:
    one, _framer, connection, rooms = holding()
    rooms.limit(4 * MIB, 4 * MIB, MIB, {})
    transport = FakeTransport()
    one._transports = [transport]
    transport.unwritten_bytes = 70_000
    full = let_others_wait(rooms, "big", 3 * MIB)
    short = let_others_wait(rooms, "short", 1)

    one.look(1_000, 500, is_read=True)
    one.look(1_500, 500, is_read=True)

    assert connection.ends == [CloseReason.STALLED]
    del full, short


@pytest.mark.parametrize("least", [0, 64 * 1024])
def test_who_reads_slowly_or_has_little_to_read_goes_on(least: int) -> None:
    one, _framer, connection, rooms = holding()
    transport = FakeTransport()
    one._transports = [transport]
    held_by = let_others_wait(rooms, "acme", 2 * MIB)

    for number in range(10):
        transport.unwritten_bytes = least + (100 - number if least else 5_000)
        one.look(number * 400, 500, is_read=True)

    assert not connection.ends
    del held_by
