"""Answers of brokers that have to be decoded for a single address: large ones in steps.

a broker's answer ──small──▶ decoded, changed and encoded at once
                  └─large──▶ Work, in turns with what other connections have to be routed
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.work import Work
from bifrost.gateway.routing.route_turns import SLICE_NS

if TYPE_CHECKING:
    from bifrost.gateway.routing.router import Router, Turn

Buffer = bytes | memoryview

AT_ONCE_BYTES = 16_384
"""An answer of more bytes may name a thousand topics, which takes a millisecond."""


def give_decoded(router: "Router", turn: "Turn", size: int, make: Callable[[], Buffer]) -> None:
    """Give an answer that has to be made of what brokers have sent.

    Args:
        router: of the client.
        turn: the answer's place.
        size: bytes that brokers have sent for it.
        make: returns the answer, a frame without its length. It may pause in the engine's loops, and in `in_steps`.
    """
    if size <= AT_ONCE_BYTES:
        router.answer(turn, make())
    else:
        router.start(_give(router, turn, make))


async def _give(router: "Router", turn: "Turn", make: Callable[[], Buffer]) -> None:
    work, made = Work(make), list[Buffer]()

    def step() -> bool:
        found = work.go_on(monotonic_ns() + SLICE_NS)
        if found is not None:
            made.append(found)
        return found is None

    try:
        await router.in_turns(step)
    finally:
        work.cancel()  # The client may have gone.
    if not router.is_closed:
        router.answer(turn, made[0])
