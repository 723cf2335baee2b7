from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import psutil
import pytest

from bifrost.gateway.sources.child_process import ChildGone, ChildProcess, LoadFailed
from bifrost.gateway.sources.transforming.transform_runner import PROGRAM
from support.records.transforms import BY_VALUE, all_gone, spec_of


def child_of(file: Path) -> ChildProcess:
    return ChildProcess(PROGRAM, spec_of(file)._asdict())


pytestmark = pytest.mark.timeout(300)


async def ended(process: psutil.Process) -> bool:
    """Wait until a process has gone, and nothing is left of it."""
    for _ in range(1_000):
        if not process.is_running():
            return True
        await asyncio.sleep(0.02)
    return False


def test_a_process_lives_until_it_is_ended(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BY_VALUE)

    async def scenario() -> None:
        child = child_of(tmp_path / "mine.py")
        await child.begin()
        process = psutil.Process(child.pid)
        assert process.environ().keys() <= {"LC_CTYPE"}
        child.end()
        assert await ended(process)
        await all_gone()

    asyncio.run(scenario())


def test_it_says_why_it_cannot_load_a_file(tmp_path: Path) -> None:
    async def scenario() -> None:
        child = child_of(tmp_path / "gone.py")
        with pytest.raises(LoadFailed, match="FileNotFoundError"):
            await child.begin()
        child.end()
        await all_gone()

    asyncio.run(scenario())


def test_an_answer_that_is_too_long_is_none(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BY_VALUE)

    async def scenario() -> None:
        child = child_of(tmp_path / "mine.py")
        await child.begin()
        with pytest.raises(ChildGone):
            await child.ask({"direction": "no batch"}, (), -1)
        child.end()
        await all_gone()

    asyncio.run(scenario())


def test_it_says_how_it_has_ended(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(BY_VALUE)

    async def scenario() -> None:
        child = child_of(tmp_path / "mine.py")
        await child.begin()
        psutil.Process(child.pid).send_signal(signal.SIGSEGV)
        assert await child.exit_status() == -signal.SIGSEGV
        child.end()
        await all_gone()

    asyncio.run(scenario())
