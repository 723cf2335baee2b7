"""Which tenant owns a physical name in the journal. Pure: frames in, frames out.

The prefixes that gateways told the journal decide, not the gateway's translation of a name: a certificate says whether
that was right. So this is a second implementation of the rule of `bifrost.tenancy.ownership`, on purpose; a test
compares the two. No other module of the pipeline compares a name with prefixes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from bifrost.config.name_template import NameTemplate

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

TOPIC, GROUP, TRANSACTIONAL_ID = "topic", "group", "transactional_id"
ENTITIES = (TOPIC, GROUP, TRANSACTIONAL_ID)
"""Kinds of entities whose physical names show their owner."""

_FOR_EVER = "9999"
"""Behind every day."""

_SEPARATORS = (":", "..", "__")
"""What a tenant's clients may write between tiers: `namespace_separator` of the configuration."""


def prefix_frame(
    spark: SparkSession,
    tenants: list[str],
    template: str,
    told: Iterable[tuple[str, str, str]],
    given: Mapping[str, tuple[str, ...]],
) -> DataFrame:
    """Return the prefixes of each tenant's physical names: owner, entity (its kind), prefix.

    Args:
        spark: makes the frame.
        tenants: all tenants in the journal.
        template: the template of names, for tenants of whom nothing else is known; see `NameTemplate`.
        told: tenant, entity and prefix, as gateways told them.
        given: the prefixes of tenants, for all kinds, in place of those that gateways told.
    """
    shape = NameTemplate(template)
    rows = {
        (tenant, entity, one) for tenant, prefixes in given.items() for one in prefixes for entity in ENTITIES
    }
    rows |= {one for one in told if one[0] not in given}
    known = {(tenant, entity) for tenant, entity, _prefix in rows}
    rows |= {
        (tenant, entity, shape.prefix(tenant))
        for tenant in tenants
        for entity in ENTITIES
        if (tenant, entity) not in known
    }
    return spark.createDataFrame(sorted(rows), "owner STRING, entity STRING, prefix STRING")


def told_prefixes(events: DataFrame) -> DataFrame:
    """Return the prefixes of tenants' physical names that each gateway told at its start: tenant, entity, prefix."""
    told = events.where((F.col("type") == "tenant") & F.col("tenant").isNotNull())
    pairs = F.array(*(_pair(entity) for entity in ENTITIES))
    found = told.select("tenant", F.explode(pairs).alias("told")).select("tenant", "told.*")
    return found.where(F.col("prefix") != "").distinct()


def _pair(entity: str) -> Column:
    return F.struct(F.lit(entity).alias("entity"), F.col("after")[f"{entity}_prefix"].alias("prefix"))


def owners_of(names: DataFrame, prefixes: DataFrame) -> DataFrame:
    """Return the owner of each physical name that has one: entity, physical, owner.

    Args:
        names: entity, physical; each once.
        prefixes: owner, entity, prefix. If one prefix begins another, the longest decides.
    """
    fits = (F.col("names.entity") == F.col("prefixes.entity")) & F.expr("startswith(physical, prefix)")
    longest = F.max(F.struct(F.length("prefix").alias("n"), F.col("owner")))
    joined = names.alias("names").join(F.broadcast(prefixes.alias("prefixes")), fits)
    owned = joined.groupBy("names.entity", "physical").agg(longest.alias("best"))
    return owned.select("entity", "physical", F.col("best.owner").alias("owner"))


def told_aliases(events: DataFrame) -> DataFrame:
    """Return which topics a tenant was given though their prefix is another's, or their name another.

    Each gateway tells it of itself, and its own accesses are judged by that.

    Returns:
        gateway_id, epoch, tenant, physical, access (owner, read, read-write), from_day, to_day.
    """
    keys = ["gateway_id", "epoch", "tenant", "physical_name", "resource_name"]
    told = events.where((F.col("type") == "alias") & F.col("physical_name").isNotNull())
    access = F.max_by(F.col("after")["access"], "sequence")
    last = F.max_by("outcome", "sequence")
    found = told.groupBy(*keys).agg(
        access.alias("access"),
        F.min("day").alias("from_day"),
        F.max("day").alias("last_day"),
        last.alias("last"),
    )
    return found.groupBy("gateway_id", "epoch", "tenant", F.col("physical_name").alias("physical")).agg(
        F.min("access").alias("access"),
        F.min("from_day").alias("from_day"),
        F.max(F.when(F.col("last") == "done", F.col("last_day")).otherwise(F.lit(_FOR_EVER))).alias("to_day"),
    )


def is_name_of(virtual: Column, physical: Column) -> Column:
    """Whether a physical name can be what the gateway makes of a virtual one, for any tenant.

    A virtual name may begin with the tiers of a namespace below the client's (docs/namespaces.md): which of its
    separators end a tier only the gateway knows, so any may.
    """
    below = [_is_below(virtual, physical, one) for one in _SEPARATORS]
    return F.when(F.endswith(physical, virtual), F.lit(True)).otherwise(below[0] | below[1] | below[2])


def _is_below(virtual: Column, physical: Column, separator: str) -> Column:
    parts = F.split(virtual, re.escape(separator))
    count = F.size(parts)

    def fits(depth: Column) -> Column:
        tiers = F.transform(F.slice(parts, F.lit(1), depth), _code)
        name = F.array_join(F.slice(parts, depth + 1, count), separator)
        return F.endswith(physical, F.concat(F.array_join(tiers, ""), name))

    return (count > 1) & F.exists(F.sequence(F.lit(1), F.greatest(count - 1, F.lit(1))), fits)


def _code(tier: Column) -> Column:
    """Return a tier as it is in physical names."""
    escaped = F.replace(tier, F.lit("-"), F.lit("--"))
    escaped = F.replace(F.replace(escaped, F.lit("."), F.lit("-d")), F.lit("_"), F.lit("-u"))
    return F.concat(F.lit("--"), escaped, F.lit("."))
