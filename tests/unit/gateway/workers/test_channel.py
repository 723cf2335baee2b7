"""What a supervisor and a worker say to each other, over streams that meet in memory."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from bifrost.gateway.workers.channel import Channel, ChannelClosed, Message, Refused


class Wire:
    """A writer whose bytes arrive at a reader."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self.reader = reader

    def writelines(self, parts: Any) -> None:
        self.reader.feed_data(b"".join(parts))

    def close(self) -> None:
        self.reader.feed_eof()


def played(scenario: Callable[[Channel, Channel], Awaitable[None]]) -> None:
    async def play() -> None:
        ends = asyncio.StreamReader(), asyncio.StreamReader()
        one, other = Channel(ends[0], Wire(ends[1])), Channel(ends[1], Wire(ends[0]))  # type: ignore[arg-type]
        await scenario(one, other)

    asyncio.run(play())


async def echo(message: Message, content: bytes) -> Message:
    if message["do"] == "refuse":
        raise Refused("not here")
    if message["do"] == "fail":
        raise ZeroDivisionError
    return {"was": message["do"], "size": len(content)}


def test_a_question_is_answered() -> None:
    async def scenario(one: Channel, other: Channel) -> None:
        running = [asyncio.create_task(end.run(echo)) for end in (one, other)]

        answers = await asyncio.gather(one.ask({"do": "a"}, bytes(100_000)), other.ask({"do": "b"}))

        assert [(answer["was"], answer["size"]) for answer in answers] == [("a", 100_000), ("b", 0)]
        one.close()
        other.close()
        await asyncio.gather(*running)

    played(scenario)


def test_a_refusal_and_a_bug_are_told_apart_from_silence(logged: list[dict[str, Any]]) -> None:
    async def scenario(one: Channel, other: Channel) -> None:
        running = [asyncio.create_task(end.run(echo)) for end in (one, other)]
        with pytest.raises(Refused, match=r"^not here$"):
            await one.ask({"do": "refuse"})
        with pytest.raises(Refused, match="ZeroDivisionError"):
            await one.ask({"do": "fail"})
        other.close()
        one.close()
        await asyncio.gather(*running)

    played(scenario)

    assert [entry["event"] for entry in logged] == ["internal_error"]


def test_who_waits_is_told_that_the_other_is_gone() -> None:
    async def silent(message: Message, content: bytes) -> None:
        await asyncio.sleep(60)

    async def scenario(one: Channel, other: Channel) -> None:
        running = asyncio.create_task(one.run(silent))
        asking = asyncio.create_task(one.ask({"do": "a"}))
        await asyncio.sleep(0)
        other.close()
        with pytest.raises(ChannelClosed):
            await asking
        with pytest.raises(ChannelClosed):
            await one.ask({"do": "a"})
        one.tell({"do": "nothing comes of it"})
        await running

    played(scenario)


def test_what_is_no_message_ends_it() -> None:
    async def scenario(one: Channel, other: Channel) -> None:
        one._reader.feed_data(b"\xff" * 8)
        await one.run(echo)
        with pytest.raises(ChannelClosed):
            await one.ask({"do": "a"})

    played(scenario)
