"""Makes room in the table of the process's descriptors for all connections before the first one comes.

Linux doubles the table when it is full. In a process with threads it waits until no other one may still look at the old
table, for 10 to 17 ms, and with it waits the event loop that only wanted a socket.

Source: expand_fdtable in Linux's fs/file.c.
"""

import fcntl
import os
import resource

OTHERS = 256
"""Descriptors that are no connections: listeners, files, the event loop's own."""


def make_room(connections: int) -> int:
    """Make room for the descriptors of so many clients, each with a connection to a broker.

    Returns:
        For how many there is room: no more than the process may have.
    """
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = 2 * connections + OTHERS
    if soft != resource.RLIM_INFINITY:
        most = min(most, soft)
    some = os.open(os.devnull, os.O_RDONLY)
    try:
        # The table grows to hold this number, or the next one that is free, and stays as it is.
        os.close(fcntl.fcntl(some, fcntl.F_DUPFD_CLOEXEC, most - 1))
    except OSError:  # There is none: the table is as large as it can be.
        pass
    finally:
        os.close(some)
    return most
