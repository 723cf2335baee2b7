from typing import Any

from bifrost.gateway.coupling import couple, frames_of
from bifrost.gateway.leg import Leg
from bifrost.wire.engine import Framer

from .test_leg import FakeBrokerSide, Pair


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
    assert isinstance(pair.client.protocol, Leg)
    assert isinstance(pair.broker.protocol, Leg)


def test_a_framer_that_has_failed_gives_no_frames() -> None:
    framer = Framer(10)
    framer.get_buffer(-1)[:4] = (11).to_bytes(4, "big")

    assert frames_of(framer, 4) == []
    assert framer.failed is not None
