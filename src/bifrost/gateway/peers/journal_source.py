"""As whom a process writes in the journal: so that (gateway ID, epoch, sequence number) is never there twice.

A gateway of several workers writes as several: each numbers its own records, which takes no agreement with the others
and leaves no gap when one of them dies. A name in the configuration has no `/`, so no other gateway is called like a
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
    """Return what the gateway is called in the journal."""
    return settings.gateway_id or socket.gethostname()


def source_alone(settings: Journal) -> Source:
    """Return as whom the only process of a gateway writes."""
    # The clock of the wall: it is larger at each start, as long as nobody turns it back.
    return Source(gateway_name(settings), wall_ms())


def source_of_worker(settings: Journal, number: int, epoch: int) -> Source:
    """Return as whom one worker of several writes.

    Args:
        settings: the configuration's section.
        number: the worker's place, from 0.
        epoch: larger for each worker that is started.
    """
    return Source(f"{gateway_name(settings)}/{number}", epoch)
