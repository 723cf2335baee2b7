from decimal import Decimal

import pytest

from bifrost.pipeline.money import Amount, rounded, show_amount, show_money, show_price, show_quantity


@pytest.mark.parametrize(
    ("amount", "currency", "shown"),
    [
        ("1234.5", "EUR", "1,234.50"),
        ("0.005", "EUR", "0.01"),
        ("-0.005", "EUR", "-0.01"),
        ("0.0049", "EUR", "0.00"),
        ("-0.001", "EUR", "0.00"),
        ("1234.5", "JPY", "1,235"),
        ("1.0005", "KWD", "1.001"),
    ],
)
def test_an_amount_has_the_digits_of_its_currency(amount: str, currency: str, shown: str) -> None:
    assert show_amount(Decimal(amount), currency) == shown
    assert str(Amount(Decimal(amount), currency)) == shown


def test_a_large_amount_is_rounded_too() -> None:
    assert rounded(Decimal("123456789012345678.1250000000"), "EUR") == Decimal("123456789012345678.13")


def test_money_names_its_currency() -> None:
    assert show_money(Decimal("0.0012"), "EUR") == "0.00 EUR"


@pytest.mark.parametrize(
    ("price", "currency", "shown"),
    [("0.0005", "EUR", "0.0005"), ("0.2", "EUR", "0.20"), ("100", "EUR", "100.00"), ("0.25", "JPY", "0.25")],
)
def test_a_unit_price_is_exact(price: str, currency: str, shown: str) -> None:
    assert show_price(Decimal(price), currency) == shown


@pytest.mark.parametrize(
    ("quantity", "shown"), [("1234.5678", "1,234.568"), ("0.0000042", "0.000004"), ("0", "0.000")]
)
def test_a_small_quantity_has_more_digits(quantity: str, shown: str) -> None:
    assert show_quantity(Decimal(quantity)) == shown
