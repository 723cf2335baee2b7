import pytest

from bifrost.pipeline.stored.virtual.listed_offsets import Difference, LogBounds, differences
from bifrost.tenancy.virtual_partitions.partition_end import STEP, least_end

LONG = 10 * STEP


def found(
    own: tuple[int, int] | None,
    answered: tuple[int, int],
    before: tuple[int, int] = (0, 100),
    after: tuple[int, int] | None = None,
) -> list[str]:
    bounds = [LogBounds(*one) for one in (answered, before, after or before)]
    return [one.what for one in differences("t", 3, own, *bounds)]


@pytest.mark.parametrize(
    ("own", "answered"),
    [((10, 50), (10, 51)), ((10, 99), (0, 100)), (None, (0, 0)), ((0, 0), (0, 1))],
)
def test_a_right_answer_is_no_difference(own: tuple[int, int] | None, answered: tuple[int, int]) -> None:
    assert found(own, answered) == []


@pytest.mark.parametrize(
    ("own", "answered", "what"),
    [
        ((10, 50), (10, 50), ["latest"]),
        ((10, 50), (10, 52), ["latest"]),
        ((10, 50), (11, 51), ["earliest"]),
        (None, (0, 1), ["latest"]),
        (None, (1, 0), ["earliest"]),
        ((10, 50), (51, 10), ["latest", "earliest"]),
    ],
)
def test_a_wrong_answer_is_told(
    own: tuple[int, int] | None, answered: tuple[int, int], what: list[str]
) -> None:
    assert found(own, answered) == what


def test_an_idle_partition_may_end_later_in_steps() -> None:
    assert found((5, 5), (5, least_end(LONG)), (0, LONG)) == []
    assert found((5, 5), (5, 6), (0, LONG)) == []
    assert found((5, 5), (5, 5), (0, LONG)) == ["latest"]
    assert found((5, 5), (5, least_end(LONG) + 1), (0, LONG)) == ["latest"]
    assert found(None, (0, least_end(LONG)), (0, LONG)) == []


def test_a_partition_is_not_before_a_log_whose_beginning_was_deleted() -> None:
    assert found(None, (90, 90), (90, 100)) == []
    assert found(None, (0, 0), (90, 100)) == ["latest", "earliest"]
    assert found((10, 20), (60, 60), (10, 100), (60, 100)) == []
    assert found((10, 80), (70, 81), (10, 100), (60, 100)) == []
    assert found((10, 80), (9, 81), (10, 100), (60, 100)) == ["earliest"]


def test_what_is_written_meanwhile_may_count() -> None:
    assert found((10, 50), (10, 120), (0, 100), (0, 130)) == []
    assert found((10, 50), (10, 51), (0, 100), (0, 130)) == []
    assert found((10, 50), (10, 50), (0, 100), (0, 130)) == ["latest"]
    assert found(None, (110, 111), (0, 100), (0, 130)) == []


def test_a_difference_says_what_was_expected() -> None:
    (one,) = differences("t", 3, (10, 50), LogBounds(10, 60), LogBounds(0, 100), LogBounds(5, 100))
    assert one == Difference("t", 3, "latest", "51", 60)
    (one,) = differences("t", 3, (10, 50), LogBounds(20, 51), LogBounds(0, 100), LogBounds(5, 100))
    assert one == Difference("t", 3, "earliest", "0 to 10", 20)
