"""All workers go on with another configuration, or none."""

import asyncio
from dataclasses import dataclass, field

import pytest

from bifrost.gateway.errors import StartError
from bifrost.gateway.workers import agreement
from bifrost.gateway.workers.agreement import agree, take
from bifrost.gateway.workers.channel import ChannelClosed, Message, Refused


@dataclass
class Worker:
    """One of them, and what it says."""

    number: int
    says: Exception | None = None
    is_silent: bool = False
    heard: list[str] = field(default_factory=list)

    @property
    def channel(self) -> "Worker":
        return self

    def tell(self, message: Message, content: bytes = b"") -> None:
        self.heard.append(message["do"])

    async def ask(self, message: Message, content: bytes = b"") -> Message:
        self.heard.append(message["do"])
        if self.is_silent:
            await asyncio.sleep(60)
        if self.says is not None:
            raise self.says
        return {}


class Starting:
    """One that cannot be spoken to yet."""

    number, channel = 9, None


def test_when_all_can_all_do() -> None:
    workers = [Worker(0), Worker(1)]

    async def scenario() -> None:
        await agree([*workers, Starting()], b"")
        assert await take([*workers, Starting()]) == []

    asyncio.run(scenario())

    assert [one.heard for one in workers] == [["prepare", "take"]] * 2


def test_when_one_cannot_none_does_and_a_reason_is_told_once() -> None:
    workers = [Worker(0), Worker(1, Refused("no such broker")), Worker(2, Refused("no such broker"))]

    with pytest.raises(StartError, match=r"^no such broker$"):
        asyncio.run(agree(workers, b""))

    assert [one.heard for one in workers] == [["prepare", "abandon"]] * 3


def test_one_that_is_gone_is_no_obstacle() -> None:
    workers = [Worker(0), Worker(1, ChannelClosed())]

    asyncio.run(agree(workers, b""))

    assert workers[0].heard == ["prepare"]


def test_one_that_does_not_answer_is_an_obstacle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "TIMEOUT_S", 0.01)

    with pytest.raises(StartError, match="worker 1 did not answer"):
        asyncio.run(agree([Worker(0), Worker(1, is_silent=True)], b""))


def test_one_that_fails_after_it_has_agreed_is_named() -> None:
    failing = Worker(1, Refused("boom"))

    assert asyncio.run(take([Worker(0), failing])) == [(failing, "boom")]
