import asyncio
import socket
from typing import Any

import pytest

from bifrost.gateway.clients import coupling
from bifrost.gateway.clients.coupling import couple, frames_of
from bifrost.gateway.sockets.frame_relay import FrameRelay
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.wire.framer import Framer
from support.stage.fake_transport import framed
from support.stage.playbook import PHYSICAL_CLIENT_ID, request_frame, response_frame
from unit.gateway.sockets.test_frame_relay import ANSWER, HEARTBEAT, PHYSICAL, FakeBrokerSide, Owner, Pair


class BrokerSide(Owner):
    """The broker's side, with a framer and whatever transport there is."""

    def __init__(self) -> None:
        super().__init__()
        self.framer = Framer(1000)
        self.transport: Any = None


def test_sides_are_coupled_when_both_are_there() -> None:
    pair, broker = Pair(), FakeBrokerSide()
    owner: Any = pair.owner
    side: Any = broker
    side.transport, side.framer = None, Framer(1000)

    couple(owner, pair.as_transport(pair.client), Framer(1000), side, pair.session)
    couple(owner, None, Framer(1000), side, pair.session)
    assert pair.client.protocol is None

    side.transport = pair.broker
    couple(owner, pair.as_transport(pair.client), Framer(1000), side, pair.session)
    assert isinstance(pair.client.protocol, FrameRelay)
    assert isinstance(pair.broker.protocol, FrameRelay)


def test_a_framer_that_has_failed_gives_no_frames() -> None:
    framer = Framer(10)
    framer.get_buffer(-1)[:4] = (11).to_bytes(4, "big")

    assert frames_of(framer, 4) == []
    assert framer.failed is not None


def test_a_broker_s_connection_is_taken_from_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ends are sockets here: frames go through to the other end."""

    monkeypatch.setattr(coupling, "set_up_socket", lambda _transport: None)  # These have no TCP.

    async def play() -> None:
        loop, pair, side = asyncio.get_running_loop(), Pair(), BrokerSide()
        (inner, client), (broker_inner, broker) = socket.socketpair(), socket.socketpair()
        for one in (inner, client, broker):
            one.setblocking(False)
        transport = SocketTransport(loop, inner, pair.owner, None)  # type: ignore[arg-type]
        side.transport, _ = await loop.create_connection(lambda: side, sock=broker_inner)  # type: ignore[arg-type, return-value]
        before = side.transport

        couple(pair.owner, transport, pair.from_client, side, pair.session)  # type: ignore[arg-type]
        await asyncio.sleep(0)

        assert isinstance(side.transport, SocketTransport)
        assert (before.is_closing(), side.transport.is_reading()) == (True, True)
        assert pair.owner.told == []
        transport.resume_reading()
        await loop.sock_sendall(client, framed(request_frame(HEARTBEAT, 4, 2)))
        assert await loop.sock_recv(broker, 1000) == framed(request_frame(PHYSICAL, 4, 2, PHYSICAL_CLIENT_ID))
        await loop.sock_sendall(broker, framed(response_frame(ANSWER, 4, 2)))
        assert await loop.sock_recv(client, 1000) == framed(response_frame(ANSWER, 4, 2))
        taken = side.transport
        couple(pair.owner, transport, pair.from_client, side, pair.session)  # type: ignore[arg-type]
        assert side.transport is taken

        client.close()
        await asyncio.sleep(0.05)
        assert pair.owner.told == ["eof", None]
        side.transport.close()
        assert await loop.sock_recv(broker, 1000) == b""
        broker.close()
        await asyncio.sleep(0.05)
        assert side.told == [None]

    asyncio.run(play())


def test_what_waits_to_be_written_stays_with_the_event_loop() -> None:
    pair, side = Pair(), BrokerSide()
    client: Any = pair.client
    side.transport = broker = pair.as_transport(pair.broker)
    pair.broker.unwritten_bytes = 1

    couple(pair.owner, client, pair.from_client, side, pair.session)  # type: ignore[arg-type]

    assert side.transport is broker
