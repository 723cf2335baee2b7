import datetime

import pytest

from bifrost.pipeline.billing.ledger import Ledger
from bifrost.pipeline.errors import PipelineError

NEW_YEAR = datetime.date(2027, 1, 1)


def issued(*months: str) -> Ledger:
    ledger = Ledger()
    for month in months:
        ledger = ledger.billed(month, 1).issue(month, NEW_YEAR)
    return ledger


def test_the_month_after_the_last_issued_one_corrects_all_before_it() -> None:
    ledger = issued("2026-09", "2026-10")

    assert ledger.correcting == "2026-11"
    assert ledger.corrected_by("2026-11", 12) == ["2026-09", "2026-10"]
    assert ledger.corrected_by("2026-11", 1) == ["2026-10"]
    assert ledger.corrected_by("2026-11", 0) == []


@pytest.mark.parametrize("month", ["2026-08", "2026-12"])
def test_no_other_month_does(month: str) -> None:
    assert issued("2026-09", "2026-10").corrected_by(month, 12) == []


def test_before_anything_was_issued_nothing_is_corrected() -> None:
    assert Ledger().correcting is None
    assert Ledger().corrected_by("2026-10", 12) == []


def test_a_month_is_issued_after_its_end() -> None:
    ledger = Ledger().billed("2026-10", 3)

    with pytest.raises(PipelineError, match="2026-10 is not over before 2026-11-01"):
        ledger.issue("2026-10", datetime.date(2026, 10, 31))
    assert ledger.issue("2026-10", datetime.date(2026, 11, 1)).issued == {"2026-10": 3}


def test_months_are_issued_in_their_order() -> None:
    with pytest.raises(PipelineError, match="the next one is 2026-11: bill --month 2026-11 --issue first"):
        issued("2026-10").billed("2026-12", 1).issue("2026-12", NEW_YEAR)


def test_a_commit_remembers_it_and_one_of_old_has_no_issued_bills() -> None:
    ledger = issued("2026-10")

    assert Ledger.read(ledger.facts) == ledger
    assert Ledger.read({"revisions": {"2026-10": 2}}) == Ledger({"2026-10": 2}, {})
