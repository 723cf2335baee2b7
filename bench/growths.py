"""The four growths: what a request costs the gateway over tenants, topics, connections, partitions.

Each starts the stub broker that stands in for Kafka, and HAProxy (or our relay) beside the gateway before the same.
"""

import resource
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.certificates import HOST, Certificate
from bench.growth_load import TOPIC, Load, list_offsets, metadata
from bench.laboratory import MAX_CONNECTIONS, TENANT, Laboratory, Upstream, free_port, run_child
from bench.line_chart import Lines
from bench.subjects import GATEWAY, PLAINTEXT, Subject, physical
from bench.table import Table

TENANTS = (1, 10, 100, 1_000, 10_000)
TOPICS = (100, 1_000, 10_000, 100_000)
CONNECTIONS = (10, 100, 1_000, 10_000)
PARTITIONS = (1, 10, 100, 1_000, 10_000)
OWN_TOPICS = 100
"""Of one tenant, whatever else the upstream has; also how many there are where topics are not what grows."""
STEADY_CONNECTIONS, IN_FLIGHT = 64, 8
OF_ALL = "Metadata of all"
MANY_KINDS = ("ListOffsets of one", "Metadata of one", OF_ALL)
OF_MOST = 10
"""A large request is sent less often, but not less than so many times a round."""
DESCRIPTORS_TO_SPARE = 100
STUB = "before a stub broker of the benchmark's own, in place of Kafka"


@dataclass(frozen=True)
class Pace:
    """How long everything is measured."""

    rounds: int = 5
    requests: int = 4_000


QUICK = Pace(2, 1_000)


@dataclass
class Growth:
    """One growth's figures: a drawing and its tables."""

    name: str
    lines: Lines
    tables: list[Table]


class Growths:
    """Measures them."""

    def __init__(
        self, certificate: Certificate, directory: Path, pace: Pace, told: Callable[[str], None]
    ) -> None:
        self._certificate, self._directory, self._pace, self._told = certificate, directory, pace, told
        self._stubs = 0

    def tenants(self) -> Growth:
        """Everything the same but for the number of tenants, each of which has logged in once."""
        growth = _new(
            "tenants",
            f"ListOffsets of one topic over {STEADY_CONNECTIONS} connections of as many tenants; all have logged in",
        )
        with self._stub() as laboratory, laboratory.relay() as relays:
            for count in TENANTS:
                with laboratory.gateway(count, spread=STEADY_CONNECTIONS) as gateways:
                    self._steady(growth, count, [relays[0], gateways[0]], "ListOffsets")
        return growth

    def topics(self) -> Growth:
        """Everything the same but for the number of topics the upstream has; the tenant has a hundred of them."""
        growth = _new("topics on the upstream", f"one tenant, which has {OWN_TOPICS} of them")
        for count in TOPICS:
            with (
                self._stub(count) as laboratory,
                laboratory.relay() as relays,
                laboratory.gateway() as gateways,
            ):
                self._ask_about_topics(growth, count, gateways[0], MANY_KINDS)
                self._ask_about_topics(growth, count, relays[0], [OF_ALL])
        return growth

    def connections(self) -> Growth:
        """Requests over one connection after the other, of which there are more and more."""
        growth = _new(
            "connections", f"ListOffsets of one topic, {IN_FLIGHT} in flight over all connections in turns"
        )
        with self._stub() as laboratory:
            for wanted in CONNECTIONS:
                count = min(wanted, most_connections())
                if count < wanted:
                    self._told(
                        f"{count:,} connections, not {wanted:,}: the limit of file descriptors (ulimit -n)"
                    )
                for start in (laboratory.relay, laboratory.gateway):
                    with start() as subjects:
                        load = Load(subjects[0], count)
                        self._rounds(growth, count, load, "ListOffsets", max(self._pace.requests, count))
                        load.close()
        return growth

    def partitions(self) -> Growth:
        """More and more partitions in one request: of one topic, and each of a topic of its own."""
        growth = _new("partitions in a request", "ListOffsets, one request at a time")
        per_byte = Table("CPU per byte of request and response", PLAINTEXT, "ns", 2)
        growth.tables.append(per_byte)
        with self._stub() as laboratory, laboratory.relay() as relays, laboratory.gateway() as gateways:
            for count in PARTITIONS:
                for subject in (relays[0], gateways[0]):
                    space = subject.space(0)
                    load = Load(subject, 1)
                    for kind, frame in (
                        ("one topic's", list_offsets(space, [0], count)),
                        ("of as many topics", list_offsets(space, range(count))),
                    ):
                        size = len(frame) + load.response_bytes(frame)
                        requests = max(self._pace.requests // count, OF_MOST)
                        load.cpu_us([frame], requests, 1)
                        for _ in range(self._pace.rounds):
                            cost_us = load.cpu_us([frame], requests, 1)
                            series = f"{subject.name}: {kind}"
                            self._add(growth, count, series, cost_us)
                            per_byte.add(f"{count:,}", series, cost_us * 1000 / size)
                    load.close()
        return growth

    def _ask_about_topics(self, growth: Growth, count: int, subject: Subject, kinds: Sequence[str]) -> None:
        space = subject.space(0)
        frames = {
            "ListOffsets of one": [list_offsets(space, [number]) for number in range(OWN_TOPICS)],
            "Metadata of one": [metadata(space, number) for number in range(OWN_TOPICS)],
            OF_ALL: [metadata(space, None)],
        }
        load = Load(subject, STEADY_CONNECTIONS)
        for kind in kinds:
            is_large = kind == OF_ALL
            requests = max(self._pace.requests * 25 // count, OF_MOST) if is_large else self._pace.requests
            in_flight = 1 if is_large else IN_FLIGHT
            load.cpu_us(frames[kind], max(requests // 10, 1), in_flight)
            for _ in range(self._pace.rounds):
                cost_us = load.cpu_us(frames[kind], requests, in_flight)
                self._add(growth, count, f"{subject.name}: {kind}", cost_us)
        load.close()

    def _steady(self, growth: Growth, count: int, subjects: Sequence[Subject], kind: str) -> None:
        for subject in subjects:
            load = Load(subject, STEADY_CONNECTIONS)
            self._rounds(growth, count, load, kind, self._pace.requests)
            load.close()

    def _rounds(self, growth: Growth, count: int, load: Load, kind: str, requests: int) -> None:
        subject = load.subject
        name = GATEWAY if subject.name.startswith(GATEWAY) else subject.name
        spaces = [subject.space(number) for number in range(len(subject.spaces))]
        # In turns like the connections, each of which knows its own topics alone; the names are the same for all.
        frames = [list_offsets(spaces[0], [number]) for number in range(OWN_TOPICS)]
        load.cpu_us(frames, requests, IN_FLIGHT)
        for _ in range(self._pace.rounds):
            self._add(growth, count, f"{name}: {kind}", load.cpu_us(frames, requests, IN_FLIGHT))

    def _add(self, growth: Growth, count: int, series: str, value: float) -> None:
        growth.lines.series.setdefault(series, {}).setdefault(count, []).append(value)
        growth.tables[0].add(f"{count:,}", series, value)

    @contextmanager
    def _stub(self, topics: int = OWN_TOPICS) -> Iterator[Laboratory]:
        """Run a stub with so many topics, a hundred of them the tenant's."""
        self._stubs += 1
        directory = self._directory / f"stub{self._stubs}"
        directory.mkdir()
        port = free_port()
        others = [physical("other", TOPIC), str(topics - OWN_TOPICS)] if topics > OWN_TOPICS else []
        named = [physical(TENANT, TOPIC), str(OWN_TOPICS), *others]
        command = [sys.executable, "-m", "bench.stub_broker", HOST, str(port), *named]
        with ExitStack() as running:
            run_child(running, command, port, directory / "stub.log")
            yield Laboratory(Upstream(port), self._certificate, directory)


def most_connections() -> int:
    """Return how many connections a proxy may have, which needs two descriptors for each."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return min((limit - DESCRIPTORS_TO_SPARE) // 2, MAX_CONNECTIONS)


def _new(name: str, what: str) -> Growth:
    lines = Lines(f"CPU per request over {name}", f"{what}, {STUB}", name, "µs of CPU per request")
    return Growth(name, lines, [Table(lines.title, PLAINTEXT, "µs", 1)])
