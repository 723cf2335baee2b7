"""What filters cost a gateway: CPU time by the bytes that clients send and receive."""

from collections.abc import Iterator

from bench.measure import measure_throughput
from bench.records.batches import ZSTD, batch_of, json_values
from bench.records.filtered import BATCHES, IDS, OTHERS, PLAIN, VALUES, Filtered
from bench.table import Table
from bench.topics import RECORD_BYTES, Topics
from bench.workloads import Workload, consuming, producing

PRODUCE, CONSUME = "produce, 64 KiB", "consume, 1 MiB"
PRODUCE_JSON = "produce, 64 records of JSON in zstd"
RATIO, PER_CORE = "CPU with filters to CPU without", "what a core does"
FEWEST = 12
"""Batches of an answer: with values sealed one by one fewer fit into the fetch size of 1 MiB."""
COMPARED = {
    PRODUCE: (PLAIN, OTHERS, BATCHES, VALUES, IDS),
    CONSUME: (PLAIN, OTHERS, BATCHES, VALUES),
    PRODUCE_JSON: (PLAIN, BATCHES),
}
"""The ways of each workload; schemas are checked when records are produced."""


def measure_cost(filtered: Filtered, rounds: int, seconds: float) -> list[Table]:
    """Measure all in turns; return the CPU times and what follows from them."""
    cost = Table("CPU of the gateway", "PLAINTEXT", "s/GiB", 2)
    for number in range(rounds):
        for workload in workloads(filtered.topics):
            ways = COMPARED[workload.name]
            # The one that goes first changes: a machine that slows down is not to count for one of them.
            for name in ways if number % 2 == 0 else ways[::-1]:
                sample = measure_throughput(filtered.ways[name], workload, seconds)
                cost.add(workload.name, name, sample.cpu_s_per_gib)
    return [cost, *derived(cost)]


def workloads(topics: Topics) -> Iterator[Workload]:
    """Yield what is asked of every gateway."""
    yield producing(topics, PRODUCE, 9, topics.batch)
    yield consuming(topics, CONSUME, 12, 1, fewest=FEWEST)
    packed = bytes(batch_of(ZSTD, json_values(64, RECORD_BYTES), is_idempotent=False).data)
    yield producing(topics, PRODUCE_JSON, 9, packed)


def derived(cost: Table) -> Iterator[Table]:
    """Yield the ratios of each round, and the bytes that a core does in a second."""
    ratio = Table(RATIO, "PLAINTEXT", "ratio", 2, plotted=(PRODUCE, CONSUME))
    per_core = Table(PER_CORE, "PLAINTEXT", "MB/s", 0, is_less_better=False, plotted=(PRODUCE, CONSUME))
    for row, columns in cost.rows.items():
        for name, values in columns.items():
            for one, without in zip(values, columns[PLAIN], strict=True):
                if name != PLAIN:
                    ratio.add(row, name, one / without)
                per_core.add(row, name, 2**30 / 1e6 / one)
    yield ratio
    yield per_core
