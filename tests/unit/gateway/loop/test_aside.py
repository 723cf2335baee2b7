"""Long calls in other threads, for which work waits in its slices."""

import threading
from collections.abc import Iterator

import pytest

from bifrost.forwarding.work import Work
from bifrost.gateway.loop import aside
from bifrost.gateway.loop.aside import Aside
from bifrost.records.codec.compression import compress, unpack
from bifrost.records.codec.memory import Memory, MemoryBudget
from bifrost.wire.steps import set_aside
from support.stage.stage import Stage

ZSTD, MIB = 4, 1 << 20
LATER_NS = 2**62


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let calls in threads begin only when the event is set."""
    monkeypatch.setattr(aside, "WAIT_S", 0.001)
    may_begin, threads = threading.Event(), Aside()

    def late(call):  # type: ignore[no-untyped-def]
        may_begin.wait(30)
        return call()

    set_aside(lambda call: threads.begin(lambda: late(call)))
    yield may_begin
    may_begin.set()
    set_aside(None)


def test_a_result_and_an_error_come_back() -> None:
    threads = Aside()
    begun = threads.begin(lambda: 7)
    begun.end()
    failed = threads.begin(lambda: 1 // 0)
    failed.end()

    assert begun.wait()
    assert begun.result() == 7
    assert failed.wait()
    with pytest.raises(ZeroDivisionError):
        failed.result()


def test_an_error_that_says_that_time_is_up_is_that_of_the_call() -> None:
    def late() -> None:
        raise TimeoutError("of the call")

    begun = Aside().begin(late)
    begun.end()

    assert begun.wait()
    with pytest.raises(TimeoutError, match="of the call"):
        begun.result()


def test_work_pauses_until_a_batch_is_unpacked(stage: Stage, held: threading.Event) -> None:
    budget = MemoryBudget("batch", 32 * MIB)
    packed = compress(ZSTD, bytes(16 * MIB))

    def run() -> Memory:
        return unpack(ZSTD, packed, budget)

    work = Work(run, stage.namespaces["acme"])

    assert [work.go_on(0) for _ in range(3)] == [None] * 3, "others have their turn meanwhile"
    held.set()
    found = work.go_on(LATER_NS)
    assert found is not None
    assert len(found) == 16 * MIB


def test_cancelled_work_does_not_free_what_the_thread_writes_to(stage: Stage, held: threading.Event) -> None:
    budget = MemoryBudget("batch", 32 * MIB)
    packed = compress(ZSTD, bytes(16 * MIB))
    work = Work(lambda: unpack(ZSTD, packed, budget), stage.namespaces["acme"])
    assert work.go_on(0) is None
    assert budget.used >= 16 * MIB

    timer = threading.Timer(0.05, held.set)
    timer.start()
    work.cancel()

    assert held.is_set(), "it waits for the end of the call"
    assert budget.used == 0
