"""Charges in the columns of FOCUS, the FinOps Open Cost and Usage Specification (1.2), for all tools that read bills.

A tenant is a billing account, a namespace a sub account, a topic a resource. The file has all mandatory and recommended
columns except AvailabilityZone, and the conditional ones whose condition holds. As FOCUS demands, it has no columns for
what this platform lacks: commitments, capacity reservations, regions, a second or a virtual currency. Bifrost's own
columns begin with `x_` and come after FOCUS's.

Source: focus.finops.org, FOCUS 1.2, Cost and Usage; column handling, key-value format and unit format there.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, StructType, TimestampType

from bifrost.pipeline.billing.months import period_of
from bifrost.pipeline.billing.price_book import PriceBook
from bifrost.pipeline.billing.rating import NAMES, UNITS

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

FOCUS_VERSION = "1.2"
TAG_PREFIX = "bifrost/"
"""Prefix of Bifrost's tag keys: FOCUS demands one that distinguishes a provider's tags from a user's."""
JSON_COLUMNS = ("SkuPriceDetails", "Tags")
_SCHEMA_CREATED = "2026-11-21T00:00:00Z"
"""When the columns were last changed: FOCUS's CreationDate."""
_GENERATOR = "bifrost pipeline bill"


def to_focus(
    charges: DataFrame,
    corrections: DataFrame,
    book: PriceBook,
    month: str,
    *,
    revision: int,
    is_issued: bool = False,
) -> DataFrame:
    """Return a month's bill as rows of FOCUS.

    Args:
        charges: what `rating.rate` returned.
        corrections: of earlier bills, which this one carries (`corrections.differences`).
        book: names the provider and the currency.
        month: the billing period, e.g. 2026-10.
        revision: the number of this bill within the period.
        is_issued: whether the bill is issued and does not change any more.
    """
    plain = charges.withColumn("reason", F.lit(None).cast("string"))
    lines = plain.unionByName(corrections.drop("billed_in"))
    columns: dict[str, Column | str] = (
        _costs() | _parties(book) | _periods(month) | _classes() | _skus(book) | _resources()
    )
    columns |= {
        "x_Upstream": "upstream",
        "x_Principal": "principal",
        "x_PriceBookVersion": "price_version",
        "x_Revision": F.lit(revision),
        "x_InvoiceStatus": F.lit("Issued" if is_issued else "Provisional"),
        "x_CorrectedInvoiceId": F.when(_is_correction(), _invoice(F.substring("day", 1, 7))),
        "x_CorrectionReason": F.when(F.col("reason") == "usage", "Late usage").when(
            F.col("reason") == "price", "Price"
        ),
    }
    return lines.select(
        *((F.col(one) if isinstance(one, str) else one).alias(name) for name, one in columns.items())
    )


def to_csv(focus: DataFrame) -> DataFrame:
    """Return the rows for a text file: decimals without an exponent, times in ISO 8601 with a Z."""
    columns = []
    for one in focus.schema:
        column = F.col(one.name)
        if isinstance(one.dataType, DecimalType):
            column = _plain(column)
        elif isinstance(one.dataType, TimestampType):
            column = F.date_format(column, "yyyy-MM-dd'T'HH:mm:ss'Z'")
        columns.append(column.alias(one.name))
    return focus.select(*columns)


def schema_text(schema: StructType) -> str:
    """Return FOCUS's metadata of a dataset, as JSON: its generator, and its columns."""
    columns = [_definition(one.name, one.dataType) for one in schema]
    # The schema's ID follows from its columns, so it changes only with them.
    named = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([FOCUS_VERSION, columns], sort_keys=True))
    metadata = {
        "DataGenerator": _GENERATOR,
        "SchemaId": str(named),
        "FocusVersion": FOCUS_VERSION,
        "CreationDate": _SCHEMA_CREATED,
        "ColumnDefinition": columns,
    }
    return json.dumps(metadata, indent=2) + "\n"


def _definition(name: str, kind: Any) -> dict[str, Any]:
    if name in JSON_COLUMNS:
        prefixes = {"ProviderTagPrefixes": [TAG_PREFIX]} if name == "Tags" else {}
        return {"ColumnName": name, "DataType": "JSON", **prefixes}
    if isinstance(kind, DecimalType):
        size = {"NumericPrecision": kind.precision, "NumberScale": kind.scale}
        return {"ColumnName": name, "DataType": "DECIMAL", **size}
    types = {"timestamp": "DATETIME", "int": "INTEGER", "string": "STRING"}
    return {"ColumnName": name, "DataType": types[kind.simpleString()]}


def _costs() -> dict[str, Column | str]:
    unit = _mapped({sku.value: unit for sku, unit in UNITS.items()})
    return {
        "BilledCost": "cost",
        "EffectiveCost": "cost",
        "ContractedCost": "cost",
        "ListCost": "list_cost",
        "ContractedUnitPrice": "price",
        "ListUnitPrice": "list_price",
        "PricingQuantity": "quantity",
        "PricingUnit": unit,
        "ConsumedQuantity": "quantity",
        "ConsumedUnit": unit,
    }


def _parties(book: PriceBook) -> dict[str, Column | str]:
    return {
        "BillingCurrency": F.lit(book.currency),
        "BillingAccountId": "tenant",
        "BillingAccountName": "tenant",
        "BillingAccountType": F.lit("Tenant"),
        "SubAccountId": "namespace",
        "SubAccountName": "namespace",
        "SubAccountType": F.when(F.col("namespace").isNotNull(), "Namespace"),
        "ProviderName": F.lit(book.provider),
        "PublisherName": F.lit(book.provider),
        "InvoiceIssuerName": F.lit(book.provider),
    }


def _periods(month: str) -> dict[str, Column | str]:
    first, after = period_of(month)
    return {
        "InvoiceId": _invoice(F.lit(month)),
        "BillingPeriodStart": F.lit(str(first)).cast("timestamp"),
        "BillingPeriodEnd": F.lit(str(after)).cast("timestamp"),
        "ChargePeriodStart": F.col("day").cast("timestamp"),
        "ChargePeriodEnd": F.date_add(F.col("day").cast("date"), 1).cast("timestamp"),
    }


def _classes() -> dict[str, Column | str]:
    return {
        "ChargeCategory": F.lit("Usage"),
        # An open period is restated, not corrected: only a period whose invoice was sent has corrections.
        "ChargeClass": F.when(_is_correction(), "Correction"),
        "ChargeFrequency": F.lit("Usage-Based"),
        "PricingCategory": F.lit("Standard"),
    }


def _skus(book: PriceBook) -> dict[str, Column | str]:
    name = _mapped({sku.value: text for sku, text in NAMES.items()})
    unit = _mapped({sku.value: text for sku, text in UNITS.items()})
    what = F.concat_ws(" ", name, F.col("topic"))
    what = F.when(
        _is_correction(), F.concat(F.lit("Correction of "), F.substring("day", 1, 7), F.lit(": "), what)
    ).otherwise(what)
    price = F.concat(_plain(F.col("price")), F.lit(f" {book.currency} for "), unit)
    return {
        "ChargeDescription": F.concat_ws(", ", what, price),
        "SkuId": "sku",
        "SkuMeter": name,
        "SkuPriceId": F.concat(F.col("sku"), F.lit("@"), F.col("price_version")),
        "SkuPriceDetails": F.when(
            F.col("price_version").isNotNull(),
            F.to_json(F.struct(F.col("price_version").alias("x_PriceBookVersion"))),
        ),
        "ServiceCategory": F.lit("Integration"),
        "ServiceSubcategory": F.lit("Messaging"),
        "ServiceName": F.lit("Apache Kafka"),
    }


def _resources() -> dict[str, Column | str]:
    is_topic = F.col("physical_topic").isNotNull()
    # Two upstreams may have topics with the same name.
    tags = F.struct(*(F.col(name).alias(f"{TAG_PREFIX}{name}") for name in ("namespace", "principal")))
    return {
        "ResourceId": F.when(is_topic, F.concat_ws("/", "upstream", "physical_topic")),
        "ResourceName": F.when(is_topic, F.col("topic")),
        "ResourceType": F.when(is_topic, F.lit("Topic")),
        "Tags": F.to_json(tags),
    }


def _is_correction() -> Column:
    return F.col("reason").isNotNull()


def _invoice(month: Column) -> Column:
    """Return the invoice's ID: one for each tenant and month, because a month is issued only once."""
    return F.concat_ws("-", F.col("tenant"), month)


def _plain(number: Column) -> Column:
    """Return a decimal as text, without an exponent and trailing zeros."""
    text = number.cast("string")
    return F.when(
        F.instr(text, ".") > 0, F.regexp_replace(F.regexp_replace(text, "0+$", ""), r"\.$", "")
    ).otherwise(text)


def _mapped(names: dict[str, str]) -> Column:
    return F.create_map(*(F.lit(part) for pair in names.items() for part in pair))[F.col("sku")]
