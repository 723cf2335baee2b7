"""A price book for the tests of bills."""

from bifrost.pipeline.billing.price_book import PriceBook, read_price_book

GIB = 1 << 30
BOOK = """currency: EUR
provider: Us
versions: [{version: "1", valid_from: 2026-10-01, prices: {produced_bytes: 0.10, requests: 0.20}}]
budgets: [{tenant: acme, monthly: 0.5}]
"""


def book(text: str = BOOK) -> PriceBook:
    return read_price_book(text, "book")
