"""Charges in the columns of FOCUS, the FinOps Open Cost and Usage Specification (1.2), for whatever tool reads bills.

A tenant is a billing account, a namespace a sub account, a topic a resource. FOCUS's conditional columns for what
this platform does not have (commitments, capacity reservations, availability zones, virtual currencies) are left
out, as it allows; columns of our own begin with `x_`, as it wants.

Source: focus.finops.org, FOCUS 1.2, Cost and Usage.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from bifrost.pipeline.months import period_of
from bifrost.pipeline.price_book import PriceBook
from bifrost.pipeline.rating import NAMES, UNITS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def to_focus(charges: DataFrame, book: PriceBook, month: str, revision: int) -> DataFrame:
    """Return charges of one month as rows of FOCUS.

    Args:
        charges: what `rating.rate` returned.
        book: who charges, in what currency.
        month: the billing period, e.g. 2026-10.
        revision: which bill of the period this is.
    """
    columns: dict[str, Column | str] = (
        _costs() | _parties(book) | _periods(month, revision) | _skus() | _resources()
    )
    columns |= {
        "x_Upstream": "upstream",
        "x_Principal": "principal",
        "x_PriceBookVersion": "price_version",
        "x_Revision": F.lit(revision),
    }
    return charges.select(
        *((F.col(one) if isinstance(one, str) else one).alias(name) for name, one in columns.items())
    )


def _costs() -> dict[str, Column | str]:
    return {
        "BilledCost": "cost",
        "EffectiveCost": "cost",
        "ContractedCost": "cost",
        "ListCost": "list_cost",
        "ContractedUnitPrice": "price",
        "ListUnitPrice": "list_price",
        "PricingQuantity": "quantity",
        "PricingUnit": _mapped({sku.value: unit for sku, unit in UNITS.items()}),
        "ConsumedQuantity": "quantity",
        "ConsumedUnit": _mapped({sku.value: unit for sku, unit in UNITS.items()}),
    }


def _parties(book: PriceBook) -> dict[str, Column | str]:
    return {
        "BillingCurrency": F.lit(book.currency),
        "PricingCurrency": F.lit(book.currency),
        "BillingAccountId": "tenant",
        "BillingAccountName": "tenant",
        "BillingAccountType": F.lit("Tenant"),
        "SubAccountId": "namespace",
        "SubAccountName": "namespace",
        "SubAccountType": F.lit("Namespace"),
        "ProviderName": F.lit(book.provider),
        "PublisherName": F.lit(book.provider),
        "InvoiceIssuerName": F.lit(book.provider),
    }


def _periods(month: str, revision: int) -> dict[str, Column | str]:
    first, after = period_of(month)
    return {
        "InvoiceId": F.concat("tenant", F.lit(f"-{month}-{revision}")),
        "BillingPeriodStart": F.lit(str(first)).cast("timestamp"),
        "BillingPeriodEnd": F.lit(str(after)).cast("timestamp"),
        "ChargePeriodStart": F.col("day").cast("timestamp"),
        "ChargePeriodEnd": F.date_add(F.col("day").cast("date"), 1).cast("timestamp"),
        "ChargeCategory": F.lit("Usage"),
        # An open period is restated, not corrected: a correction is of a period whose invoice was sent.
        "ChargeClass": F.lit(None).cast("string"),
        "ChargeFrequency": F.lit("Usage-Based"),
        "PricingCategory": F.lit("Standard"),
    }


def _skus() -> dict[str, Column | str]:
    name = _mapped({sku.value: text for sku, text in NAMES.items()})
    return {
        "ChargeDescription": F.concat_ws(" ", name, F.col("topic")),
        "SkuId": "sku",
        "SkuMeter": name,
        "SkuPriceId": F.concat_ws("@", "sku", "price_version"),
        "ServiceCategory": F.lit("Integration"),
        "ServiceSubcategory": F.lit("Messaging"),
        "ServiceName": F.lit("Apache Kafka"),
    }


def _resources() -> dict[str, Column | str]:
    tags = F.struct(F.col("namespace"), F.col("principal"))
    return {
        "ResourceId": "physical_topic",
        "ResourceName": "topic",
        "ResourceType": F.when(F.col("physical_topic").isNotNull(), F.lit("Topic")),
        "RegionId": F.lit(None).cast("string"),
        "RegionName": F.lit(None).cast("string"),
        "Tags": F.to_json(tags),
    }


def _mapped(names: dict[str, str]) -> Column:
    return F.create_map(*(F.lit(part) for pair in names.items() for part in pair))[F.col("sku")]
