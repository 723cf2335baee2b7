"""Whatever a socket takes at once and whatever waits: every byte arrives, in order, whichever side wrote it."""

import asyncio
import random
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
import uvloop

from bifrost.gateway.sockets.frame_relay import FrameRelay
from bifrost.gateway.sockets.socket_transport import SocketTransport
from bifrost.wire.framer import Framer
from support.stage import messages
from support.stage.fake_transport import framed
from support.stage.playbook import request_frame
from support.stage.stage import Stage

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]
BATCHES = 60


class Owner(asyncio.BufferedProtocol):
    """A connection that decides nothing, and is told when the socket is full."""

    is_reading = True

    def __init__(self) -> None:
        self.pauses = 0
        self.is_lost = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost.set()

    def pause_writing(self) -> None:
        self.pauses += 1

    def flush(self) -> None:
        raise AssertionError("nothing is held")


def connected() -> tuple[socket.socket, socket.socket]:
    """Two ends of a TCP connection whose buffers are small."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
        one.connect(listener.getsockname())
        other, _ = listener.accept()
    one.setblocking(False)
    return one, other


def requests(rng: random.Random) -> list[bytes]:
    """A few requests with anything between nothing and more than the socket takes."""
    found = []
    for number in range(rng.choice([1, 1, 2, 70, 200])):
        data = [{"index": 0, "records": rng.randbytes(rng.choice([0, 10, 3000]))}]
        values = {"acks": 1, "topic_data": [{"name": "orders", "partition_data": data}]}
        found.append(request_frame(messages.build("ProduceRequest", values), 9, number))
    return found


def session() -> Any:
    """A session that has served a request of this kind, so that it knows the way of the next."""
    found: Any = Stage().play("acme").session
    found._max_in_flight = 1 << 30
    found.receive_from_client(requests(random.Random(0))[0])
    found.to_broker.clear()
    return found


@pytest.mark.parametrize("new_loop", LOOPS, ids=["asyncio", "uvloop"])
@pytest.mark.parametrize("is_taken", [False, True], ids=["the loop's transport", "the gateway's own"])
@pytest.mark.parametrize("seed", range(3))
def test_every_byte_arrives_in_order(new_loop: Callable[[], Any], is_taken: bool, seed: int) -> None:
    rng = random.Random(seed)
    one, other = connected()
    received, is_full = bytearray(), threading.Event()
    slow = threading.Thread(target=read_slowly, args=(other, received, random.Random(seed), is_full))
    slow.start()

    async def play() -> tuple[bytes, int]:
        loop, owner, framer = asyncio.get_running_loop(), Owner(), Framer(1 << 20)
        transport, _ = await loop.create_connection(lambda: owner, sock=one)
        if is_taken:
            transport = SocketTransport.take(transport, owner)
        to: Any = transport
        relay, twin, expected = FrameRelay(framer, session(), owner, owner, to), session(), bytearray()
        for _ in range(BATCHES):
            frames = requests(rng)
            data = framed(*frames)
            while data:
                window = framer.get_buffer(-1)
                size = min(len(window), len(data), rng.choice([100, 10_000, 1 << 20]))
                window[:size], data = data[:size], data[size:]
                del window
                relay.buffer_updated(size)
            for frame in frames:
                twin.receive_from_client(frame)
            expected += b"".join(twin.to_broker)
            twin.to_broker.clear()
            if rng.random() < 0.3:
                transport.write(b"by the connection itself")
                expected += b"by the connection itself"
            if owner.pauses:
                is_full.set()
            if rng.random() < 0.3:
                await asyncio.sleep(0.001)
        is_full.set()
        transport.close()
        await owner.is_lost.wait()
        return bytes(expected), owner.pauses

    with asyncio.Runner(loop_factory=new_loop) as runner:
        expected, pauses = runner.run(play())
    slow.join(30)

    assert len(expected) > 1_000_000
    assert received == expected
    assert pauses > 0, "the socket was full now and then"


def read_slowly(end: socket.socket, into: bytearray, rng: random.Random, begin: threading.Event) -> None:
    begin.wait()
    while data := end.recv(rng.choice([100, 5_000, 200_000])):
        into.extend(data)
    end.close()
