"""`make bench-single-address`: what a single address before three brokers costs beside an address for each of them.

One gateway has both listeners, so the two ways are one process in turns. At an address for each broker a connection
uses what its broker leads, as clients do; at the single address it uses the same, or what all three lead. Readers go on
where each answer has ended, as consumers do, for what one broker has makes an answer before the others have any.
"""

import json
import secrets
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from statistics import median

from bench.certificates import HOST
from bench.client import RawClient
from bench.end_to_end import end_after
from bench.frames import fetch, produce, read_response, record_batch, request_frame
from bench.goals import Goal
from bench.judged import run_judged
from bench.kafka import JAVA_OPTIONS, PROPERTIES
from bench.laboratory import TENANT, free_port, run_child
from bench.measure import Sample, measure_round_trips, measure_throughput
from bench.percentiles import percentile
from bench.subjects import PLAINTEXT, Space, Subject, physical
from bench.table import Table
from bench.topics import CONSUMED, GROUP, PRODUCED, Topics, is_produced
from bench.workloads import Workload, small_workloads
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import FindCoordinatorRequest, MetadataRequest, ProduceRequest

BROKERS = 3
EACH, ONE = "an address for each broker", "single address"
CPU_TO_EACH, ADDED_US = 1.3, 25.0
PRODUCE_VERSION, FETCH_VERSION = 9, 12
HEAP_MB = 512
CONNECTIONS = BROKERS
SMALL = ("Heartbeat v4", "OffsetCommit v8")


@dataclass(frozen=True)
class Pace:
    """How long everything is measured."""

    rounds: int = 6
    bulk_s: float = 0.6
    small_s: float = 0.4
    read_mib: int = 96


QUICK = Pace(1, 0.3, 0.2, 24)


@dataclass
class EachBroker(Subject):
    """The way of today: each connection is to one broker's port."""

    used: tuple[int, ...] = tuple(range(BROKERS))
    """The brokers that are connected to, in turns, by their numbers from 0."""

    def connect(self, number: int = 0) -> RawClient:
        """Open a connection to the broker of this number."""
        port = self.port + self.used[number % len(self.used)]
        return RawClient(self.host, port, self.space(number).credentials)


@dataclass
class Led:
    """Which partitions of a topic each broker leads, by its number from 0."""

    partitions: list[list[int]] = field(default_factory=list)

    @classmethod
    def of(cls, client: RawClient, topic: str) -> "Led":
        """Ask a broker, by the topic's physical name."""
        wanted = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=topic)])
        found = client.request(wanted, 12).topics[0].partitions
        led = [sorted(p.partition_index for p in found if p.leader_id == 1 + n) for n in range(BROKERS)]
        assert all(led), f"each broker leads a partition of {topic}: {led}"
        return cls(led)

    def of_broker(self, number: int) -> int:
        """Return a partition that the broker of this number leads."""
        return self.partitions[number % BROKERS][number // BROKERS % len(self.partitions[number % BROKERS])]

    @property
    def of_all(self) -> list[int]:
        """One partition of each broker."""
        return [one[0] for one in self.partitions]


def _measure(running: ExitStack, is_quick: bool) -> list[Table]:
    pace = QUICK if is_quick else Pace()
    directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-bench-")))
    kafka = EmbeddedKafka(brokers=BROKERS, heap_mb=HEAP_MB, properties=PROPERTIES, java_options=JAVA_OPTIONS)
    running.enter_context(kafka)
    each, one = _gateway(running, directory, kafka.bootstrap)
    topics = Topics(pace.read_mib)
    topics.make([replace(one, makes_own_topics=True)])
    direct = RawClient(HOST, kafka.broker_port(1))
    produced, consumed = (Led.of(direct, physical(TENANT, name)) for name in (PRODUCED, CONSUMED))
    found = direct.request(
        FindCoordinatorRequest(key_type=0, coordinator_keys=[physical(TENANT, GROUP)]), 4
    ).coordinators[0]
    direct.close()
    bulk = _bulk(pace, (each, one), topics, produced, consumed)
    at_coordinator = replace(each, used=(found.node_id - 1,))
    return [bulk, *_small(pace, (each, at_coordinator, one), topics, produced)]


def _gateway(running: ExitStack, directory: Path, bootstrap: str) -> tuple[EachBroker, Subject]:
    """Run a gateway with both listeners; return the two ways through it."""
    port, password = free_port(count=BROKERS + 2), secrets.token_hex(8)
    (directory / "password").write_text(password)
    config = directory / "proxy.yaml"
    config.write_text(_config(port, bootstrap))
    command = [sys.executable, "-m", "bifrost.cli.main", "run", "--config", str(config)]
    child = run_child(running, command, port + BROKERS, directory / "gateway.log")
    spaces = [Space(TENANT, (TENANT, password), is_virtual=True)]
    return (
        EachBroker(EACH, port + 1, spaces, child.pid),
        Subject(ONE, port + BROKERS + 1, spaces, child.pid),
    )


def _config(port: int, bootstrap: str) -> str:
    ports = {"bind_host": HOST, "advertised_host": HOST}
    sets = [
        {
            "name": "each",
            "port_range": ports
            | {
                "bootstrap_port": port,
                "broker_port_range": {"start": port + 1, "end": port + BROKERS},
                "broker_id_base": 1,
            },
        },
        {
            "name": "one",
            "single_address": True,
            "port_range": ports | {"bootstrap_port": port + BROKERS + 1},
        },
    ]
    for one in sets:
        one |= {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanisms": ["PLAIN"]}
    credentials = [{"username": TENANT, "password_file": "password"}]
    document = {
        "proxy": {"listener_sets": sets},
        "upstream": {"bootstrap": bootstrap.split(",")},
        "tenants": [{"name": TENANT, "auth": {"credentials": credentials}}],
    }
    return json.dumps(document)  # which is YAML too


# -- bytes


def _bulk(pace: Pace, ways: tuple[Subject, Subject], topics: Topics, produced: Led, consumed: Led) -> Table:
    table = Table("cost of bytes, three brokers", PLAINTEXT, "CPU s/GiB", 2)
    own = producing(topics, produced)
    rows: dict[str, dict[str, Workload]] = {
        "produce v9, 64 KiB, one leader of each connection": {EACH: own, ONE: own},
        "produce v9, 64 KiB, leaders in turn": {EACH: own, ONE: producing(topics, produced, in_turn=True)},
        "produce v9, 3 x 64 KiB, three leaders in a request": {EACH: own, ONE: together(topics, produced)},
    }
    for _ in range(pace.rounds):
        for row, workloads in rows.items():
            for way in ways:
                sample = measure_throughput(way, workloads[way.name], pace.bulk_s)
                table.add(row, way.name, sample.cpu_s_per_gib)
        for row, is_apart in (("consume v12, one leader of each connection", True), (_MERGED, False)):
            for way in ways:
                apart = is_apart or way.name == EACH
                sample = read(way, topics, consumed, pace.bulk_s, is_apart=apart)
                table.add(row, way.name, sample.cpu_s_per_gib)
    return table


_MERGED = "consume v12, three leaders in a request"


def producing(topics: Topics, led: Led, *, in_turn: bool = False, batch: bytes | None = None) -> Workload:
    """Return the workload that writes a batch again and again: for one leader of each connection, or in turn."""

    def make(space: Space, _client: RawClient, number: int) -> Iterator[bytes]:
        topic, sent = space.called(PRODUCED), topics.batch if batch is None else batch
        partitions = led.of_all if in_turn else [led.of_broker(number)]
        requests = [produce(topic, b"", PRODUCE_VERSION, one, sent) for one in partitions]
        return cycle([request_frame(one, PRODUCE_VERSION, 100 + n) for n, one in enumerate(requests * 6)])

    size = len(topics.batch) if batch is None else 0
    return Workload(
        "Produce v9",
        ApiKey.PRODUCE,
        PRODUCE_VERSION,
        make,
        is_produced,
        bytes_per_request=size,
        connections=CONNECTIONS,
    )


def together(topics: Topics, led: Led) -> Workload:
    """Return the workload whose requests have a batch for each broker."""

    def make(space: Space, _client: RawClient, _number: int) -> Iterator[bytes]:
        data = ProduceRequest.PartitionProduceData
        topic = ProduceRequest.TopicProduceData(
            name=space.called(PRODUCED),
            partition_data=[data(index=one, records=topics.batch) for one in led.of_all],
        )
        request = ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[topic])
        return cycle([request_frame(request, PRODUCE_VERSION, 100 + n) for n in range(8)])

    size = BROKERS * len(topics.batch)
    return replace(producing(topics, led), make_frames=make, bytes_per_request=size)


class Reader:
    """A consumer of some partitions: each Fetch begins where the answers before it have ended."""

    def __init__(self, way: Subject, topics: Topics, number: int, partitions: list[int]) -> None:
        self._client, self._topic = way.connect(number), way.space(number).called(CONSUMED)
        self._end = topics.batches * topics.records_per_batch
        self._positions = dict.fromkeys(partitions, 0)
        self._buffer = bytearray(1024)

    def send(self) -> None:
        """Ask for what comes next."""
        wanted = fetch(self._topic, b"", FETCH_VERSION, list(self._positions.items()))
        self._client.send(request_frame(wanted, FETCH_VERSION, 7))

    def receive(self) -> int:
        """Take an answer; return its size in bytes."""
        answer = bytes(self._client.receive(self._buffer))
        response = read_response(ApiKey.FETCH, FETCH_VERSION, answer)
        for topic in response.responses:
            for one in topic.partitions:
                assert one.error_code == 0, one.error_code
                if one.records:
                    end = end_after(one.records)
                    self._positions[one.partition_index] = end if end < self._end else 0
        return len(answer)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def read(way: Subject, topics: Topics, led: Led, seconds: float, *, is_apart: bool) -> Sample:
    """Read for a while: what each broker leads over a connection of its own, or over each what all lead."""
    parts = [[led.of_broker(n)] if is_apart else led.of_all for n in range(CONNECTIONS)]
    readers = [Reader(way, topics, number, one) for number, one in enumerate(parts)]
    for one in readers:
        one.send()
        one.receive()
    requests = size = 0
    cpu_s, started = way.cpu_s(), time.perf_counter()
    for one in readers:
        one.send()
    while time.perf_counter() - started < seconds:
        for one in readers:
            size += one.receive()
            one.send()
            requests += 1
    for one in readers:
        size += one.receive()
    wall_s, cpu_s = time.perf_counter() - started, way.cpu_s() - cpu_s
    for one in readers:
        one.close()
    return Sample(requests + len(readers), size, wall_s, cpu_s)


# -- requests


def _small(pace: Pace, ways: tuple[Subject, Subject, Subject], topics: Topics, led: Led) -> list[Table]:
    each, at_coordinator, one = ways
    wait = Table("synchronous round trip, three brokers", PLAINTEXT, "µs", 0)
    cost = Table("cost of a request, five in flight, three brokers", PLAINTEXT, "CPU µs", 1)
    tiny, _ = record_batch(200, 100)
    workloads = [replace(producing(topics, led, batch=tiny), name="Produce v9, 100 B")]
    workloads += [one for one in small_workloads(topics) if one.name in SMALL]
    for _ in range(pace.rounds):
        for workload in workloads:
            pair = (each if workload.api_key == ApiKey.PRODUCE else at_coordinator), one
            for way in pair:
                sample = measure_throughput(way, workload, pace.small_s)
                cost.add(workload.name, way.name, sample.cpu_us_per_request)
            for way in pair:
                found = measure_round_trips(way, workload, pace.small_s).latencies_us
                for called, share in (("p50", 0.5), ("p99", 0.99)):
                    wait.add(f"{workload.name}, {called}", way.name, percentile(found, share))
    return [wait, cost]


def judge(tables: list[Table]) -> list[Goal]:
    """Return the goals with what was reached: ratios and differences of rounds that stood side by side."""
    bulk, wait, *_ = tables
    goals = []
    for row, values in bulk.rows.items():
        ratio = median(one / each for one, each in zip(values[ONE], values[EACH], strict=True))
        goals.append(Goal(f"CPU per GiB, {row}", ratio, CPU_TO_EACH, "of that of an address for each broker"))
    row = next(one for one in wait.rows if one.startswith("Produce") and one.endswith("p50"))
    values = wait.rows[row]
    added_us = median(one - each for one, each in zip(values[ONE], values[EACH], strict=True))
    goals.append(
        Goal(f"round trip beyond that of an address for each broker, {row}", added_us, ADDED_US, "µs")
    )
    return goals


if __name__ == "__main__":
    sys.exit(run_judged("single-address", __doc__.splitlines()[0], _measure, judge))
