"""Rates usage: multiplies quantities in pricing units by the price in force on the day. Pure: frames in, frames out.

Money is decimal from the price book to the page. A quantity keeps twelve digits after the point, enough for a single
byte of a GiB; a cost keeps ten, because a tenant pays the sum of many small ones.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, StringType, StructField, StructType

from bifrost.pipeline.billing.price_book import PriceBook, Sku

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

GIB = 1 << 30
HOUR_MS = 3_600_000
MONTH_HOURS = 730
"""Hours of a month of storage: a twelfth of a year, as cloud providers count."""
QUANTITY = DecimalType(26, 12)
PRICE = DecimalType(18, 9)
COST = DecimalType(28, 10)
CHARGE_KEYS = ("upstream", "tenant", "namespace", "principal", "topic", "physical_topic", "sku")

UNITS = {
    Sku.PRODUCED_BYTES: "GiB",
    Sku.FETCHED_BYTES: "GiB",
    Sku.REQUESTS: "1000000 Requests",
    Sku.CONNECTION_HOURS: "Hours",
    Sku.STORED_BYTES: "GiB-Months",
    Sku.PARTITION_HOURS: "Hours",
}
"""The pricing unit of each meter, in FOCUS's form."""

NAMES = {
    Sku.PRODUCED_BYTES: "Produced",
    Sku.FETCHED_BYTES: "Fetched",
    Sku.REQUESTS: "Requests",
    Sku.CONNECTION_HOURS: "Connections",
    Sku.STORED_BYTES: "Stored",
    Sku.PARTITION_HOURS: "Partitions",
}
"""Readable names of the meters."""

_USAGE: dict[Sku, tuple[str, tuple[int, ...]]] = {
    Sku.PRODUCED_BYTES: ("produced_bytes", (GIB,)),
    Sku.FETCHED_BYTES: ("fetched_bytes", (GIB,)),
    Sku.REQUESTS: ("requests", (1_000_000,)),
    Sku.CONNECTION_HOURS: ("connection_ms", (HOUR_MS,)),
}
_STORAGE: dict[Sku, tuple[str, tuple[int, ...]]] = {
    Sku.STORED_BYTES: ("byte_ms", (GIB, MONTH_HOURS * HOUR_MS)),
    Sku.PARTITION_HOURS: ("partition_ms", (HOUR_MS,)),
}


def charge_schema() -> StructType:
    """Return the schema of the rated charges."""
    texts = [StructField(name, StringType()) for name in ("day", *CHARGE_KEYS)]
    return StructType(
        [
            *texts,
            StructField("quantity", QUANTITY),
            StructField("price_version", StringType()),
            StructField("list_price", PRICE),
            StructField("price", PRICE),
            StructField("list_cost", COST),
            StructField("cost", COST),
        ]
    )


def measure(usage: DataFrame, storage: DataFrame, namespaces: DataFrame) -> DataFrame:
    """Return the quantity of each meter, in its pricing unit; quantities of 0 are left out.

    Args:
        usage: the days of usage.
        storage: the days of storage.
        namespaces: the owner of each topic (`sums.topic_namespaces`).
    Returns:
        day, CHARGE_KEYS, quantity.
    """
    used = _melted(usage, _USAGE, usage.columns)
    stored = storage.join(namespaces, ["upstream", "tenant", "physical_topic"], "left")
    stored = stored.withColumn("namespace", F.coalesce("namespace", "tenant"))
    stored = stored.withColumn("principal", F.lit(None).cast("string"))
    both = used.unionByName(_melted(stored, _STORAGE, stored.columns))
    summed = both.groupBy("day", *CHARGE_KEYS).agg(F.sum("quantity").cast(QUANTITY).alias("quantity"))
    return summed.where(F.col("quantity") > 0)


def _melted(
    frame: DataFrame, meters: dict[Sku, tuple[str, tuple[int, ...]]], columns: list[str]
) -> DataFrame:
    kept = [name for name in ("day", *CHARGE_KEYS[:-1]) if name in columns]
    quantities = [
        F.struct(F.lit(sku.value).alias("sku"), _divided(column, divisors).alias("quantity"))
        for sku, (column, divisors) in meters.items()
    ]
    exploded = frame.select(*kept, F.explode(F.array(*quantities)).alias("one"))
    return exploded.select(*kept, "one.sku", "one.quantity")


def _divided(column: str, divisors: tuple[int, ...]) -> Column:
    """Return a counter divided by its divisors, to twelve digits.

    Spark gives a quotient as many digits after the point as the dividend has there, plus all digits of the divisor,
    plus one; beyond 38 digits altogether it drops some silently. So a large divisor is split into two smaller ones.
    """
    quotient = F.col(column)
    for digits, divisor in zip((2, 6), divisors, strict=False):
        quotient = quotient.cast(DecimalType(26, digits)) / F.lit(Decimal(divisor)).cast(DecimalType(10, 0))
    return quotient.cast(QUANTITY)


def price_frame(spark: SparkSession, book: PriceBook) -> DataFrame:
    """Return the prices: sku, price_version, valid_from, valid_to (exclusive; null: still in force),
    list_price.
    """
    rows = []
    ends = [str(one.valid_from) for one in book.versions[1:]] + [None]
    for version, end in zip(book.versions, ends, strict=True):
        for sku in Sku:
            price: Decimal = getattr(version.prices, sku.value)
            rows.append((sku.value, version.version, str(version.valid_from), end, price))
    texts = "sku STRING, price_version STRING, valid_from STRING, valid_to STRING"
    return spark.createDataFrame(rows, f"{texts}, list_price DECIMAL(18,9)")


def discount_frame(spark: SparkSession, book: PriceBook) -> DataFrame:
    """Return the discounts: tenant, percent."""
    rows = [(one.tenant, one.percent) for one in book.discounts]
    return spark.createDataFrame(rows, "tenant STRING, percent DECIMAL(18,9)")


def rate(measured: DataFrame, prices: DataFrame, discounts: DataFrame) -> DataFrame:
    """Return the charges: each quantity with the price of its day, and its cost.

    A day on which no version was in force has no `price_version`, and costs nothing: the job refuses such days.
    """
    in_force = (F.col("day") >= F.col("valid_from")) & (
        F.col("valid_to").isNull() | (F.col("day") < F.col("valid_to"))
    )
    priced = measured.join(F.broadcast(prices), (measured["sku"] == prices["sku"]) & in_force, "left").drop(
        prices["sku"]
    )
    priced = priced.join(F.broadcast(discounts), "tenant", "left")
    share = F.lit(Decimal(1)) - F.coalesce("percent", F.lit(Decimal(0))) / F.lit(Decimal(100))
    priced = priced.withColumn("price", (F.col("list_price") * share).cast(PRICE))
    cost = {"list_cost": "list_price", "cost": "price"}
    for name, price in cost.items():
        priced = priced.withColumn(
            name, F.coalesce((F.col("quantity") * F.col(price)).cast(COST), F.lit(0).cast(COST))
        )
    return priced.select(*charge_schema().fieldNames())


def changes(before: DataFrame, after: DataFrame) -> DataFrame:
    """Return the differences between a bill and the one before it: day, tenant, sku, was, now, reason.

    The reason is `usage` when the quantity differs (late records came), `price` when only the price does.
    """
    keys = ["day", "tenant", "sku"]

    def summed(frame: DataFrame, suffix: str) -> DataFrame:
        return frame.groupBy(*keys).agg(
            F.sum("cost").cast(COST).alias(f"cost_{suffix}"), F.sum("quantity").alias(f"quantity_{suffix}")
        )

    nothing = F.lit(0)
    both = summed(before, "before").join(summed(after, "after"), keys, "full")
    was, now = (F.coalesce(f"cost_{when}", nothing).cast(COST) for when in ("before", "after"))
    is_usage = F.coalesce("quantity_before", nothing) != F.coalesce("quantity_after", nothing)
    reason = F.when(is_usage, "usage").otherwise("price")
    found = both.select(
        *keys, was.alias("was"), now.alias("now"), reason.alias("reason"), is_usage.alias("is_usage")
    )
    return found.where((F.col("was") != F.col("now")) | F.col("is_usage")).drop("is_usage")
