"""What the metrics are made of: the counters of one process, or the sums of all workers' (`workers/totals.py`)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bifrost.gateway.admin.context import AdminContext
from bifrost.gateway.journaling.journal_counts import JournalCounts
from bifrost.gateway.loop.loop_stalls import take_recent
from bifrost.gateway.sockets.listener_watch import ListenerWatch
from bifrost.session.close_reason import CloseReason
from bifrost.wire.engine import spare_bytes

if TYPE_CHECKING:
    from bifrost.gateway.reload.reloader import Reloader


class TrafficCounts(Protocol):
    """Those of one tenant and API, see `Traffic`."""

    @property
    def requests(self) -> int: ...  # noqa: D102

    @property
    def bytes_received(self) -> int: ...  # noqa: D102

    @property
    def bytes_sent(self) -> int: ...  # noqa: D102

    @property
    def duration_ns(self) -> int: ...  # noqa: D102

    @property
    def durations(self) -> tuple[int, ...]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class WorkerCounts:
    """What is known of one worker."""

    number: int
    is_running: bool
    starts: int
    """How often one was started in its place."""
    connections: int
    cpu_s: float
    """CPU time in seconds, of all that were in its place."""


@dataclass(frozen=True, slots=True)
class StallCounts:
    """How long an event loop kept everybody waiting, see `loop_stalls.py`."""

    worker: str
    """Whose loop; empty when there is only the one process."""
    counts: tuple[int, ...]
    largest_s: tuple[float, float, float, float]
    """Seconds: since the start, since the last look; and the most CPU time that a stall took."""


class Counted(Protocol):
    """What a gateway has counted."""

    @property
    def is_ready(self) -> bool:
        """What /readyz says."""

    @property
    def listener_watch(self) -> ListenerWatch:
        """Which ports accept."""

    @property
    def max_connections(self) -> int:
        """How many client connections may be open."""

    @property
    def reloader(self) -> "Reloader | None":
        """What reads the configuration again."""

    @property
    def mechanisms(self) -> Iterable[str]:
        """How clients may authenticate."""

    def traffic(self) -> Iterable[tuple[str, int | None, TrafficCounts]]:
        """Return tenant, API key and what was counted."""

    def connections(self) -> Mapping[str, int]:
        """Return how many connections are open, by tenant; under no name those that have not authenticated."""

    def in_flight(self) -> Iterable[tuple[str, int]]:
        """Return tenants and how many of their requests await an answer."""

    def authentications(self) -> Mapping[tuple[str, str, str], int]:
        """Return how many there were, by tenant, mechanism and outcome."""

    def ends(self) -> Mapping[CloseReason, int]:
        """Return how many connections ended, by reason."""

    def limits_hit(self) -> Iterable[tuple[tuple[str, str], int]]:
        """Return how often each limit was hit, by its setting and the tenant."""

    def internal_errors(self) -> Mapping[str, int]:
        """Return how many exceptions there were that should never have come, by place."""

    def paused_s(self, side: str) -> float:
        """Return the time in which a side was not read, in seconds."""

    def upstreams(self) -> Iterable[tuple[str, int, bool]]:
        """Return physical clusters, how many brokers of each are known, and whether it answers."""

    def buffered_bytes(self) -> int:
        """Return how many bytes of frames are held, as `max_buffered_bytes_total` counts them."""

    def spare_bytes(self) -> int:
        """Return how much memory is kept for frames to come."""

    def journal(self) -> JournalCounts | None:
        """Return what is known of the journal; None without one."""

    def workers(self) -> Iterable[WorkerCounts]:
        """Return what is known of each worker; nothing when there is only the one process."""

    def loop_stalls(self) -> Iterable[StallCounts]:
        """Return how long event loops stood still; a look begins the time anew that `largest_s` tells of."""


class OfProcess:
    """What this process has counted for its gateway."""

    def __init__(self, gateway: AdminContext) -> None:
        """Look at `gateway` whenever asked; other threads may ask."""
        self._gateway = gateway

    @property
    def is_ready(self) -> bool:
        """What /readyz says."""
        return self._gateway.is_ready

    @property
    def listener_watch(self) -> ListenerWatch:
        """Which ports accept."""
        return self._gateway.listener_watch

    @property
    def max_connections(self) -> int:
        """As the configuration in force has it."""
        return self._gateway.limits.max_connections

    @property
    def reloader(self) -> "Reloader | None":
        """The gateway's."""
        return self._gateway.reloader

    @property
    def mechanisms(self) -> Iterable[str]:
        """Those of the configuration in force."""
        return map(str, self._gateway.shared.sasl.mechanisms)

    def traffic(self) -> Iterator[tuple[str, int | None, TrafficCounts]]:
        """Yield the counters themselves."""
        yield from self._gateway.shared.lanes

    def connections(self) -> Mapping[str, int]:
        """Count them."""
        return self._gateway.count_connections()

    def in_flight(self) -> Iterator[tuple[str, int]]:
        """Yield them."""
        yield from self._gateway.shared.lanes.loads

    def authentications(self) -> Mapping[tuple[str, str, str], int]:
        """Return a copy."""
        return dict(self._gateway.shared.sasl.outcomes)

    def ends(self) -> Mapping[CloseReason, int]:
        """Return those that there were; others are 0."""
        return self._gateway.ends

    def limits_hit(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield those of connections and those of requests."""
        yield from self._gateway.limits_hit.copy().items()
        yield from self._gateway.shared.lanes.loads.hits.copy().items()

    def internal_errors(self) -> Mapping[str, int]:
        """Return a copy."""
        return self._gateway.internal_errors.counts.copy()

    def paused_s(self, side: str) -> float:
        """Return the time of the pauses that have ended."""
        return self._gateway.pauses.seconds(side)

    def upstreams(self) -> Iterator[tuple[str, int, bool]]:
        """Yield them as they were when last asked."""
        clusters = self._gateway.clusters
        for cluster in clusters:
            yield cluster.name, len(cluster.node_ids), clusters.is_up(cluster.name)

    def buffered_bytes(self) -> int:
        """Return how many bytes of frames are held."""
        return self._gateway.tenants.rooms.whole.used

    def spare_bytes(self) -> int:
        """Ask the engine."""
        return spare_bytes()

    def journal(self) -> JournalCounts | None:
        """Ask what keeps it."""
        journaling = self._gateway.journaling
        return None if journaling is None else journaling.counts()

    def workers(self) -> Iterable[WorkerCounts]:
        """There are none."""
        return ()

    def loop_stalls(self) -> Iterator[StallCounts]:
        """Yield those of the one loop."""
        stalls = self._gateway.stalls
        yield StallCounts("", tuple(stalls.counts), take_recent(stalls.marks))
