"""Keeps one of the machine's cores for one process: "a core free for the gateway", on a machine with few."""

import os
from collections.abc import Iterator, Set
from contextlib import contextmanager, suppress

import psutil


@contextmanager
def core_of_its_own(pid: int) -> Iterator[None]:
    """Let a process have the last core alone; this process and what it has started share all others meanwhile.

    Raises:
        RuntimeError: there is only one core.
    """
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        raise RuntimeError("there is one core, so no process can have one of its own")
    own, others = {cores[-1]}, set(cores[:-1])
    family = [os.getpid(), *(one.pid for one in psutil.Process().children(recursive=True))]
    try:
        for one in family:
            _bind(one, own if one == pid else others)
        yield
    finally:
        for one in family:
            _bind(one, set(cores))


def _bind(pid: int, cores: Set[int]) -> None:
    """Let all threads of a process run on these cores; threads that they start later do so too."""
    with suppress(psutil.NoSuchProcess):
        for thread in psutil.Process(pid).threads():
            with suppress(ProcessLookupError):  # It has ended.
                os.sched_setaffinity(thread.id, cores)
