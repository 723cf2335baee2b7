"""The counters that metrics are made of: those of one process, or the sums of all workers (`workers/totals.py`)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bifrost.gateway.admin.context import AdminContext
from bifrost.gateway.exchange.exchange_counts import ExchangeCounts
from bifrost.gateway.journaling.journal_counts import JournalCounts
from bifrost.gateway.loop.loop_stalls import take_recent
from bifrost.gateway.sockets.listener_watch import ListenerWatch
from bifrost.gateway.state.state_counts import StateCounts
from bifrost.session.close_reason import CloseReason
from bifrost.wire.framer import spare_bytes

if TYPE_CHECKING:
    from bifrost.gateway.reload.reloader import Reloader


TransformCount = tuple[tuple[str, str, str, str], int]
"""Tenant, filter, direction and number (see `TransformKey`), and how much it is."""


class TrafficCounts(Protocol):
    """Counters of one tenant and API, see `Traffic`."""

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
    """How often a worker was started with this number."""
    connections: int
    cpu_s: float
    """CPU time in seconds, of all workers with this number."""


@dataclass(frozen=True, slots=True)
class StallCounts:
    """How long an event loop kept all connections waiting, see `loop_stalls.py`."""

    worker: str
    """The worker with the loop; empty when there is only one process."""
    counts: tuple[int, ...]
    largest_s: tuple[float, float, float, float]
    """Longest stall in seconds, since the start and since the last look; the same for CPU time."""


class Counted(Protocol):
    """The counters of a gateway."""

    @property
    def is_ready(self) -> bool:
        """Whether /readyz says that the gateway is ready."""

    @property
    def listener_watch(self) -> ListenerWatch:
        """The watch that knows which ports accept."""

    @property
    def max_connections(self) -> int:
        """The largest number of open client connections."""

    @property
    def reloader(self) -> "Reloader | None":
        """The object that reads the configuration again."""

    @property
    def mechanisms(self) -> Iterable[str]:
        """The mechanisms by which clients may authenticate."""

    def traffic(self) -> Iterable[tuple[str, int | None, TrafficCounts]]:
        """Return the counters of traffic with their tenant and API key."""

    def errors(self) -> Iterable[tuple[str, int | None, bool, int, int] | None]:
        """Return tenant, API key, whether the gateway itself gave it, error code (0: others), and how often.

        None is a step of the work, without an error.
        """

    def gateway_times(self) -> Iterable[tuple[str, tuple[int, ...]]]:
        """Return the tenants, with the numbers of their `GatewayTime`."""

    def connections(self) -> Mapping[str, int]:
        """Return the number of open connections by tenant; unauthenticated ones are under the empty name."""

    def broker_connections(self) -> Iterable[tuple[str, int]]:
        """Return how many connections of clients to the brokers of each physical cluster are open."""

    def in_flight(self) -> Iterable[tuple[str, int]]:
        """Return for each tenant how many of its requests await an answer."""

    def authentications(self) -> Mapping[tuple[str, str, str], int]:
        """Return the number of authentications by tenant, mechanism and outcome."""

    def ends(self) -> Mapping[CloseReason, int]:
        """Return how many connections ended, by reason."""

    def limits_hit(self) -> Iterable[tuple[tuple[str, str], int]]:
        """Return how often each limit was hit, by its setting and the tenant."""

    def throttled_ms(self) -> Iterable[tuple[tuple[str, str], int]]:
        """Return how long clients were told to wait for quotas, by quota and tenant, in milliseconds."""

    def acl_denials(self) -> Mapping[tuple[str, str], int]:
        """Return how often ACLs denied an operation, by tenant and operation."""

    def partitions(self) -> Iterable[tuple[tuple[str, str], int]]:
        """Return what virtual partitions have cost, by tenant and number."""

    def recent_bytes(self) -> Iterable[tuple[str, int]]:
        """Return for each tenant how many bytes are kept of what was fetched of virtual partitions."""

    def used_limits(self) -> Iterable[tuple[str, str, float] | None]:
        """Return tenant, limit and used part of what the tenants make brokers keep; None is a step of the work."""

    def transforms(self) -> Iterable[TransformCount]:
        """Return what each filter of records did, by tenant, filter, direction and number."""

    def internal_errors(self) -> Mapping[str, int]:
        """Return the number of unexpected exceptions, by place."""

    def paused_s(self, side: str) -> float:
        """Return the time in which a side was not read, in seconds."""

    def upstreams(self) -> Iterable[tuple[str, int, bool]]:
        """Return for each physical cluster how many of its brokers are known, and whether it answers."""

    def buffered_bytes(self) -> int:
        """Return how many bytes of frames are held, as `max_buffered_bytes_total` counts them."""

    def spare_bytes(self) -> int:
        """Return the bytes of memory that are kept for future frames."""

    def journal(self) -> JournalCounts | None:
        """Return the journal's counts; None without a journal."""

    def state(self) -> StateCounts | None:
        """Return the counts of the dynamic state; None without one."""

    def exchange(self) -> ExchangeCounts | None:
        """Return the counts of the exchange of quotas; None without one."""

    def workers(self) -> Iterable[WorkerCounts]:
        """Return the counts of each worker; none when there is only one process."""

    def loop_stalls(self) -> Iterable[StallCounts]:
        """Return the stalls of event loops; each call resets the maxima since the last look in `largest_s`."""


class OfProcess:
    """The counters of a gateway that is this process alone."""

    def __init__(self, gateway: AdminContext) -> None:
        """Read `gateway` at each call; other threads may call."""
        self._gateway = gateway

    @property
    def is_ready(self) -> bool:
        """Whether /readyz says that the gateway is ready."""
        return self._gateway.is_ready

    @property
    def listener_watch(self) -> ListenerWatch:
        """The watch that knows which ports accept."""
        return self._gateway.listener_watch

    @property
    def max_connections(self) -> int:
        """The limit of client connections in the configuration in force."""
        return self._gateway.limits.max_connections

    @property
    def reloader(self) -> "Reloader | None":
        """The gateway's reloader."""
        return self._gateway.reloader

    @property
    def mechanisms(self) -> Iterable[str]:
        """The mechanisms of the configuration in force."""
        return map(str, self._gateway.shared.sasl.mechanisms)

    def traffic(self) -> Iterator[tuple[str, int | None, TrafficCounts]]:
        """Yield the counters of traffic themselves, not copies."""
        yield from self._gateway.shared.lanes

    def errors(self) -> Iterator[tuple[str, int | None, bool, int, int] | None]:
        """Yield the error codes of each tenant and API."""
        for tenant, api_key, traffic in self._gateway.shared.lanes:
            yield None
            for code, is_own, times in traffic.errors:
                yield tenant, api_key, is_own, code, times

    def gateway_times(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the tenants and their numbers."""
        for tenant, one in self._gateway.shared.lanes.gateway_times():
            yield tenant, one.numbers

    def connections(self) -> Mapping[str, int]:
        """Count the open connections, by tenant."""
        return self._gateway.count_connections()

    def broker_connections(self) -> Iterator[tuple[str, int]]:
        """Yield how many there are in this process."""
        yield from self._gateway.broker_connections.copy().items()

    def in_flight(self) -> Iterator[tuple[str, int]]:
        """Yield tenants and the number of their requests in flight."""
        yield from self._gateway.shared.lanes.in_flight_limits

    def authentications(self) -> Mapping[tuple[str, str, str], int]:
        """Return a copy of the authentications by tenant, mechanism and outcome."""
        return dict(self._gateway.shared.sasl.outcomes)

    def ends(self) -> Mapping[CloseReason, int]:
        """Return the number of ends by reason; reasons that never occurred are 0."""
        return self._gateway.ends

    def limits_hit(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield the limits that connections have hit, and those that requests have hit; some are hit by both."""
        found = self._gateway.limits_hit.copy()
        found.update(self._gateway.shared.lanes.in_flight_limits.hits.copy())
        yield from found.items()

    def throttled_ms(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield how long clients were told to wait, by quota and tenant."""
        yield from self._gateway.shared.quotas.throttled_ms.copy().items()

    def acl_denials(self) -> Mapping[tuple[str, str], int]:
        """Return a copy of the denials by tenant and operation."""
        return self._gateway.shared.virtual_clusters.acls.denials.copy()

    def partitions(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield what virtual partitions have cost in this process."""
        yield from self._gateway.shared.virtual_clusters.partition_counts.copy().items()

    def recent_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield what is kept in this process."""
        recent = self._gateway.shared.virtual_clusters.models.recent
        if recent is not None:
            yield from recent.held.copy().items()

    def used_limits(self) -> Iterator[tuple[str, str, float] | None]:
        """Yield what is used of limits in this process."""
        yield from self._gateway.shared.virtual_clusters.used_limits()

    def transforms(self) -> Iterator[TransformCount]:
        """Yield what each filter of records did in this process."""
        records = self._gateway.shared.virtual_clusters.records
        if records is not None:
            yield from records.counts.copy().items()

    def internal_errors(self) -> Mapping[str, int]:
        """Return a copy of the unexpected exceptions by place."""
        return self._gateway.internal_errors.counts.copy()

    def paused_s(self, side: str) -> float:
        """Return the time of the pauses that have ended."""
        return self._gateway.pauses.seconds(side)

    def upstreams(self) -> Iterator[tuple[str, int, bool]]:
        """Yield each physical cluster's state when it was last asked."""
        clusters = self._gateway.clusters
        for cluster in clusters:
            yield cluster.name, len(cluster.node_ids), clusters.is_up(cluster.name)

    def buffered_bytes(self) -> int:
        """Return how many bytes of frames are held."""
        return self._gateway.tenants.rooms.of_all.used

    def spare_bytes(self) -> int:
        """Return the engine's spare memory in bytes."""
        return spare_bytes()

    def journal(self) -> JournalCounts | None:
        """Return the counts of the gateway's journal; None without one."""
        journaling = self._gateway.journaling
        return None if journaling is None else journaling.counts()

    def state(self) -> StateCounts | None:
        """Return the counts of the gateway's dynamic state; None without one."""
        state = self._gateway.state
        return None if state is None else state.counts()

    def exchange(self) -> ExchangeCounts | None:
        """Return the counts of the gateway's exchange of quotas; None without one."""
        exchange = self._gateway.exchange
        return None if exchange is None else exchange.counts()

    def workers(self) -> Iterable[WorkerCounts]:
        """Return none: there is only one process."""
        return ()

    def loop_stalls(self) -> Iterator[StallCounts]:
        """Yield the stalls of this process's loop."""
        stalls = self._gateway.stalls
        yield StallCounts("", tuple(stalls.counts), take_recent(stalls.marks))
