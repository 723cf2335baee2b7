"""Keeps the memory of a process that has keys out of core files and of other processes of its user.

Linux has PR_SET_DUMPABLE for it: no core file is written, and no other process of the same user may attach to this one
or read its memory by /proc. Elsewhere the size of core files is set to 0, which is all there is.

Source: prctl(2), setrlimit(2).
"""

import ctypes
import resource
import sys

_PR_SET_DUMPABLE = 4


def forbid_core_dumps() -> None:
    """Let no core file of this process be written.

    Raises:
        OSError: the system does not allow it to be forbidden.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
    if sys.platform == "linux":
        library = ctypes.CDLL(None, use_errno=True)
        if library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE)")
