"""What encryption and validation add to the time until a consumer has a batch, at a fixed rate in an open loop."""

from bench.end_to_end import measure_end_to_end
from bench.percentiles import percentile
from bench.records.filtered import BOTH, PLAIN, Filtered
from bench.table import Table

BYTES_PER_S = 20_000_000
SHARES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
TITLE = "end to end at 20 MB/s, open loop"


def measure_latency(filtered: Filtered, rounds: int, seconds: float) -> Table:
    """Measure the direct way, a gateway without filters and one with both, in turns."""
    table = Table(TITLE, "PLAINTEXT", "ms", 2, plotted=tuple(SHARES))
    topics = filtered.topics
    rate = BYTES_PER_S / len(topics.batch)
    ways = (filtered.direct, filtered.ways[PLAIN], filtered.ways[BOTH])
    for number in range(rounds):
        for subject in ways if number % 2 == 0 else ways[::-1]:
            found = measure_end_to_end(subject, topics, seconds, rate, topics.batch, topics.records_per_batch)
            for name, share in SHARES.items():
                table.add(name, subject.name, percentile(found, share))
    return table
