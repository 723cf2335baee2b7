"""Runs a command and watches it and all its children: seconds, CPU time, the most memory resident at once."""

import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO

import psutil

SAMPLE_S = 0.2
KEPT_LINES = 40
"""Of what the command said, for when it fails."""


class CommandError(Exception):
    """The command failed; says what it said last."""


@dataclass(frozen=True)
class Run:
    """One command that ended."""

    seconds: float
    cpu_s: float
    """User and system, of all processes."""

    peak_mib: float
    """The largest sum of the resident sizes of all processes at one moment."""

    lines: tuple[str, ...]
    """The last that it printed."""


@dataclass
class Family:
    """A process and its children, looked at again and again."""

    parent: psutil.Process
    peak_mib: float = 0.0
    cpu_s: dict[int, float] = field(default_factory=dict)

    def look(self) -> None:
        """Take a sample; one that ends meanwhile counts with what it had before."""
        resident = 0
        try:
            family = [self.parent, *self.parent.children(recursive=True)]
        except psutil.Error:
            return
        for one in family:
            try:
                with one.oneshot():
                    if _is_unborn(one):
                        continue
                    resident += one.memory_info().rss
                    times = one.cpu_times()
            except psutil.Error:
                continue
            self.cpu_s[one.pid] = times.user + times.system
        self.peak_mib = max(self.peak_mib, resident / (1 << 20))


def _is_unborn(process: psutil.Process) -> bool:
    """Return whether it is a JVM's child that has not become its own program yet.

    Until then it shares all the JVM's memory, which would be counted twice.
    """
    if not process.exe().endswith("/java"):
        return False
    parent = process.parent()
    return parent is not None and parent.exe() == process.exe()


def run_watched(*arguments: str, tell: Callable[[str], None] = lambda _line: None) -> Run:
    """Run Python with arguments to its end.

    Args:
        arguments: of the interpreter that runs this one.
        tell: is given each line that it prints.
    Raises:
        CommandError: it ended with another status than 0.
    """
    begin = time.monotonic()
    with subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        family, done = Family(psutil.Process(process.pid)), threading.Event()
        watcher = threading.Thread(target=_watch, args=(family, done))
        watcher.start()
        try:
            assert process.stdout is not None
            lines = _read(process.stdout, tell)
            status = process.wait()
        finally:
            done.set()
            watcher.join()
    if status:
        raise CommandError("\n".join([f"status {status}: python {' '.join(arguments)}", *lines]))
    return Run(time.monotonic() - begin, sum(family.cpu_s.values()), family.peak_mib, tuple(lines))


def _watch(family: Family, done: threading.Event) -> None:
    while not done.wait(SAMPLE_S):
        family.look()


def _read(stream: IO[str], tell: Callable[[str], None]) -> deque[str]:
    lines: deque[str] = deque(maxlen=KEPT_LINES)
    for line in stream:
        lines.append(line.rstrip())
        tell(lines[-1])
    return lines
