"""Transforms in real processes of their own: what they return, and what becomes of those that fail."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.sources.transforming import transform_runner
from bifrost.gateway.sources.transforming.transform_runner import LOOK_NS, TransformRunner
from bifrost.records.codec.columns import Columns
from bifrost.transforms.record_transform import Direction, Failure
from support.records.transforms import BY_VALUE, all_gone, run_of, spec_of

pytestmark = pytest.mark.timeout(300)


class Case:
    """A runner with a clock that a test moves, and what it counts."""

    def __init__(self, file: Path, **bounds: int) -> None:
        self.file, self.bounds = file, bounds
        self.counts: Counter[str] = Counter()
        self.skipped_ns = 0

    def count(self, name: str, number: str, amount: int, tenant: str) -> None:
        assert (name, tenant) == ("mine", "acme")
        self.counts[number] += amount

    def now_ns(self) -> int:
        return monotonic_ns() + self.skipped_ns

    def play(self, scenario: Callable[[TransformRunner], Awaitable[None]]) -> None:
        async def whole() -> None:
            runner = TransformRunner(spec_of(self.file, **self.bounds), self.now_ns, self.count)
            try:
                await scenario(runner)
            finally:
                runner.close()
                await all_gone()

        asyncio.run(whole())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "mine.py"
    found.write_text(BY_VALUE)
    return found


async def values(
    runner: TransformRunner, *given: bytes | None, direction: Direction = Direction.PRODUCE
) -> list[bytes | None] | Failure:
    """Return the values that a batch has in the end."""
    found = await runner.run(run_of(runner.spec, given, direction))
    return [one.value for one in found.records()] if isinstance(found, Columns) else found


def test_batches_come_back_changed_from_one_process(file: Path) -> None:
    case = Case(file)

    async def scenario(runner: TransformRunner) -> None:
        assert await values(runner, b"a", None) == [b"MARK"] * 2
        both = await asyncio.gather(values(runner, b"a"), values(runner, b"b", b"c", b"d"))
        assert both == [[b"MARK"], [b"MARK"] * 3]
        assert await values(runner, b"fewer", b"x", direction=Direction.FETCH) == [b"x"]

    case.play(scenario)
    assert (case.counts["runs"], case.counts["starts"]) == (4, 1)
    assert case.counts["run_ns"] > 0


def test_the_process_inherits_nothing(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BIFROST_SECRET", "hunter2")

    async def scenario(runner: TransformRunner) -> None:
        found = await values(runner, b"environment")
        assert isinstance(found, list)
        environment, files, folder = eval(found[0] or b"")
        assert set(environment) <= {"LC_CTYPE"}  # CPython's own (PEP 538)
        # Standard streams, the socket, and the folder that is listed.
        assert len(files) <= 5
        assert folder == "/"
        failed = await values(runner, b"write")
        assert isinstance(failed, Failure)

    Case(file).play(scenario)


@pytest.mark.parametrize(
    ("value", "reason", "text"),
    [
        (b"error", "exception", "mine: the transform failed: it failed"),
        (b"fewer", "contract", "mine: the transform failed: it failed"),
        (b"crash", "crash", "mine: the transform failed: its process ended"),
        (b"bomb", "exception", "mine: the transform failed: it failed"),
    ],
)
def test_a_failure_is_of_one_batch(file: Path, value: bytes, reason: str, text: str) -> None:
    case = Case(file)

    async def scenario(runner: TransformRunner) -> None:
        assert await values(runner, value, b"x") == Failure(text, is_retriable=False)
        case.skipped_ns += 60 * LOOK_NS
        assert await values(runner, b"fine") == [b"MARK"]

    case.play(scenario)
    assert case.counts[f"failed_{reason}"] == 1


def test_an_endless_loop_is_ended(file: Path) -> None:
    case = Case(file, timeout_ms=3_000)

    async def scenario(runner: TransformRunner) -> None:
        failed = await values(runner, b"loop")
        assert failed == Failure(
            "mine: the transform failed: it took longer than 3000 ms", is_retriable=False
        )
        case.skipped_ns += 60 * LOOK_NS
        assert await values(runner, b"fine") == [b"MARK"]

    case.play(scenario)
    assert case.counts["failed_timeout"] == 1
    assert case.counts["starts"] == 2


def test_it_rests_longer_after_each_failure(file: Path) -> None:
    case = Case(file)

    async def scenario(runner: TransformRunner) -> None:
        for expected in (100, 200, 400):
            await values(runner, b"crash")
            left_ms = (runner._not_before_ns - case.now_ns()) / 1e6
            assert 0 < left_ms <= expected
            case.skipped_ns += 60 * LOOK_NS
        await values(runner, b"fine")
        assert runner._failures == 0

    case.play(scenario)


def test_a_changed_file_is_loaded_and_a_broken_one_is_not(file: Path) -> None:
    case = Case(file)

    async def scenario(runner: TransformRunner) -> None:
        assert await values(runner, b"a") == [b"MARK"]
        change(file, BY_VALUE.replace("MARK", "OTHER"))
        case.skipped_ns += LOOK_NS
        assert await values(runner, b"a") == [b"OTHER"]
        change(file, "broken (")
        case.skipped_ns += LOOK_NS
        assert await values(runner, b"a") == [b"OTHER"]
        os.unlink(file)
        case.skipped_ns += LOOK_NS
        assert await values(runner, b"a") == [b"OTHER"]

    case.play(scenario)
    assert (case.counts["reloads"], case.counts["failed_reload"]) == (1, 1)


def change(file: Path, text: str) -> None:
    """Replace a file, as editors do."""
    other = file.with_suffix(".new")
    other.write_text(text)
    os.replace(other, file)


def test_a_file_that_cannot_be_loaded_is_a_failure_that_may_pass(file: Path) -> None:
    file.write_text("x = ")
    case = Case(file)

    async def scenario(runner: TransformRunner) -> None:
        expected = Failure("mine: the transform failed: it could not be started", is_retriable=True)
        assert await values(runner, b"a") == expected
        change(file, BY_VALUE)
        case.skipped_ns += 60 * LOOK_NS
        assert await values(runner, b"a") == [b"MARK"]

    case.play(scenario)
    assert case.counts["failed_unavailable"] == 1


def test_no_more_batches_wait_than_there_is_room_for(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transform_runner, "MAX_WAITING", 2)
    case = Case(file)

    async def scenario(runner: TransformRunner) -> None:
        found = await asyncio.gather(*(values(runner, b"%d" % number) for number in range(4)))
        assert [isinstance(one, Failure) for one in found] == [False, False, True, True]
        await asyncio.sleep(0.01)
        assert runner._held == 0  # answers are counted as long as they are there alone
        kept = await runner.run(run_of(runner.spec, [b"x"]))
        assert runner._held > 0
        await asyncio.sleep(0.01)
        del kept
        assert runner._held == 0

    case.play(scenario)


def test_a_message_that_waits_no_more_does_not_harm_the_next(file: Path) -> None:
    case = Case(file)

    async def scenario(runner: TransformRunner) -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await values(runner, b"a")
        assert await values(runner, b"b", b"c") == [b"MARK"] * 2

    case.play(scenario)
    assert case.counts["starts"] == 1
