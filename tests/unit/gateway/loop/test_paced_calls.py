import asyncio
from collections import Counter
from collections.abc import Callable

from bifrost.gateway.loop.loop_guard import InternalErrors
from bifrost.gateway.loop.paced_calls import BUDGET_NS, PacedCalls


class Loop:
    """A loop whose turns and clock a test turns by hand."""

    def __init__(self, most: int = 1000) -> None:
        self.calls: list[Callable[[], None]] = []
        self.now_ns = 0
        self.paced = PacedCalls("end_of_connection", self.calls.append, lambda: self.now_ns, most)
        self.released: list[int] = []

    def leave(self, number: int, takes_ns: int = BUDGET_NS // 4) -> None:
        def release() -> None:
            self.released.append(number)
            self.now_ns += takes_ns

        self.paced.add(release)

    def turn(self) -> None:
        calls, self.calls[:] = list(self.calls), []
        for call in calls:
            call()


def test_a_call_comes_at_once_while_there_is_time() -> None:
    loop = Loop()
    loop.leave(1)
    assert loop.released == [1]


def test_many_calls_come_turn_by_turn_in_their_order() -> None:
    loop = Loop()
    for number in range(10):
        loop.leave(number)
    assert loop.released == [0, 1, 2, 3]
    assert len(loop.paced) == 6

    loop.turn()
    assert loop.released == list(range(8))
    loop.leave(10)
    loop.turn()
    assert loop.released == list(range(11))
    loop.turn()
    assert (loop.calls, len(loop.paced)) == ([], 0)


def test_the_next_turn_has_time_again() -> None:
    loop = Loop()
    for turn in range(3):
        for number in range(4):
            loop.leave(4 * turn + number)
        loop.turn()
    assert loop.released == list(range(12))


def test_no_more_calls_come_in_a_turn_than_its_number() -> None:
    loop = Loop(most=3)
    for number in range(8):
        loop.leave(number, takes_ns=0)
    assert loop.released == [0, 1, 2]

    loop.turn()
    assert loop.released == list(range(6))
    loop.turn()
    assert loop.released == list(range(8))


def test_work_that_awaits_its_turn_goes_on_in_order_and_one_that_was_cancelled_keeps_no_other() -> None:
    begun: list[int] = []

    async def scenario() -> None:
        running = asyncio.get_running_loop()
        paced = PacedCalls("connect", running.call_soon, lambda: 0, 2)

        async def work(number: int) -> None:
            await paced.turn()
            begun.append(number)

        tasks = [running.create_task(work(number)) for number in range(6)]
        await asyncio.sleep(0)
        assert begun == [0, 1]
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(scenario())

    assert begun == [0, 1, 3, 4, 5]


def test_one_that_fails_does_not_keep_the_others() -> None:
    loop = Loop()
    counts: Counter[str] = Counter()
    errors = InternalErrors(counts)

    def fail() -> None:
        raise ValueError

    async def scenario() -> None:
        errors.install(asyncio.get_running_loop())
        loop.leave(1, BUDGET_NS)
        loop.paced.add(fail)
        loop.leave(2)
        loop.turn()

    asyncio.run(scenario())

    assert loop.released == [1, 2]
    assert counts == {"end_of_connection": 1}
