import datetime

import pytest

from bifrost.pipeline.billing.months import days_of, month_after, period_of


def test_a_month_ends_where_the_next_one_begins() -> None:
    assert period_of("2026-12") == (datetime.date(2026, 12, 1), datetime.date(2027, 1, 1))
    assert len(days_of("2028-02")) == 29
    assert days_of("2026-10")[-1] == "2026-10-31"


@pytest.mark.parametrize("text", ["2026-13", "october", "", "2026-10-01", "../etc"])
def test_anything_else_is_no_month(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        period_of(text)


def test_december_is_followed_by_another_year() -> None:
    assert (month_after("2026-10"), month_after("2026-12")) == ("2026-11", "2027-01")
