"""What is promised of filters of records, and whether a run's figures keep it."""

from collections.abc import Iterator, Sequence
from statistics import median

from bench.goals import Goal
from bench.records import latency, memory, size
from bench.records.cost import CONSUME, PER_CORE, PRODUCE, RATIO
from bench.records.filtered import BATCHES, BOTH, IDS, OTHERS, PLAIN, VALUES
from bench.subjects import DIRECT
from bench.table import Table

SEALED_TO_PLAIN, IDS_TO_PLAIN = 2.2, 1.3
OTHERS_TO_PLAIN = 1.05
"""The same price; what is more than 1 is what rounds of the same work differ by."""
BATCHES_MB_PER_S, VALUES_MB_PER_S = 700, 300
SIZE = 1.03
ADDED_P99_MS = 10.0
GROWN_MIB = 2.0
"""Between the second and the last quarter of a load that does not change."""

RATIOS = {BATCHES: SEALED_TO_PLAIN, IDS: IDS_TO_PLAIN, OTHERS: OTHERS_TO_PLAIN}
SPEEDS = {BATCHES: BATCHES_MB_PER_S, VALUES: VALUES_MB_PER_S}


def judge(tables: Sequence[Table]) -> list[Goal]:
    """Return every goal that these tables say something of."""
    return [goal for table in tables for goal in _judge(table)]


def _judge(table: Table) -> Iterator[Goal]:
    rows = table.rows
    if table.title in (RATIO, PER_CORE):
        limits = RATIOS if table.title == RATIO else SPEEDS
        what, unit = ("CPU", "of that without filters") if table.title == RATIO else ("a core", "MB/s")
        for row in (PRODUCE, CONSUME):
            for name, limit in limits.items():
                if values := rows.get(row, {}).get(name):
                    is_least = table.title == PER_CORE
                    yield Goal(f"{what}, {name}, {row}", median(values), limit, unit, is_least)
    elif table.title == size.TITLE:
        for row, ways in rows.items():
            yield Goal(f"size, {row}", ways[BATCHES][0] / ways[PLAIN][0], SIZE, "of the client's")
    elif table.title == latency.TITLE:
        added = median(rows["p99"][BOTH]) - median(rows["p99"][DIRECT])
        yield Goal(f"p99 beyond the direct way, {BOTH}", added, ADDED_P99_MS, "ms")
    elif table.title == memory.TITLE:
        (name,) = table.subjects
        found = {row: ways[name][0] for row, ways in rows.items()}
        yield Goal("most memory, of a flood", found[memory.PEAK], found[memory.BOUND], "MiB")
        yield Goal("memory grown", found[memory.LATE] - found[memory.EARLY], GROWN_MIB, "MiB")
