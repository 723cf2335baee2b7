"""The sums of all workers' counters, with those of workers that have ended."""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from bifrost.forwarding.lanes import NO_TENANT
from bifrost.forwarding.traffic import MAX_ERROR_CELLS, OTHER_ERRORS
from bifrost.gateway.admin.counted import StallCounts, TrafficCounts, TransformCount, WorkerCounts
from bifrost.gateway.admin.kept_metrics import PARTS
from bifrost.gateway.exchange.exchange_counts import NO_SHARE, SHARE_UNITS, ExchangeCounts
from bifrost.gateway.journaling.journal_counts import JournalCounts
from bifrost.gateway.loop.loop_stalls import take_recent
from bifrost.gateway.sockets.listener_watch import ListenerWatch
from bifrost.gateway.state.state_counts import KIND, StateCounts
from bifrost.gateway.workers.shared_counters import Key, SharedCountersReader
from bifrost.gateway.workers.shared_limits import BUFFERED_BYTES, IN_FLIGHT, SPARE_BYTES
from bifrost.session.close_reason import CloseReason

if TYPE_CHECKING:
    from bifrost.gateway.reload.reloader import Reloader
    from bifrost.gateway.workers.supervisor import Supervisor

ErrorKey = tuple[str, int | None, bool, int]
"""Tenant, API key, whether the gateway itself gave it, and an error code."""

GAUGES = frozenset(
    {
        "broker_connections",
        "brokers",
        "answering",
        "journal_state",
        "state",
        "exchange",
        "exchange_shares",
        "recent_bytes",
        "used_limits",
    }
)
"""Kinds of numbers that count only while their worker runs."""


class Sums:
    """Sums by key, of the counters of running workers and of ended ones."""

    def __init__(self) -> None:
        """Start without counters."""
        self._buried: dict[Key, tuple[int, ...]] = {}
        self._readers: set[SharedCountersReader] = set()
        self._lock = threading.Lock()
        self.all: Mapping[Key, tuple[int, ...]] = {}
        """The sums of the last `refresh`."""
        self.gauges: Mapping[Key, list[int]] = {}
        """For each kind of GAUGES, the first number of each running worker."""

    def add(self, reader: SharedCountersReader) -> None:
        """Add the numbers of a worker's counters from now on."""
        with self._lock:
            self._readers.add(reader)

    def bury(self, reader: SharedCountersReader) -> None:
        """Read a worker's counters for the last time: it has ended, and its counts stay in the sums."""
        with self._lock:
            self._readers.discard(reader)
            for key, numbers in reader.read():
                if key[0] not in GAUGES:
                    _add(self._buried, key, numbers)
            reader.close()

    def refresh(self) -> None:
        """Read all counters; may be called in any thread."""
        with self._lock:
            found, gauges = dict(self._buried), dict[Key, list[int]]()
            for reader in self._readers:
                for key, numbers in reader.read():
                    if key[0] in GAUGES:
                        gauges.setdefault(key, []).append(numbers[0])
                    else:
                        _add(found, key, numbers)
            self.all, self.gauges = found, gauges


def _add(sums: dict[Key, tuple[int, ...]], key: Key, numbers: tuple[int, ...]) -> None:
    before = sums.get(key)
    sums[key] = numbers if before is None else tuple(map(sum, zip(before, numbers, strict=True)))


@dataclass(frozen=True, slots=True)
class TrafficSums:
    """The sums of the workers' `Traffic` of one tenant and API, in the order of its numbers."""

    numbers: tuple[int, ...]

    @property
    def requests(self) -> int:
        """Number of requests."""
        return self.numbers[0]

    @property
    def bytes_received(self) -> int:
        """Bytes of all requests."""
        return self.numbers[1]

    @property
    def bytes_sent(self) -> int:
        """Bytes of all responses."""
        return self.numbers[2]

    @property
    def duration_ns(self) -> int:
        """Duration of all requests that a broker answered."""
        return self.numbers[3]

    @property
    def durations(self) -> tuple[int, ...]:
        """Number of durations in each bucket."""
        return self.numbers[4:]


class OfAll:
    """The counters of all workers, for the metrics."""

    def __init__(self, supervisor: "Supervisor", sums: Sums) -> None:
        """Read the state of the supervisor's workers, and the sums of their last refresh."""
        self._supervisor, self._sums = supervisor, sums
        self._error_keys: dict[tuple[str, int | None], set[ErrorKey]] = {}

    @property
    def is_ready(self) -> bool:
        """Whether clients are accepted, and at least one worker can serve them."""
        return self._supervisor.is_ready

    @property
    def listener_watch(self) -> ListenerWatch:
        """The watch that knows which ports accept."""
        return self._supervisor.listener_watch

    @property
    def max_connections(self) -> int:
        """The limit of client connections in the configuration in force."""
        return self._supervisor.config.proxy.limits.max_connections

    @property
    def reloader(self) -> "Reloader | None":
        """The supervisor's reloader."""
        return self._supervisor.reloader

    @property
    def mechanisms(self) -> Iterable[str]:
        """The mechanisms for which a worker has counted authentications."""
        return sorted({mechanism for _, mechanism, _ in self.authentications() if mechanism})

    def traffic(self) -> Iterator[tuple[str, int | None, TrafficCounts]]:
        """Yield the sums of all workers, by tenant and API."""
        for (kind, *labels), numbers in self._sums.all.items():
            if kind == "traffic":
                tenant, api_key = labels
                assert api_key is None or isinstance(api_key, int)
                yield str(tenant), api_key, TrafficSums(numbers)

    def errors(self) -> Iterator[tuple[str, int | None, bool, int, int]]:
        """Yield the sums of all workers, with as many codes as one process tells apart."""
        found: Counter[tuple[str, int | None, bool, int]] = Counter()
        for (kind, *labels), (times, *_) in self._sums.all.items():
            if kind == "errors":
                tenant, api_key, code, is_own = labels
                assert api_key is None or isinstance(api_key, int)
                found[self._told_apart((str(tenant), api_key, bool(is_own), int(code or 0)))] += times
        for key, times in found.items():
            yield *key, times

    def _told_apart(self, key: ErrorKey) -> ErrorKey:
        """Return `key`, or the key of other codes when other workers have met as many as one may tell apart."""
        known = self._error_keys.setdefault(key[:2], set())
        if key not in known and len(known) >= MAX_ERROR_CELLS - 2:
            key = (*key[:3], OTHER_ERRORS)
        known.add(key)
        return key

    def gateway_times(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        """Yield the sums of all workers, by tenant."""
        for (kind, *labels), numbers in self._sums.all.items():
            if kind == "gateway_time":
                yield str(labels[0]), numbers

    def connections(self) -> Mapping[str, int]:
        """Add up the connections in running workers, for tenants that have or had any."""
        shared_limits, places = self._supervisor.shared_limits, dict(self._supervisor.places.by_tenant)
        seen = {tenant for tenant, _, _ in self.traffic()}
        found = {tenant: sum(shared_limits.connections(place)) for tenant, place in places.items()}
        counts = Counter({tenant: count for tenant, count in found.items() if count or tenant in seen})
        counts[NO_TENANT] = max(self._supervisor.count_open() - counts.total(), 0)
        return counts

    def in_flight(self) -> Iterator[tuple[str, int]]:
        """Yield the requests in flight, for tenants that have sent anything."""
        shared_limits, places = self._supervisor.shared_limits, self._supervisor.places.by_tenant
        seen = {tenant for tenant, _, _ in self.traffic()}
        for tenant in sorted(seen & places.keys()):
            place = places[tenant]
            yield (
                tenant,
                sum(
                    shared_limits.tenant(worker, place)[IN_FLIGHT] for worker in range(shared_limits.workers)
                ),
            )

    def authentications(self) -> Mapping[tuple[str, str, str], int]:
        """Return the sums of all workers, by tenant, mechanism and outcome."""
        return {(one, two, three): count for (one, two, three), count in self._counts("authentications", 3)}

    def ends(self) -> Mapping[CloseReason, int]:
        """Return the sums of all workers, and the connections that the supervisor refused."""
        found = Counter({CloseReason(reason): count for (reason,), count in self._counts("ends", 1)})
        found.update(self._supervisor.refused)
        return found

    def limits_hit(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield the sums of all workers, and the connections that the supervisor refused."""
        found: Counter[tuple[str, str]] = Counter()
        for kind in ("limits_hit", "waits"):
            found.update({(limit, tenant): count for (limit, tenant), count in self._counts(kind, 2)})
        refused = self._supervisor.refused[CloseReason.TOO_MANY_CONNECTIONS]
        if refused:
            found["max_connections", NO_TENANT] += refused
        yield from found.items()

    def throttled_ms(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield the sums of all workers."""
        yield from (((quota, tenant), count) for (quota, tenant), count in self._counts("throttled_ms", 2))

    def acl_denials(self) -> Mapping[tuple[str, str], int]:
        """Return the sums of all workers."""
        return {(tenant, operation): count for (tenant, operation), count in self._counts("acl_denials", 2)}

    def partitions(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Yield the sums of all workers."""
        yield from (((a, b), count) for (a, b), count in self._counts("virtual_partitions", 2))

    def transforms(self) -> Iterator[TransformCount]:
        """Yield the sums of all workers."""
        yield from (((a, b, c, d), count) for (a, b, c, d), count in self._counts("transforms", 4))

    def internal_errors(self) -> Mapping[str, int]:
        """Return the sums of all workers and the supervisor."""
        found = Counter({place: count for (place,), count in self._counts("internal_errors", 1)})
        found.update(self._supervisor.internal_errors.counts)
        return found

    def paused_s(self, side: str) -> float:
        """Return the sum of all workers for a side, in seconds."""
        return self._sums.all.get(("pauses", side), (0,))[0] / 1e9

    def broker_connections(self) -> Iterator[tuple[str, int]]:
        """Yield the sums of running workers."""
        yield from ((name, sum(counts)) for (name,), counts in self._gauges("broker_connections"))

    def recent_bytes(self) -> Iterator[tuple[str, int]]:
        """Yield the sums of running workers."""
        yield from ((tenant, sum(counts)) for (tenant,), counts in self._gauges("recent_bytes"))

    def used_limits(self) -> Iterator[tuple[str, str, float]]:
        """Yield the most of any running worker, for each counts for itself."""
        for (tenant, limit), counts in self._gauges("used_limits"):
            if max(counts) > 0:
                yield tenant, limit, max(counts) / PARTS

    def upstreams(self) -> Iterator[tuple[str, int, bool]]:
        """Yield each cluster with the most brokers that a worker knows, and whether it answers any worker."""
        for (kind, name, *_), counts in self._sums.gauges.items():
            if kind == "brokers" and max(counts) >= 0:
                answering = self._sums.gauges.get(("answering", name), [0])
                yield str(name), max(counts), bool(max(answering))

    def buffered_bytes(self) -> int:
        """Add up the bytes that running workers hold."""
        shared_limits = self._supervisor.shared_limits
        return sum(shared_limits.pulse(worker)[BUFFERED_BYTES] for worker in range(shared_limits.workers))

    def spare_bytes(self) -> int:
        """Add up the spare memory of running workers."""
        shared_limits = self._supervisor.shared_limits
        return sum(shared_limits.pulse(worker)[SPARE_BYTES] for worker in range(shared_limits.workers))

    def journal(self) -> JournalCounts | None:
        """Return the sums of all workers, and the current state of the running ones."""
        if self._supervisor.config.proxy.journal is None:
            return None
        state = {name: counts for (name,), counts in self._gauges("journal_state")}
        return JournalCounts(
            {(one, two, three): count for (one, two, three), count in self._counts("journal_dropped", 3)},
            {tenant: count for (tenant,), count in self._counts("journal_folded", 1)},
            sum(count for _, count in self._counts("journal_written", 1)),
            sum(state.get("buffer_bytes", ())),
            sum(state.get("usage_rows", ())),
            all(state.get("is_up", (0,))),
        )

    def state(self) -> StateCounts | None:
        """Return the most of any running worker, for each has a copy, and the sum of what they ignored."""
        if self._supervisor.config.proxy.state is None:
            return None
        state = {name: counts for (name,), counts in self._gauges("state")}
        return StateCounts(
            max(state.get("records", (0,))),
            max(state.get("bytes", (0,))),
            max(state.get("lag", (0,))),
            all(state.get("is_up", (0,))),
            sum(count for _, count in self._counts("state_ignored", 1)),
            sum(state.get("waiting", ())),
            {(tenant, outcome): count for (tenant, outcome), count in self._counts("state_changes", 2)},
            {outcome: count for (outcome,), count in self._counts("state_attempts", 1)},
            sum(count for _, count in self._counts("state_times_us", 1)) / 1e6,
            {name.removeprefix(KIND): max(counts) for name, counts in state.items() if name.startswith(KIND)},
        )

    def exchange(self) -> ExchangeCounts | None:
        """Return what the worker that takes part knows, the sums of all, and the smallest share in any worker."""
        if self._supervisor.config.proxy.quota_exchange is None:
            return None
        state = {name: max(counts) for (name,), counts in self._gauges("exchange")}
        shares = {
            (limit, tenant): [one / SHARE_UNITS for one in counts if one != NO_SHARE]
            for (limit, tenant), counts in self._gauges("exchange_shares")
        }
        return ExchangeCounts(
            state.get("members", 0),
            state.get("budgets", 0),
            bool(state.get("is_up", 0)),
            state.get("lag_ms", 0),
            {outcome: count for (outcome,), count in self._counts("exchange_records", 1)},
            {key: min(found) for key, found in shares.items() if found},
        )

    def workers(self) -> list[WorkerCounts]:
        """Return what the supervisor knows of each worker."""
        return self._supervisor.worker_counts()

    def loop_stalls(self) -> Iterator[StallCounts]:
        """Yield the stalls of each worker's loop and of the supervisor's."""
        shared_limits = self._supervisor.shared_limits
        for (kind, *labels), numbers in self._sums.all.items():
            if kind == "loop_stalls" and isinstance(labels[0], int):
                yield StallCounts(str(labels[0]), numbers, take_recent(shared_limits.stall_marks(labels[0])))
        own = self._supervisor.stalls
        yield StallCounts("supervisor", tuple(own.counts), take_recent(own.marks))

    def _gauges(self, kind: str) -> Iterator[tuple[tuple[str, ...], list[int]]]:
        for key, counts in self._sums.gauges.items():
            if key[0] == kind:
                yield tuple(map(str, key[1:])), counts

    def _counts(self, kind: str, labels: int) -> Iterator[tuple[tuple[str, ...], int]]:
        for key, numbers in self._sums.all.items():
            if key[0] == kind and len(key) == labels + 1:
                yield tuple(map(str, key[1:])), numbers[0]


class Processes(Collector):
    """The `process_` metrics of all processes of the gateway together."""

    _OF_FIRST = frozenset({"process_start_time_seconds", "process_max_fds", "process_cpu_seconds"})

    def __init__(self, pids: Callable[[], list[int]], worker_cpu_s: Callable[[], float]) -> None:
        """Create the collector, which reads whenever the metrics are made.

        Args:
            pids: returns the IDs of the running processes, the supervisor's own first.
            worker_cpu_s: returns the CPU time of all workers since the start, in seconds.
        """
        self._pids, self._worker_cpu_s = pids, worker_cpu_s

    def describe(self) -> list[Metric]:
        """Return no descriptions in advance."""
        return []

    def collect(self) -> Iterator[Metric]:
        """Yield each metric with the values of all processes added up."""
        found: dict[str, Metric] = {}
        for pid in self._pids():
            for metric in ProcessCollector(pid=lambda pid=pid: pid, registry=None).collect():  # type: ignore[misc]
                known = found.setdefault(metric.name, metric)
                if known is not metric and metric.name not in self._OF_FIRST:
                    known.samples = [
                        one._replace(value=one.value + other.value)
                        for one, other in zip(known.samples, metric.samples, strict=True)
                    ]
        cpu, more_s = found.get("process_cpu_seconds"), self._worker_cpu_s()
        if cpu is not None:
            cpu.samples = [one._replace(value=one.value + more_s) for one in cpu.samples]
        yield from found.values()
