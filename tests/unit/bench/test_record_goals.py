import pytest
from bench.records import cost, latency, memory, size
from bench.records.filtered import BATCHES, BOTH, IDS, OTHERS, PLAIN, VALUES
from bench.records.goals import judge
from bench.subjects import DIRECT
from bench.table import Table


def _table(title: str, **rows: dict[str, list[float]]) -> Table:
    return Table(title, "PLAINTEXT", "", 1, rows=rows)


def _cost(produce: dict[str, list[float]]) -> list[Table]:
    table = Table("CPU of the gateway", "PLAINTEXT", "s/GiB", 2, rows={cost.PRODUCE: produce})
    return list(cost.derived(table))


def test_cost_is_compared_with_that_without_filters_of_the_same_round() -> None:
    ways = {PLAIN: [1.0, 2.0, 4.0], BATCHES: [2.0, 6.0, 8.0], IDS: [1.2, 2.6, 5.6], OTHERS: [1.0, 2.2, 4.4]}

    ratios = [one for one in judge(_cost(ways)) if one.unit != "MB/s"]

    assert [(one.reached, one.limit, one.is_kept) for one in ratios] == [
        (2.0, 2.2, True),
        (pytest.approx(1.3), 1.3, True),
        (pytest.approx(1.1), 1.05, False),
    ]


def test_a_core_has_to_seal_so_many_bytes() -> None:
    speeds = [
        one for one in judge(_cost({PLAIN: [1.0], BATCHES: [1.6], VALUES: [3.0]})) if one.unit == "MB/s"
    ]

    assert [(round(one.reached), one.limit, one.is_kept) for one in speeds] == [
        (671, 700, False),
        (358, 300, True),
    ]


def test_the_size_is_compared_with_the_client_s() -> None:
    table = _table(size.TITLE, zstd={PLAIN: [1000.0], BATCHES: [1040.0]})

    assert [(one.reached, one.is_kept) for one in judge([table])] == [(1.04, False)]


def test_the_latency_added_is_that_beyond_the_direct_way_s() -> None:
    ways = {DIRECT: [3.0, 5.0], PLAIN: [4.0, 4.0], BOTH: [8.0, 18.0]}
    table = Table(latency.TITLE, "PLAINTEXT", "ms", 2, rows={"p50": ways, "p99": ways})

    assert [(one.reached, one.limit, one.is_kept) for one in judge([table])] == [(9.0, 10.0, True)]


def test_memory_is_bounded_and_does_not_grow() -> None:
    found = {
        memory.START: 50.0,
        memory.PEAK: 115.0,
        memory.BOUND: 114.0,
        memory.EARLY: 60.0,
        memory.LATE: 61.0,
    }
    table = Table(memory.TITLE, "PLAINTEXT", "MiB", 1)
    for row, value in found.items():
        table.add(row, "30 s", value)

    assert [(one.reached, one.limit, one.is_kept) for one in judge([table])] == [
        (115.0, 114.0, False),
        (1.0, 2.0, True),
    ]
