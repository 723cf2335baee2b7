"""Compares what exists on the brokers with what the journal knows. Pure: frames in, frames out.

    exists | named in the journal         | finding
    yes    | never                        | unseen: a tenant's, made before the journal began or past the gateways
    active | not on that day or before it | bypassed: clients are at work in it, and no gateway tells of them
    yes    |                              | ownerless: it has no tenant's prefix, and was moved to none
    no     | on that day                  | gone: deleted or expired, or only asked for

Only `bypassed` speaks against a certificate: members of a group name it every few seconds, and a transaction is open
for minutes, so the journal of the same day has them if they use a gateway. All else has harmless causes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from bifrost.pipeline.certificates.name_owners import ENTITIES, owners_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from bifrost.pipeline.certificates.inventory import Existing

EXISTING, BYPASSED, UNSEEN, OWNERLESS, GONE = "existing", "bypassed", "unseen", "ownerless", "gone"

_SCHEMA = "upstream STRING, entity STRING, physical STRING, is_active BOOLEAN, moved_to STRING"


def existing_frame(spark: SparkSession, found: Iterable[Existing]) -> DataFrame:
    """Return the entities of an inventory: upstream, entity, physical, is_active, moved_to."""
    rows = [(one.upstream, one.entity, one.physical, one.is_active, one.moved_to) for one in found]
    return spark.createDataFrame(rows, _SCHEMA)


def compare(
    existing: DataFrame, found: DataFrame, prefixes: DataFrame, day: str, day_before: str
) -> DataFrame:
    """Return the findings: finding, tenant (null: no tenant), upstream (null where gone), entity, physical.

    Every entity that exists is told once as EXISTING if it is a tenant's, and once more with what was found.

    Args:
        existing: see `existing_frame`.
        found: accesses of all days; see `isolation.accesses`.
        prefixes: see `name_owners.prefix_frame`.
        day: the day of the inventory.
        day_before: the day before it, for an inventory just behind midnight.
    """
    named = found.where(F.col("physical").isNotNull() & F.col("entity").isin(*ENTITIES))
    is_near = F.col("day").isin(day_before, day)
    known = named.groupBy("entity", "physical").agg(F.max(is_near).alias("is_recent"))
    names = existing.select("entity", "physical").distinct()
    joined = existing.join(owners_of(names, prefixes), ["entity", "physical"], "left").join(
        known, ["entity", "physical"], "left"
    )
    joined = joined.withColumn("owner", F.coalesce("moved_to", "owner"))
    is_owned = F.col("owner").isNotNull()
    is_bypassed = F.col("is_active") & ~F.coalesce("is_recent", F.lit(False))
    finding = F.coalesce(
        F.when(~is_owned, F.lit(OWNERLESS)),
        F.when(is_bypassed, F.lit(BYPASSED)),
        F.when(F.col("is_recent").isNull(), F.lit(UNSEEN)),
    )
    told = F.array_compact(F.array(F.when(is_owned, F.lit(EXISTING)), finding))
    of_brokers = joined.select(
        F.explode(told).alias("finding"), F.col("owner").alias("tenant"), "upstream", "entity", "physical"
    )
    of_day = named.where(F.col("day") == day).select("tenant", "entity", "physical").distinct()
    gone = of_day.join(names, ["entity", "physical"], "left_anti").select(
        F.lit(GONE).alias("finding"),
        "tenant",
        F.lit(None).cast("string").alias("upstream"),
        "entity",
        "physical",
    )
    return of_brokers.unionByName(gone)


def told(findings: DataFrame, most: int) -> DataFrame:
    """Return the first names of each kind of finding, by tenant, upstream and entity, in their order.

    `n` says how many there are. Of what is only EXISTING there is one row.

    Args:
        findings: see `compare`.
        most: names of each.
    """
    keys = ["finding", "tenant", "upstream", "entity"]
    alike = Window.partitionBy(*keys)
    numbered = findings.withColumn("n", F.count(F.lit(1)).over(alike)).withColumn(
        "place", F.row_number().over(alike.orderBy("physical"))
    )
    shown = F.when(F.col("finding") == EXISTING, 1).otherwise(most)
    return numbered.where(F.col("place") <= shown).drop("place").orderBy(*keys, "physical")
