"""Percentiles and spreads of what was measured."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True)
class Spread:
    """Minimum, median and maximum of some rounds."""

    least: float
    median: float
    most: float


def percentile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that at least `share` (0 to 1) of all values do not exceed: the nearest rank.

    It is one that was measured, never one in between.

    Raises:
        ValueError: there are no values, or `share` is not within 0 and 1.
    """
    if not values or not 0 <= share <= 1:
        raise ValueError(f"no percentile {share} of {len(values)} values")
    # Rounded first: 0.999 * 1000 is a little more than 999 in binary, and the rank would be one too high.
    rank = math.ceil(round(share * len(values), 6))
    return sorted(values)[max(rank, 1) - 1]


def spread(values: Sequence[float]) -> Spread:
    """Return the spread of the rounds' values; there is at least one."""
    return Spread(min(values), median(values), max(values))
