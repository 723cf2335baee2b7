"""What a process that works for the gateway may not do. It is no sandbox: its code is trusted, but for its mistakes.

Source: setrlimit(2), prctl(2).
"""

import ctypes
import resource
import signal
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38

MAX_FILES = 64
"""Open files, of which modules that are loaded have a few at a time."""


def confine(memory_bytes: int) -> None:
    """Bound this process, for good.

    It ends with its parent, writes nothing into files, gets no rights by starting a program, and has as
    much more memory as it is given: the address space that it has already is not counted.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for option, value in (
        (_PR_SET_PDEATHSIG, signal.SIGKILL),
        (_PR_SET_DUMPABLE, 0),
        (_PR_SET_NO_NEW_PRIVS, 1),
    ):
        if libc.prctl(option, value, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    for what, most in (
        (resource.RLIMIT_AS, used + memory_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, MAX_FILES),
    ):
        resource.setrlimit(what, (most, most))
