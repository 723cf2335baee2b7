import pytest
from bench.schedule import Schedule


def test_records_are_due_one_after_the_other_whatever_happens() -> None:
    schedule = Schedule(start_s=100.0, rate=1000.0, count=5)

    assert [schedule.due_by(at) for at in (99.9, 100.0, 100.0009, 100.001, 100.0035, 200.0)] == [
        0,
        1,
        1,
        2,
        4,
        5,
    ]
    assert schedule.due_s(3) == pytest.approx(100.003)


@pytest.mark.parametrize("rate", [3.0, 7.0, 1000.0, 12_345.0])
def test_a_record_is_due_at_the_very_moment_it_is_due(rate: float) -> None:
    schedule = Schedule(start_s=1234.567, rate=rate, count=10_000)

    assert [schedule.due_by(schedule.due_s(index)) for index in range(10_000)] == list(range(1, 10_001))


def test_a_stall_counts_for_all_that_came_due_meanwhile() -> None:
    schedule = Schedule(start_s=0.0, rate=1000.0, count=101)
    stalled_until_s = 0.1

    latencies = [schedule.latency_s(index, stalled_until_s) for index in range(101)]

    assert latencies[0] == pytest.approx(0.1)
    assert latencies[50] == pytest.approx(0.05)
    assert latencies[100] == pytest.approx(0.0)
