"""Amounts of money in the precision of their currency (ISO 4217). Pure.

A page shows each amount with the digits that its currency has after the point: two for EUR, none for JPY, three for
KWD. Half of the last digit is rounded away from zero, as is usual in commerce. Unit prices are exact and not rounded.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

_USUAL_DIGITS = 2
_OTHER_DIGITS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
    4: "CLF UYW",
}
"""Source: ISO 4217, list one: the minor units of the currencies that have other than two digits."""
_DIGITS = {code: digits for digits, codes in _OTHER_DIGITS.items() for code in codes.split()}


class Amount(NamedTuple):
    """An amount of money in a table."""

    value: Decimal
    currency: str

    def __str__(self) -> str:
        """Return it without the name of the currency."""
        return show_amount(self.value, self.currency)


def digits_of(currency: str) -> int:
    """Return how many digits a currency's amounts have after the point."""
    return _DIGITS.get(currency, _USUAL_DIGITS)


def smallest(currency: str) -> Decimal:
    """Return the smallest amount of a currency: 0.01 for EUR."""
    return Decimal(1).scaleb(-digits_of(currency))


def rounded(amount: Decimal, currency: str) -> Decimal:
    """Return an amount rounded to its currency; half of the smallest amount goes away from zero."""
    # Adding 0 turns -0.00 into 0.00.
    return amount.quantize(smallest(currency), ROUND_HALF_UP) + 0


def show_amount(amount: Decimal, currency: str) -> str:
    """Return a rounded amount as text, without the name of the currency: `1,234.50`."""
    return f"{rounded(amount, currency):,f}"


def show_money(amount: Decimal, currency: str) -> str:
    """Return a rounded amount with the name of the currency: `1,234.50 EUR`."""
    return f"{show_amount(amount, currency)} {currency}"


def show_price(price: Decimal, currency: str) -> str:
    """Return a unit price exactly, with at least the digits of the currency: `0.0005`, `0.20`."""
    digits = max(digits_of(currency), -int(price.normalize().as_tuple().exponent))
    return f"{price:,.{digits}f}"


def show_quantity(quantity: Decimal) -> str:
    """Return a quantity with three digits after the point, or six where it is less than one."""
    digits = 6 if 0 < abs(quantity) < 1 else 3
    return f"{quantity.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP):,f}"
