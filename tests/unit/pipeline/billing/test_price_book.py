import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from bifrost.config.errors import ConfigError
from bifrost.pipeline.billing.price_book import load_price_book, read_price_book

ROOT = Path(__file__).resolve().parents[4]
BOOK = """currency: EUR
provider: Us
versions:
  - version: "1"
    valid_from: 2026-01-01
    prices: {produced_bytes: 0.1, requests: "0.25"}
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read_price_book(text, "book.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_the_example_is_a_price_book() -> None:
    book = load_price_book(ROOT / "examples/price-book.yaml")

    assert book.currency == "EUR"
    assert [one.version for one in book.versions] == ["2026-01", "2026-07"]


def test_amounts_are_exactly_as_written() -> None:
    book = read_price_book(BOOK, "book.yaml")

    prices = book.versions[0].prices
    assert (prices.produced_bytes, prices.requests, prices.stored_bytes) == (
        Decimal("0.1"),
        Decimal("0.25"),
        0,
    )
    assert book.versions[0].valid_from == datetime.date(2026, 1, 1)


def test_everything_wrong_is_said_at_once_with_its_line() -> None:
    found = problems_of(
        BOOK.replace("0.1", "-1").replace("EUR", "euro").replace("provider: Us", "provder: Us")
    )

    assert any(line.startswith("book.yaml:1: currency") for line in found)
    assert any("did you mean provider?" in line and line.startswith("book.yaml:2") for line in found)
    assert any(
        line.startswith("book.yaml:6: versions[0].prices.produced_bytes: write an amount") for line in found
    )


def test_versions_are_in_order_and_named_once() -> None:
    again = BOOK + '  - version: "1"\n    valid_from: 2025-01-01\n    prices: {}\n'

    found = problems_of(again)

    assert any(line.startswith("book.yaml:7") and "named" not in line and "twice" in line for line in found)
    assert any("in the order of their dates" in line for line in found)


@pytest.mark.parametrize("tenant", ["a b", "", "x" * 300])
def test_a_tenant_is_named_as_in_the_gateway(tenant: str) -> None:
    assert problems_of(BOOK + f'discounts: [{{tenant: "{tenant}", percent: 5}}]\n')


def test_a_discount_is_at_most_everything() -> None:
    assert "at most 100" in problems_of(BOOK + "discounts: [{tenant: acme, percent: 101}]\n")[0]


def test_a_file_that_is_not_there_is_one_line() -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file") as caught:
        load_price_book(Path("no-such-book.yaml"))
    assert len(caught.value.problems) == 1


def test_seller_tax_and_buyers_are_optional() -> None:
    plain = read_price_book(BOOK, "book.yaml")
    full = load_price_book(ROOT / "examples/price-book.yaml")

    assert (plain.seller, plain.tax, plain.buyers) == (None, None, ())
    assert full.seller is not None
    assert full.seller.payment_days == 30
    assert [(one.tenant, one.tax.note if one.tax else None) for one in full.buyers] == [
        ("acme", None),
        ("globex", "reverse charge"),
    ]


@pytest.mark.parametrize(("key", "more"), [("discounts", "percent: 5"), ("buyers", "name: Acme")])
def test_a_tenant_is_named_once(key: str, more: str) -> None:
    found = problems_of(BOOK + f"{key}:\n  - {{tenant: acme, {more}}}\n  - {{tenant: acme, {more}}}\n")

    assert found == [f"book.yaml:9: {key}[1].tenant: acme is given twice: name it once"]
