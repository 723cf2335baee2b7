import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.partition_end import STEP, least_end


@pytest.mark.parametrize(
    ("physical", "least"),
    [(0, 0), (1, 0), (STEP, 0), (2 * STEP - 1, 0), (2 * STEP, STEP), (5 * STEP + 7, 4 * STEP)],
)
def test_the_least_end_follows_the_physical_one_in_steps(physical: int, least: int) -> None:
    assert least_end(physical) == least


@given(st.integers(0, 2**62), st.integers(0, 2**40))
def test_it_is_near_and_never_goes_back(physical: int, more: int) -> None:
    assert physical - 2 * STEP < least_end(physical) <= physical
    assert least_end(physical) <= least_end(physical + more)
