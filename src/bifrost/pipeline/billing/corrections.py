"""Finds the differences between an issued bill and today's charges, charge by charge. Pure: frames in, frames out.

An issued bill does not change; a later one carries the differences (`ledger.py`). The invoiced charges of a month are
those that were issued and all corrections of them since, so no correction is made twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from bifrost.pipeline.billing.rating import CHARGE_KEYS, COST, QUANTITY, charge_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_KEYS = ("day", *CHARGE_KEYS)
_AMOUNTS = {"quantity": QUANTITY, "list_cost": COST, "cost": COST}
_TERMS = ("price_version", "list_price", "price")


def correction_schema() -> StructType:
    """Return the schema of corrections: charges whose quantity and costs are differences, the reason, and the bill.

    `day` is the day of the usage, `billed_in` the month whose bill carries the correction.
    """
    return StructType(
        [*charge_schema().fields, StructField("reason", StringType()), StructField("billed_in", StringType())]
    )


def differences(invoiced: DataFrame, now: DataFrame, billed_in: str) -> DataFrame:
    """Return the corrections of issued charges.

    Args:
        invoiced: the issued charges, and their issued corrections.
        now: today's charges of the same days.
        billed_in: the month whose bill carries the corrections.
    Returns:
        Rows of `correction_schema`: today's terms, the amounts as today's minus the invoiced ones; the reason is
        `usage` when the quantity differs, `price` when only the costs do.
    """
    columns = charge_schema().fieldNames()
    signed = now.select(*columns, F.lit(1).alias("sign")).unionByName(
        invoiced.select(*columns, F.lit(-1).alias("sign"))
    )
    is_now = F.col("sign") > 0
    amounts = [F.sum(F.col(name) * F.col("sign")).cast(kind).alias(name) for name, kind in _AMOUNTS.items()]
    terms = [
        F.coalesce(F.max(F.when(is_now, F.col(name))), F.max(F.when(~is_now, F.col(name)))).alias(name)
        for name in _TERMS
    ]
    summed = signed.groupBy(*_KEYS).agg(*amounts, *terms)
    found = summed.where("quantity <> 0 OR list_cost <> 0 OR cost <> 0")
    reason = F.when(F.col("quantity") != 0, "usage").otherwise("price")
    return (
        found.withColumn("reason", reason)
        .withColumn("billed_in", F.lit(billed_in))
        .select(*correction_schema().fieldNames())
    )


def lost_days(invoiced: DataFrame, now: DataFrame) -> list[str]:
    """Return the days that were invoiced and have no usage any more.

    Usage does not disappear, so tables without it are not those from which the bill was made; otherwise everything
    would be paid back.
    """
    was = invoiced.groupBy("day").agg(F.sum("quantity").alias("left")).where("left > 0").select("day")
    gone = was.join(now.select("day").distinct(), "day", "left_anti")
    return sorted(row.day for row in gone.collect())
