"""The source in a process's journal records, so that (gateway ID, epoch, sequence number) is never there twice.

Each worker of a gateway writes as its own source and numbers its own records, which needs no agreement with the others
and leaves no gap when one of them dies. A name in the configuration has no `/`, so no other gateway has the name of a
worker.
"""

import socket
import time

from bifrost.config.fields.journal import Journal
from bifrost.journal.record import Source


def wall_ms() -> int:
    """Return the time since 1970, in milliseconds."""
    return time.time_ns() // 1_000_000


def gateway_name(settings: Journal) -> str:
    """Return the gateway's name in the journal."""
    return settings.gateway_id or socket.gethostname()


def source_alone(settings: Journal) -> Source:
    """Return the source of the only process of a gateway."""
    # Wall-clock time: it is larger at each start, unless the clock is set back.
    return Source(gateway_name(settings), wall_ms())


def source_of_worker(settings: Journal, number: int, epoch: int) -> Source:
    """Return the source of one worker of several.

    Args:
        settings: the configuration's section of the journal.
        number: the worker's number, from 0.
        epoch: larger for each worker that is started.
    """
    return Source(f"{gateway_name(settings)}/{number}", epoch)
