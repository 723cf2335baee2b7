from decimal import Decimal

from bifrost.pipeline.billing.month_figures import largest, totals


def test_amounts_are_summed_by_key() -> None:
    assert totals([("a", Decimal(1)), ("b", Decimal(2)), ("a", Decimal(3))]) == {"a": 4, "b": 2}


def test_the_largest_is_first_and_equal_ones_are_by_name() -> None:
    assert largest({"b": Decimal(1), "c": Decimal(2), "a": Decimal(1)}) == [("c", 2), ("a", 1), ("b", 1)]
