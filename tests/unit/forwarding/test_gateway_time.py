"""How long the gateway keeps messages: counted for a turn of the loop, and for what is held."""

from typing import Any

import pytest

from bifrost.forwarding.gateway_time import GATEWAY_TIME_CELLS, TIME_BOUNDS_S, GatewayTime
from bifrost.gateway.sockets.frame_relay import FrameRelay
from bifrost.wire.framer import Framer
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import request_frame, response_frame
from support.stage.stage import Stage

HALF = GATEWAY_TIME_CELLS // 2
HEARTBEAT = request_frame(messages.HeartbeatRequest(group_id="g"), 4, 7)
ANSWER = response_frame(messages.HeartbeatResponse(), 4, 7)


def kept(stage: Stage) -> tuple[int, int]:
    """How many requests and responses of the tenant were kept for some time."""
    numbers = stage.shared.lanes.gateway_time("acme").numbers
    for half in (numbers[:HALF], numbers[HALF:]):
        assert (half[0] > 0) == (sum(half[1:]) > 0)
    return sum(numbers[1:HALF]), sum(numbers[HALF + 1 :])


def test_times_fall_into_buckets_of_their_direction() -> None:
    time = GatewayTime()

    time.note(False, 10_000)
    time.note(False, 10_001)
    time.note(True, 31 * 10**9)

    assert time.numbers[:4] == (20_001, 1, 1, 0)
    assert (time.numbers[HALF], time.numbers[-1]) == (31 * 10**9, 1)
    assert (TIME_BOUNDS_S[0], TIME_BOUNDS_S[-1]) == (0.00001, 30)


def test_memory_that_is_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="not enough"):
        GatewayTime(memoryview(bytearray(8)))


def test_messages_that_the_session_decides_about_count_from_when_they_came(stage: Stage) -> None:
    session = stage.play("acme").session
    unknown = {"error_code": 5, "name": physical_name("acme", "orders")}
    metadata = messages.MetadataRequest(topics=[{"name": "orders"}], allow_auto_topic_creation=False)

    session.receive_from_client(request_frame(metadata, 9, 1))
    assert kept(stage) == (1, 0)
    session.receive_from_broker(response_frame(messages.MetadataResponse(topics=[unknown]), 9, 1))

    assert kept(stage) == (1, 1)


class Side:
    """As much of a connection as a relay asks for."""

    is_reading = True

    def __init__(self) -> None:
        self.sent = b""

    def get_write_buffer_size(self) -> int:
        return 0

    def is_closing(self) -> bool:
        return False

    def get_extra_info(self, name: str) -> Any:
        return name  # What is not None is a TLS connection, whose transport writes all.

    def writelines(self, segments: list[bytes]) -> None:
        self.sent += b"".join(segments)


@pytest.mark.parametrize("number", [1, 5])
def test_a_turn_of_the_loop_counts_for_each_message_that_it_sends_on(stage: Stage, number: int) -> None:
    session, owner, broker = stage.play("acme").session, Side(), Side()
    session.receive_from_client(HEARTBEAT)  # The first one of an API is decided by the session.
    session.receive_from_broker(ANSWER)
    session.to_broker.clear()
    session.to_client.clear()
    before = kept(stage)
    relays = []
    for protocol, to in ((owner, broker), (broker, owner)):
        framer = Framer(10_000)
        relays.append((framer, FrameRelay(framer, session, owner, protocol, to)))

    for (framer, relay), frame in zip(relays, (HEARTBEAT, ANSWER), strict=True):
        stream = (len(frame).to_bytes(4, "big") + frame) * number
        view = framer.get_buffer(len(stream))
        view[: len(stream)] = stream
        relay.buffer_updated(len(stream))

    assert len(owner.sent) == number * (4 + len(ANSWER))
    assert [after - one for after, one in zip(kept(stage), before, strict=True)] == [number, number]
