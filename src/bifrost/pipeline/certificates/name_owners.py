"""Which tenant owns a physical name in the journal. Pure: frames in, frames out.

The prefixes that gateways told the journal decide, not the gateway's translation of a name: a certificate says whether
that was right. So this is a second implementation of the rule of `bifrost.tenancy.ownership`, on purpose; a test
compares the two. No other module of the pipeline compares a name with prefixes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from bifrost.config.name_template import NameTemplate

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_PREFIXES = ("topic_prefix", "group_prefix", "transactional_id_prefix")
"""Fields of an event `tenant` with the prefixes of the tenant's names."""


def prefix_frame(
    spark: SparkSession, tenants: list[str], template: str, others: Mapping[str, tuple[str, ...]]
) -> DataFrame:
    """Return the prefixes of each tenant's physical names: owner, prefix.

    Args:
        spark: makes the frame.
        tenants: all tenants in the journal.
        template: the template of names; see `NameTemplate`.
        others: the prefixes of tenants that use another template.
    """
    shape = NameTemplate(template)
    rows = [(tenant, prefix) for tenant, prefixes in others.items() for prefix in prefixes]
    rows += [(tenant, shape.prefix(tenant)) for tenant in tenants if tenant not in others]
    return spark.createDataFrame(rows, "owner STRING, prefix STRING")


def told_prefixes(events: DataFrame) -> DataFrame:
    """Return the prefixes of tenants' physical names that each gateway told at its start: tenant, prefix."""
    told = events.where((F.col("type") == "tenant") & F.col("tenant").isNotNull())
    prefixes = F.array_compact(F.array(*(F.col("after")[name] for name in _PREFIXES)))
    return told.select("tenant", F.explode(prefixes).alias("prefix")).where(F.col("prefix") != "").distinct()


def owners_of(names: DataFrame, prefixes: DataFrame) -> DataFrame:
    """Return the owner of each physical name that has one: physical, owner.

    Args:
        names: physical, each name once.
        prefixes: owner, prefix. If one prefix begins another, the longest decides.
    """
    fits = F.expr("startswith(physical, prefix)")
    longest = F.max(F.struct(F.length("prefix").alias("n"), F.col("owner")))
    owned = names.join(F.broadcast(prefixes), fits).groupBy("physical").agg(longest.alias("best"))
    return owned.select("physical", F.col("best.owner").alias("owner"))


def is_name_of(virtual: Column, physical: Column) -> Column:
    """Whether a physical name can be what the gateway makes of a virtual one, for any tenant."""
    return F.endswith(physical, virtual)
