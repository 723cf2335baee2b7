"""The priorities of processes that would run on other machines, and here share the cores with what is measured."""

import os
from contextlib import suppress
from pathlib import Path

LOWEST_PRIORITY = 19
_GROUP = Path("/proc/self/autogroup")
"""Linux gives each session a group of its own (CONFIG_SCHED_AUTOGROUP): a nice value counts within it alone, and the
group has one of its own."""


def give_way(nice: int = LOWEST_PRIORITY) -> None:
    """Run this process at this nice value, beside those of all other sessions too.

    It becomes the leader of a session, so Ctrl-C in a terminal does not reach it: its parent has to end it.
    """
    os.setpriority(os.PRIO_PROCESS, 0, nice)
    with suppress(PermissionError):  # It leads one already.
        os.setsid()
    with suppress(OSError):  # A kernel without such groups, or a container that may not write there.
        _GROUP.write_text(str(nice), "ascii")


def go_first() -> bool:
    """Run this process before all others whenever it has something to do, as on a core of its own.

    For one that hardly works and takes the time: what it waits for a core would count as the time of what it measures.

    Returns:
        Whether that is so: it needs CAP_SYS_NICE (sched(7), SCHED_FIFO).
    """
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except PermissionError:
        return False
    return True
