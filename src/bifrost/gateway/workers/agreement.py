"""How workers change to another configuration: all of them, or none.

prepare ──all can──▶ take           a worker that dies is no obstacle: the next one starts with the one in force then
   └────one cannot──▶ abandon
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from bifrost.gateway.errors import StartError
from bifrost.gateway.workers.channel import ChannelClosed, Message, Refused

TIMEOUT_S = 240.0
"""Time for all workers to check whether they can use a configuration: less than `bifrost reload` waits."""


class Asked(Protocol):
    """One end of a `Channel`, as far as it is used here."""

    def tell(self, message: Message, content: bytes = b"") -> None:
        """Send a message that needs no answer."""

    async def ask(self, message: Message, content: bytes = b"") -> Message:
        """Send a message and return its answer."""


class Party(Protocol):
    """A worker: a `Child`."""

    @property
    def number(self) -> int:
        """The worker's number."""

    @property
    def channel(self) -> Asked | None:
        """The channel to the worker; None while there is none yet."""


P = TypeVar("P", bound=Party)


async def agree(parties: Sequence[Party], content: bytes) -> None:
    """Ask all workers whether they can use a configuration; if one cannot, none uses it.

    Args:
        parties: the workers.
        content: a `Handover` as bytes.
    Raises:
        StartError: a worker cannot; the text has the reasons of all that cannot, each reason once.
    """
    answers = await _ask_all(parties, "prepare", content)
    refusals = [error for _, error in answers if error is not None]
    if refusals:
        for party in parties:
            if party.channel is not None:
                party.channel.tell({"do": "abandon"})
        raise StartError("; ".join(dict.fromkeys(refusals)))


async def take(parties: Sequence[P]) -> list[tuple[P, str]]:
    """Let the workers use the configuration that they have agreed to; return those that failed, and why."""
    return [(party, error) for party, error in await _ask_all(parties, "take") if error is not None]


async def _ask_all(parties: Iterable[P], what: str, content: bytes = b"") -> list[tuple[P, str | None]]:
    """Send all workers the same request; return for each why it failed, None if it succeeded or the worker is gone."""

    async def ask(party: P) -> tuple[P, str | None]:
        try:
            if party.channel is not None:
                async with asyncio.timeout(TIMEOUT_S):
                    await party.channel.ask({"do": what}, content)
        except Refused as error:
            return party, str(error)
        except TimeoutError:
            return party, f"worker {party.number} did not answer within {TIMEOUT_S:.0f} s"
        except ChannelClosed:
            pass
        return party, None

    return await asyncio.gather(*(ask(one) for one in parties))
