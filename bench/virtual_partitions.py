"""`make bench-virtual`: what 1,000 virtual partitions on 100 cost beside 100 partitions that are what they seem.

One tenant of one gateway has a topic of either kind, so the two are one process in turns. Readers go on where each
answer has ended, as consumers do; the one of virtual partitions has all that share a physical one. Beside it a group
reads everything whose members have one of those each. Latencies and throughput stand beside those of a direct
connection; for throughput the gateway has a core of its own, which load and broker do not use on any way.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle
from pathlib import Path
from statistics import median

from bench.certificates import make_certificate
from bench.client import RawClient
from bench.cores import core_of_its_own
from bench.end_to_end import Place, latencies_ms
from bench.frames import fetch, produce, record_batch, request_frame
from bench.goals import Goal
from bench.judged import run_judged
from bench.kafka import BenchKafka
from bench.laboratory import Laboratory, free_port
from bench.measure import Sample, measure_throughput
from bench.percentiles import percentile
from bench.subjects import PLAINTEXT, Space, Subject, physical
from bench.table import Table
from bench.topics import BATCH_BYTES, RECORD_BYTES, is_produced
from bench.virtual_group import FETCH_VERSION, FilledTopic, cpu_s_per_gib, go_on
from bench.workloads import Workload
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import CreateTopicsRequest, ListOffsetsRequest, MetadataRequest, ProduceRequest

TENANT, PLAIN, DIVIDED = "divided", "plain", "divided"
VIRTUAL, PHYSICAL = 1_000, 100
SHARING = VIRTUAL // PHYSICAL
WAYS = ("100 partitions", "1,000 virtual on 100")
DIRECTLY = "100 partitions, direct"
PRODUCE_TO_PLAIN, CONSUME_TO_PLAIN, MEMORY_MIB = 1.25, 2.0, 200.0
ADDED_P99_MS, OPEN_LOOP_MB_S, TO_DIRECT = 3.0, 20, 0.9
PRODUCE_VERSION = 9
CONNECTIONS = 4
MEMBERS = VIRTUAL // PHYSICAL
"""Of the group that reads everything: each has one virtual partition of each physical one."""
LEADERS_TIMEOUT_S = 60.0
_KEPT = {"retention.ms": -1}
_SMALL = {
    "retention.ms": -1,
    "retention.bytes": 64 << 20,
    "segment.bytes": 32 << 20,
    "file.delete.delay.ms": 1000,
}


@dataclass(frozen=True)
class Pace:
    """How long everything is measured."""

    rounds: int = 7
    seconds: float = 0.6
    batches: int = 30
    """Of each virtual partition that is read."""
    batches_of_group: int = 2
    """Likewise, of those that a group reads."""
    open_s: float = 2.0
    """An open loop."""


QUICK = Pace(1, 0.3, 10, 1, 1.0)


def _measure(running: ExitStack, is_quick: bool) -> list[Table]:
    pace = QUICK if is_quick else Pace()
    directory = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="bifrost-bench-")))
    certificate = make_certificate(directory)
    kafka = running.enter_context(BenchKafka(certificate, free_port()))
    laboratory = Laboratory.of(kafka, certificate, directory)
    rules = [{"topics": [f"{DIVIDED}-*"], "virtual": VIRTUAL, "physical": PHYSICAL}]
    started = laboratory.gateway(tenant=TENANT, of_tenants=f"virtual_partitions: {json.dumps(rules)}")
    subject, _ = running.enter_context(started)
    memory = Table("resident memory", PLAINTEXT, "MiB", 1)
    memory.add("after the start", WAYS[1], subject.resident_mib())
    ends, whole = _make_topics(subject, pace), _fill_whole(subject, pace)
    bulk = Table("cost of bytes", PLAINTEXT, "CPU s/GiB", 2)
    for number in range(pace.rounds):
        for way in WAYS if number % 2 else WAYS[::-1]:
            for row, workload in _producing(way == WAYS[1]):
                sample = measure_throughput(subject, workload, pace.seconds)
                bulk.add(row, way, sample.cpu_s_per_gib)
            sample = _read(subject, ends[way], pace.seconds)
            bulk.add("consume v12, all that share a partition", way, sample.cpu_s_per_gib)
            spent = cpu_s_per_gib(subject, whole[way], MEMBERS)
            bulk.add("consume v12, a group of ten, each one of those that share a partition", way, spent)
    beside = _beside_direct(laboratory, subject, pace)
    _use_all(subject)
    memory.add("most, with all of 1,000 written to, read and listed", WAYS[1], subject.peak_mib())
    return [bulk, memory, *beside]


def _beside_direct(laboratory: Laboratory, subject: Subject, pace: Pace) -> list[Table]:
    """Measure an open loop end to end, and what can be written, beside a direct connection."""
    direct = laboratory.direct()[0]
    batch, records = record_batch(BATCH_BYTES, RECORD_BYTES)
    rate = OPEN_LOOP_MB_S * 1_000_000 / len(batch)
    plain, divided = f"{PLAIN}-produced", f"{DIVIDED}-produced"
    ways = (
        (DIRECTLY, direct, physical(TENANT, plain), 0),
        (WAYS[0], subject, plain, 1),
        # The first of a later group: brokers do not have it, and its batches are marked.
        (WAYS[1], subject, divided, PHYSICAL + 2),
    )
    late = Table(f"end to end, {OPEN_LOOP_MB_S} MB/s in an open loop", PLAINTEXT, "ms", 2)
    most = Table("throughput, produce v9, 64 KiB, with a core for the gateway", PLAINTEXT, "MB/s", 0)
    [(_, plain_work), _], [(_, divided_work), _] = (list(_producing(one)) for one in (False, True))
    directly = replace(plain_work, make_frames=partial(_frames_to, physical(TENANT, plain)))
    work = {DIRECTLY: directly, WAYS[0]: plain_work, WAYS[1]: divided_work}
    for number in range(pace.rounds):
        for way, through, topic, partition in ways if number % 2 else ways[::-1]:
            found = latencies_ms(through, Place(topic, b"", partition), pace.open_s, rate, batch, records)
            for share in (50, 99):
                late.add(f"p{share}", way, percentile(found, share / 100))
        assert subject.pid is not None
        with core_of_its_own(subject.pid):
            for way, through, _, _ in ways if number % 2 else ways[::-1]:
                sample = measure_throughput(through, work[way], pace.seconds)
                most.add("four connections", way, sample.mb_per_s)
    return [late, most]


def _make_topics(subject: Subject, pace: Pace) -> dict[str, dict[int, dict[int, int]]]:
    """Create the topics; fill those to read, and return by way, place and partition where they end."""
    client, ends = subject.connect(), dict[str, dict[int, dict[int, int]]]()
    for way, kind, count in ((WAYS[0], PLAIN, PHYSICAL), (WAYS[1], DIVIDED, VIRTUAL)):
        for name in ("produced", "consumed"):
            _create(client, f"{kind}-{name}", count, _SMALL if name == "produced" else _KEPT)
        ends[way] = {place: {} for place in range(CONNECTIONS)}
        step = SHARING if way == WAYS[0] else 1
        for place in range(CONNECTIONS):
            for number in range(pace.batches * SHARING // step * step):
                partition = place if way == WAYS[0] else place + number % SHARING * PHYSICAL
                ends[way][place][partition] = _write(client, f"{kind}-consumed", partition)
    client.close()
    return ends


def _fill_whole(subject: Subject, pace: Pace) -> dict[str, FilledTopic]:
    """Create and fill the topics that a group reads from their starts to their ends."""
    client, found = subject.connect(), dict[str, FilledTopic]()
    size = VIRTUAL * pace.batches_of_group * len(record_batch(BATCH_BYTES, RECORD_BYTES)[0])
    for way, kind, count in ((WAYS[0], PLAIN, PHYSICAL), (WAYS[1], DIVIDED, VIRTUAL)):
        name = f"{kind}-whole"
        _create(client, name, count, _KEPT)
        ends = [0] * count
        for _ in range(pace.batches_of_group * (VIRTUAL // count)):
            ends = [_write(client, name, partition) for partition in range(count)]
        found[way] = FilledTopic(name, ends, size)
    client.close()
    return found


def _write(client: RawClient, topic: str, partition: int) -> int:
    """Write a batch, and return the offset behind it."""
    batch, records = record_batch(BATCH_BYTES, RECORD_BYTES)
    deadline = time.monotonic() + LEADERS_TIMEOUT_S
    while True:
        answer = client.request(produce(topic, b"", PRODUCE_VERSION, partition, batch), PRODUCE_VERSION)
        if is_produced(answer):
            break
        # The broker's first producer ID and the leaders of new topics take a moment.
        assert time.monotonic() < deadline, answer
        time.sleep(0.05)
    return int(answer.responses[0].partition_responses[0].base_offset) + records


def _create(client: RawClient, name: str, partitions: int, configs: dict[str, int]) -> None:
    new = CreateTopicsRequest
    values = [new.CreatableTopicConfig(name=key, value=str(value)) for key, value in configs.items()]
    topic = new.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=values)
    answer = client.request(new(topics=[topic], timeout_ms=30_000), 6)
    assert answer.topics[0].error_code == 0, answer
    deadline = time.monotonic() + LEADERS_TIMEOUT_S
    while time.monotonic() < deadline:
        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])
        found = client.request(request, 12).topics[0]
        if len(found.partitions) == partitions and not any(one.error_code for one in found.partitions):
            time.sleep(1.0)  # Metadata knows a leader a little before it knows itself.
            return
        time.sleep(0.05)
    raise TimeoutError(f"{name} has no leaders")


def _frames_to(topic: str, _space: Space, _client: RawClient, number: int) -> Iterator[bytes]:
    batch, _ = record_batch(BATCH_BYTES, RECORD_BYTES)
    data = ProduceRequest.PartitionProduceData(index=number, records=batch)
    named = ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
    request = ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[named])
    return cycle([request_frame(request, PRODUCE_VERSION, 100 + n) for n in range(8)])


def _producing(is_divided: bool) -> Iterator[tuple[str, Workload]]:
    """Yield the workloads: a batch in a request, and three, which share a physical partition if they are divided."""
    batch, _ = record_batch(BATCH_BYTES, RECORD_BYTES)
    topic = f"{DIVIDED if is_divided else PLAIN}-produced"

    def partitions(number: int, count: int) -> list[int]:
        step = PHYSICAL if is_divided else CONNECTIONS
        # A partition of the first group is written as it is; these are of others.
        return [number + (place + is_divided) * step for place in range(count)]

    def make(count: int, _space: Space, _client: RawClient, number: int) -> Iterator[bytes]:
        data = [
            ProduceRequest.PartitionProduceData(index=one, records=batch) for one in partitions(number, count)
        ]
        named = ProduceRequest.TopicProduceData(name=topic, partition_data=data)
        request = ProduceRequest(acks=1, timeout_ms=30_000, topic_data=[named])
        return cycle([request_frame(request, PRODUCE_VERSION, 100 + n) for n in range(8)])

    one = Workload(
        "Produce v9",
        ApiKey.PRODUCE,
        PRODUCE_VERSION,
        partial(make, 1),
        is_produced,
        bytes_per_request=len(batch),
        connections=CONNECTIONS,
    )
    yield "produce v9, 64 KiB", one
    yield (
        "produce v9, 3 x 64 KiB of those that share a partition",
        replace(one, make_frames=partial(make, 3), bytes_per_request=3 * len(batch)),
    )


class _Reader:
    """A consumer of partitions of one place: each Fetch begins where the answers before it have ended."""

    def __init__(self, subject: Subject, number: int, ends: dict[int, int]) -> None:
        self._client, self._ends = subject.connect(number), ends
        self._topic = f"{PLAIN if len(ends) == 1 else DIVIDED}-consumed"
        self._positions = dict.fromkeys(ends, 0)
        self._buffer = bytearray(1024)

    def send(self) -> None:
        if all(self._positions[one] >= end for one, end in self._ends.items()):
            self._positions = dict.fromkeys(self._ends, 0)
        wanted = fetch(self._topic, b"", FETCH_VERSION, list(self._positions.items()))
        self._client.send(request_frame(wanted, FETCH_VERSION, 7))

    def receive(self) -> int:
        """Take an answer; return its size in bytes."""
        answer = bytes(self._client.receive(self._buffer))
        go_on(self._positions, answer)
        return len(answer)

    def close(self) -> None:
        self._client.close()


def _read(subject: Subject, ends: dict[int, dict[int, int]], seconds: float) -> Sample:
    """Read for a while, a place over each connection."""
    readers = [_Reader(subject, number, ends[number]) for number in range(CONNECTIONS)]
    for one in readers:
        one.send()
        one.receive()
    requests = size = 0
    cpu_s, started = subject.cpu_s(), time.perf_counter()
    for one in readers:
        one.send()
    while time.perf_counter() - started < seconds:
        for one in readers:
            size += one.receive()
            one.send()
            requests += 1
    for one in readers:
        size += one.receive()
    wall_s, cpu_s = time.perf_counter() - started, subject.cpu_s() - cpu_s
    for one in readers:
        one.close()
    return Sample(requests + len(readers), size, wall_s, cpu_s)


def _use_all(subject: Subject) -> None:
    """Write to, read, describe and list all virtual partitions, over several connections."""
    topic = f"{DIVIDED}-consumed"
    for number in range(CONNECTIONS):
        client = subject.connect(number)
        for partition in range(number, VIRTUAL, CONNECTIONS):
            _write(client, topic, partition)
        for _ in range(3):
            wanted = fetch(topic, b"", FETCH_VERSION, [(one, 0) for one in range(VIRTUAL)])
            assert not client.request(wanted, FETCH_VERSION).error_code
        new = ListOffsetsRequest
        some = [new.ListOffsetsPartition(partition_index=one, timestamp=-1) for one in range(VIRTUAL)]
        client.request(new(replica_id=-1, topics=[new.ListOffsetsTopic(name=topic, partitions=some)]), 7)
        client.close()


def judge(tables: list[Table]) -> list[Goal]:
    """Return the goals with what was reached: ratios of rounds that stood side by side."""
    bulk, memory, late, most = tables
    goals = []
    for row, values in bulk.rows.items():
        ratio = median(two / one for one, two in zip(values[WAYS[0]], values[WAYS[1]], strict=True))
        limit = PRODUCE_TO_PLAIN if row.startswith("produce") else CONSUME_TO_PLAIN
        goals.append(Goal(f"CPU per GiB, {row}", ratio, limit, f"of that of {WAYS[0]}"))
    for row, values in memory.rows.items():
        if row.startswith("most"):
            goals.append(Goal(f"memory, {row}", values[WAYS[1]][0], MEMORY_MIB, "MiB"))
    added = [
        one - other for one, other in zip(late.rows["p99"][WAYS[1]], late.rows["p99"][DIRECTLY], strict=True)
    ]
    row = f"p99 beyond the direct one, {OPEN_LOOP_MB_S} MB/s in an open loop"
    goals.append(Goal(row, median(added), ADDED_P99_MS, "ms"))
    [written] = most.rows.values()
    ratio = median(one / other for one, other in zip(written[WAYS[1]], written[DIRECTLY], strict=True))
    goals.append(
        Goal(
            "throughput, produce v9, 64 KiB, with a core for the gateway",
            ratio,
            TO_DIRECT,
            "of that of a direct connection",
            is_least=True,
        )
    )
    return goals


if __name__ == "__main__":
    sys.exit(run_judged("virtual", __doc__.splitlines()[0], _measure, judge))
