"""The price book: prices of each meter's unit by date, tenants' discounts, and monthly budgets of namespaces.

A YAML file of versions. A day of usage is rated by the version that was in force on it, so an old bill can be computed
again exactly; a changed price is a new version, and a corrected version restates the days that it covers.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationError

from bifrost.config.errors import ConfigError, Problem
from bifrost.config.explain import explain
from bifrost.config.files.document import DocumentError, read_documents
from bifrost.config.section import Section
from bifrost.config.values import Name, NamespacePath

MAX_BYTES = 1 << 20


class Sku(StrEnum):
    """What is sold: one meter with its unit. The values are keys of the price book and FOCUS's `SkuId`."""

    PRODUCED_BYTES = "produced_bytes"
    FETCHED_BYTES = "fetched_bytes"
    REQUESTS = "requests"
    CONNECTION_HOURS = "connection_hours"
    STORED_BYTES = "stored_bytes"
    PARTITION_HOURS = "partition_hours"


def _read_amount(value: object) -> Decimal:
    """Read an amount of money: `0.09` or `"0.09"`, exactly as it was written."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("write an amount, e.g. 0.09")
    text = str(value).strip()
    if not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text):
        raise ValueError("write an amount with at most nine digits before and after the point, e.g. 0.09")
    return Decimal(text)


def _read_date(value: object) -> datetime.date:
    try:
        return datetime.date.fromisoformat(str(value))
    except ValueError:
        raise ValueError("write a date, e.g. 2026-10-01") from None


Amount = Annotated[Decimal, BeforeValidator(_read_amount)]
Date = Annotated[datetime.date, BeforeValidator(_read_date)]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
Text = Annotated[str, Field(min_length=1, max_length=200)]


class Prices(Section):
    """Prices of a version, in the book's currency; a meter without a price is free, and listed as such."""

    produced_bytes: Amount = Decimal(0)
    """For each GiB that clients sent in Produce requests."""

    fetched_bytes: Amount = Decimal(0)
    """For each GiB that clients received in Fetch responses."""

    requests: Amount = Decimal(0)
    """For a million requests of any kind."""

    connection_hours: Amount = Decimal(0)
    """For each hour that a connection was open."""

    stored_bytes: Amount = Decimal(0)
    """For each GiB that lay in the brokers' logs for a month of 730 hours, replicas counted."""

    partition_hours: Amount = Decimal(0)
    """For each hour that a partition was there."""


class PriceVersion(Section):
    """The prices from one day on."""

    version: Text
    """Its name, which stands on every line that was rated by it."""

    valid_from: Date
    """The first day (UTC) it is in force; it ends where the next one begins."""

    prices: Prices


class Discount(Section):
    """What one tenant pays less than the list."""

    tenant: Name
    percent: Annotated[Decimal, BeforeValidator(_read_amount), Field(le=100)]
    """Taken off every price: FOCUS's contracted unit price."""


class Budget(Section):
    """What a namespace may cost."""

    tenant: Name
    namespace: NamespacePath | None = None
    """One of the tenant's; without it the tenant as a whole."""

    monthly: Amount
    """Of a calendar month (UTC), in the book's currency."""


class Tax(Section):
    """The tax on an invoice's net total."""

    name: Text
    """E.g. VAT."""

    percent: Annotated[Decimal, BeforeValidator(_read_amount), Field(le=100)]
    note: Text | None = None
    """Printed beside it: e.g. why there is none."""


Address = Annotated[tuple[Text, ...], Field(max_length=10)]
"""The lines of a postal address below the name."""


class Seller(Section):
    """Who writes the invoices, as they show it."""

    name: Text
    address: Address = ()
    tax_id: Text | None = None
    payment: Annotated[tuple[Text, ...], Field(max_length=10)] = ()
    """How to pay, printed on each invoice: e.g. the account and the terms."""

    payment_days: Annotated[int, Field(ge=0, le=365)] | None = None
    """Days from the day of issue to the last day of payment; without it invoices do not name one."""


class Buyer(Section):
    """Who pays for a tenant, as the invoice shows it."""

    tenant: Name
    name: Text
    address: Address = ()
    tax_id: Text | None = None
    reference: Text | None = None
    """The buyer's own reference: e.g. a purchase order."""

    tax: Tax | None = None
    """In place of the book's tax: e.g. 0 percent for a buyer abroad."""


class PriceBook(Section):
    """The whole file."""

    currency: Currency
    """ISO 4217, e.g. EUR."""

    provider: Text
    """Who runs the platform and writes the bill: FOCUS's provider, publisher and invoice issuer."""

    versions: Annotated[tuple[PriceVersion, ...], Field(min_length=1, max_length=1000)]
    discounts: Annotated[tuple[Discount, ...], Field(max_length=100_000)] = ()
    budgets: Annotated[tuple[Budget, ...], Field(max_length=100_000)] = ()
    seller: Seller | None = None
    """Without it invoices name the provider alone."""

    tax: Tax | None = None
    """Without it invoices have no tax line."""

    buyers: Annotated[tuple[Buyer, ...], Field(max_length=100_000)] = ()
    """A tenant without one is named on its invoice by its name alone."""


def load_price_book(path: Path) -> PriceBook:
    """Read a price book.

    Raises:
        ConfigError: lists all errors in the book, with file and line.
    """
    name = str(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ConfigError(
            [Problem(name, None, f"cannot be read: {error.strerror}; see --price-book")]
        ) from None
    if len(content) > MAX_BYTES:
        raise ConfigError([Problem(name, None, f"larger than {MAX_BYTES} bytes: no price book")])
    return read_price_book(content.decode("utf-8", errors="replace"), name)


def read_price_book(text: str, name: str) -> PriceBook:
    """Read a price book's text; error messages call its file `name`.

    Raises:
        ConfigError: lists all errors in the book.
    """
    try:
        documents = read_documents(text)
    except DocumentError as error:
        raise ConfigError([Problem(name, error.line, error.text)]) from None
    document = documents[0]
    problems = [Problem(name, line, what) for _loc, line, what in document.problems]
    if len(documents) > 1:
        problems.append(Problem(name, None, "more than one document: write one price book in a file"))
    try:
        book = PriceBook.model_validate(document.data)
    except ValidationError as error:
        found = explain(error, document.data, PriceBook)
        problems += [Problem(name, document.line_of(loc), what) for loc, what in found]
        raise ConfigError(problems) from None
    problems += [
        Problem(name, document.line_of(("versions", index)), what) for index, what in _clashes(book.versions)
    ]
    for key, tenants in {
        "discounts": [one.tenant for one in book.discounts],
        "buyers": [one.tenant for one in book.buyers],
    }.items():
        problems += [
            Problem(
                name,
                document.line_of((key, index)),
                f"{key}[{index}].tenant: {tenant} is given twice: name it once",
            )
            for index, tenant in _repeated(tenants)
        ]
    if problems:
        raise ConfigError(problems)
    return book


def _clashes(versions: tuple[PriceVersion, ...]) -> list[tuple[int, str]]:
    found = []
    for index, one in enumerate(versions):
        earlier = versions[:index]
        if any(one.version == other.version for other in earlier):
            found.append(
                (index, f"versions[{index}].version: {one.version} is given twice: name each version once")
            )
        if any(one.valid_from <= other.valid_from for other in earlier):
            found.append(
                (index, f"versions[{index}].valid_from: write the versions in the order of their dates")
            )
    return found


def _repeated(tenants: Sequence[str]) -> list[tuple[int, str]]:
    """Return the tenants that were named before, each with its place."""
    seen: set[str] = set()
    found = []
    for index, tenant in enumerate(tenants):
        if tenant in seen:
            found.append((index, tenant))
        seen.add(tenant)
    return found
