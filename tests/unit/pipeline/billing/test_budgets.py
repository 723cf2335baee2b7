from decimal import Decimal

from bifrost.pipeline.billing.budgets import DAY_S, Spending, look_ahead


def spending(by_bytes: int, by_rest: int, produced: int = 10 * DAY_S * 1000) -> Spending:
    return Spending(Decimal(by_bytes), Decimal(by_rest), produced, 2 * produced)


def test_a_budget_that_will_be_kept_needs_nothing() -> None:
    outlook = look_ahead(Decimal(100), spending(20, 10), 10, 30)

    assert (outlook.spent, outlook.projected, outlook.quota, outlook.text) == (30, 90, None, "")


def test_the_quota_brings_the_rest_of_the_month_down_to_the_budget() -> None:
    outlook = look_ahead(Decimal(75), spending(20, 10), 10, 30)

    # 30 of 75 go to the rest, 20 are spent; 25 of the 40 that the other 20 days would cost are left.
    assert outlook.projected == 90
    assert outlook.quota is not None
    assert outlook.quota.producer_byte_rate == int(1000 * 25 / 40)
    assert outlook.quota.consumer_byte_rate == int(2000 * 25 / 40)
    assert "producer_byte_rate=625 consumer_byte_rate=1250" in outlook.text


def test_what_no_quota_can_keep_is_said() -> None:
    outlook = look_ahead(Decimal(30), spending(1, 90), 10, 30)

    assert outlook.quota is None
    assert "no quota keeps this" in outlook.text


def test_at_the_end_of_a_month_the_quota_is_for_the_next_one() -> None:
    outlook = look_ahead(Decimal(60), spending(80, 20), 30, 30)

    assert outlook.quota is not None
    assert outlook.quota.producer_byte_rate == int(Decimal(10 * DAY_S * 1000) * 40 / 80 / (30 * DAY_S))


def test_a_budget_of_nothing_is_exceeded_by_anything() -> None:
    assert look_ahead(Decimal(0), spending(0, 1), 1, 30).quota is None
    assert look_ahead(Decimal(0), spending(0, 0), 1, 30).text == ""
