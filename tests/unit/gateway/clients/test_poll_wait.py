import asyncio

from bifrost.filters.steps import OthersPoll
from bifrost.gateway.clients.poll_wait import PollWait
from bifrost.tenancy.recent_records.shared_poll import PollEnd

MS = 1_000_000


async def _settle() -> None:
    for _ in range(3):
        await asyncio.sleep(0)


def test_it_calls_once_a_little_after_the_first_answer_has_come() -> None:
    async def run() -> None:
        ends, called = [PollEnd(), PollEnd()], list[int]()
        PollWait(OthersPoll(frozenset(ends), 60_000 * MS), 0, lambda: called.append(1))
        ends[0].come()
        assert called == []
        ends[1].come()
        await _settle()

        assert called == [1]

    asyncio.run(run())


def test_it_calls_when_the_time_is_over() -> None:
    async def run() -> None:
        end, called = PollEnd(), asyncio.Event()
        PollWait(OthersPoll(frozenset({end}), 20 * MS), 0, called.set)
        await asyncio.wait_for(called.wait(), 5)
        called.clear()
        end.come()
        await _settle()

        assert not called.is_set()

    asyncio.run(run())


def test_an_answer_that_has_come_already_is_told() -> None:
    async def run() -> None:
        end, called = PollEnd(), list[int]()
        end.come()
        PollWait(OthersPoll(frozenset({end}), 60_000 * MS), 0, lambda: called.append(1))
        await _settle()

        assert called == [1]

    asyncio.run(run())


def test_one_that_has_left_is_not_called() -> None:
    async def run() -> None:
        end, called = PollEnd(), list[int]()
        wait = PollWait(OthersPoll(frozenset({end}), 10 * MS), 0, lambda: called.append(1))
        wait.leave()
        end.come()
        await asyncio.sleep(0.03)

        assert called == []

    asyncio.run(run())
