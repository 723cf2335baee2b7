"""The parts of a run: each puts its workloads on all subjects, in turns, and fills its tables."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field

from bench import goals
from bench.end_to_end import RATE, measure_end_to_end
from bench.laboratory import Laboratory
from bench.measure import measure_round_trips, measure_throughput
from bench.memory import measure_memory
from bench.percentiles import percentile
from bench.real_clients import JavaProducer, measure_consumer, measure_producer, measure_requests
from bench.subjects import PLAINTEXT, TLS, Subject
from bench.table import Table
from bench.topics import Topics
from bench.workloads import bulk_workloads, small_workloads, tiny_produce

TLS_VERSIONS = (9, 12)
"""What goes by names alone: by IDs it costs the same, and TLS adds nothing to that."""
MOST_TENANTS = 10_000
PARTS = ("bulk", "small", "latency", "clients", "memory")


@dataclass(frozen=True)
class Pace:
    """How long everything is measured."""

    rounds: int = 4
    bulk_s: float = 0.6
    small_s: float = 0.4
    latency_s: float = 2.0
    latency_rounds: int = 8
    """The tails of so short a time differ by more than what is looked for, so there are more rounds of it."""
    client_mib: int = 128
    client_rounds: int = 3
    client_requests: int = 40_000
    """Of each real client that sends a record in each."""
    read_mib: int = 128
    """What each tenant can read, of those that are used."""
    most_tenants: int = MOST_TENANTS
    """Of one more gateway, for the latency end to end; 0: there is none."""


QUICK = Pace(1, 0.3, 0.2, 1.0, 1, 32, 1, 10_000, 32, 0)


@dataclass
class Run:
    """Everything that is compared, and the tables so far."""

    laboratory: Laboratory
    subjects: list[Subject]
    others: list[Subject]
    """Those of the subjects that were there before, and cannot be started anew."""
    topics: Topics
    pace: Pace
    protocols: Sequence[str]
    show: Callable[[Table], None]
    """Told of each table when it is full."""
    tables: list[Table] = field(default_factory=list)

    def measure(self, parts: Sequence[str]) -> None:
        """Measure these parts, with one protocol after the other."""
        for protocol in self.protocols:
            subjects = [one for one in self.subjects if one.protocol == protocol]
            for part in parts:
                for table in getattr(self, f"_{part}")(protocol, subjects):
                    if table.rows:
                        self.tables.append(table)
                        self.show(table)

    def _bulk(self, protocol: str, subjects: list[Subject]) -> list[Table]:
        workloads = bulk_workloads(self.topics)
        if protocol == TLS:
            workloads = [one for one in workloads if one.version in TLS_VERSIONS]
        shown = [one.name for one in workloads if one.version in TLS_VERSIONS]
        speed = Table(goals.THROUGHPUT, protocol, "MB/s", 0, is_less_better=False, plotted=shown)
        cpu = Table(goals.BULK_CPU, protocol, "CPU s/GiB", 2, plotted=(shown[0], shown[-1]))
        for workload in workloads:
            for subject in self._in_turns(subjects):
                sample = measure_throughput(subject, workload, self.pace.bulk_s)
                speed.add(workload.name, subject.name, sample.mb_per_s)
                if subject.pid is not None:
                    cpu.add(workload.name, subject.name, sample.cpu_s_per_gib)
        return [speed, cpu]

    def _small(self, protocol: str, subjects: list[Subject]) -> list[Table]:
        workloads = small_workloads(self.topics) if protocol == PLAINTEXT else [tiny_produce(self.topics)]
        tiny = workloads[0].name
        speed = Table(goals.REQUESTS, protocol, "requests/s", 0, is_less_better=False, plotted=[tiny])
        cpu = Table(goals.PIPELINED_CPU, protocol, "CPU µs", 1, plotted=[tiny])
        wait = Table(goals.ROUND_TRIP, protocol, "µs", 0, plotted=[f"{tiny}, p50", f"{tiny}, p99"])
        alone = Table(goals.SYNCHRONOUS_CPU, protocol, "CPU µs", 1)
        for workload in workloads:
            for subject in self._in_turns(subjects):
                sample = measure_throughput(subject, workload, self.pace.small_s)
                speed.add(workload.name, subject.name, sample.requests_per_s)
                if subject.pid is not None:
                    cpu.add(workload.name, subject.name, sample.cpu_us_per_request)
            for subject in self._in_turns(subjects):
                sample = measure_round_trips(subject, workload, self.pace.small_s)
                for called, share in (("p50", 0.5), ("p99", 0.99)):
                    at = percentile(sample.latencies_us, share)
                    wait.add(f"{workload.name}, {called}", subject.name, at)
                if subject.pid is not None:
                    alone.add(workload.name, subject.name, sample.cpu_us_per_request)
        return [speed, cpu, wait, alone]

    def _latency(self, protocol: str, subjects: list[Subject]) -> list[Table]:
        shares = {
            f"end to end, {name}": share for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))
        }
        title = f"{goals.END_TO_END} at {RATE:,} records/s, open loop"
        table = Table(title, protocol, "ms", 2, plotted=tuple(shares))
        with ExitStack() as running:
            if self.pace.most_tenants:
                started = running.enter_context(self.laboratory.gateway(self.pace.most_tenants))
                subjects = [*subjects, *(one for one in started if one.protocol == protocol)]
                self.topics.make([self.subjects[0], *subjects])
            for subject in self._in_turns(subjects, self.pace.latency_rounds):
                found = measure_end_to_end(subject, self.topics, self.pace.latency_s)
                for name, share in shares.items():
                    table.add(name, subject.name, percentile(found, share))
        return [table]

    def _clients(self, protocol: str, subjects: list[Subject]) -> list[Table]:
        followed = [one for one in subjects if one.follows_addresses]
        speed = Table(f"{goals.THROUGHPUT}, real clients", protocol, "MB/s", 0, is_less_better=False)
        cpu = Table(f"{goals.BULK_CPU}, real clients", protocol, "CPU s/GiB", 2)
        requests = Table(goals.CLIENT_CPU, protocol, "CPU µs", 1)
        if protocol == TLS:
            return []
        java, count = JavaProducer(self.laboratory.directory), self.pace.client_requests
        for _ in range(self.pace.client_rounds):
            for subject in followed:
                producer = measure_producer(subject, self.pace.client_mib)
                consumer = measure_consumer(subject, self.topics)
                for row, sample in (("librdkafka producer", producer), ("librdkafka consumer", consumer)):
                    speed.add(row, subject.name, sample.mb_per_s)
                    if subject.pid is not None:
                        cpu.add(row, subject.name, sample.cpu_s_per_gib)
            for subject in followed:
                if subject.pid is not None:
                    requests.add(
                        "Java producer", subject.name, java.measure(subject, count).cpu_us_per_request
                    )
                    sample = measure_requests(subject, count)
                    requests.add("librdkafka producer", subject.name, sample.cpu_us_per_request)
        return [speed, cpu, requests]

    def _memory(self, protocol: str, subjects: list[Subject]) -> list[Table]:
        resident = Table(goals.MEMORY, protocol, "MiB", 1, plotted=[goals.WORKING, "peak"])
        idle = Table(goals.IDLE_MEMORY, protocol, "KiB", 1, plotted=[goals.WITH_BROKER])
        for subject in subjects:
            if subject.pid is None:
                continue
            found = measure_memory(lambda one=subject: self._fresh(one), self.topics)  # type: ignore[misc]
            resident.add("after the start", subject.name, found.start_mib)
            resident.add("right after the load", subject.name, found.loaded_mib)
            resident.add(goals.WORKING, subject.name, found.working_mib)
            resident.add("peak", subject.name, found.peak_mib)
            idle.add(goals.CONNECTED, subject.name, found.per_connected_kib)
            idle.add(goals.WITH_BROKER, subject.name, found.per_used_kib)
        return [resident, idle]

    def _in_turns(self, subjects: list[Subject], rounds: int | None = None) -> Iterator[Subject]:
        for _ in range(self.pace.rounds if rounds is None else rounds):
            yield from subjects

    def _fresh(self, subject: Subject) -> AbstractContextManager[Subject]:
        """Start the same again; another proxy stays what it is."""
        if subject in self.others:
            return nullcontext(subject)
        is_relay = subject.spaces[0].credentials is None
        started = self.laboratory.relay() if is_relay else self.laboratory.gateway(subject.tenants)
        return _of_protocol(started, subject.protocol)


@contextmanager
def _of_protocol(started: AbstractContextManager[list[Subject]], protocol: str) -> Iterator[Subject]:
    with started as subjects:
        yield next(one for one in subjects if one.protocol == protocol)
