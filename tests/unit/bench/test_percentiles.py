import pytest
from bench.percentiles import Spread, percentile, spread


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0, 1), (0.001, 1), (0.01, 1), (0.5, 50), (0.501, 51), (0.99, 99), (0.991, 100), (1, 100)],
)
def test_a_percentile_is_the_nearest_rank(share: float, expected: int) -> None:
    assert percentile(list(range(100, 0, -1)), share) == expected


def test_a_rank_is_not_one_too_high_for_the_way_a_share_is_written_in_binary() -> None:
    assert percentile(list(range(1, 1001)), 0.999) == 999
    assert percentile(list(range(1, 10_001)), 0.999) == 9990


def test_of_a_few_values_the_high_percentiles_are_the_largest() -> None:
    assert percentile([3.0, 9.0], 0.99) == 9.0
    assert percentile([3.0], 0.5) == 3.0


@pytest.mark.parametrize(("values", "share"), [([], 0.5), ([1.0], 1.1), ([1.0], -0.1)])
def test_what_has_no_percentile_is_refused(values: list[float], share: float) -> None:
    with pytest.raises(ValueError, match="no percentile"):
        percentile(values, share)


def test_a_spread_is_minimum_median_and_maximum() -> None:
    assert spread([4.0, 1.0, 3.0, 2.0]) == Spread(1.0, 2.5, 4.0)
    assert spread([7.0]) == Spread(7.0, 7.0, 7.0)
