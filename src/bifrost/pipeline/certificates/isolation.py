"""Checks that each tenant accessed only physical entities of its own. Pure: frames in, frames out.

The owner of a physical name is what `name_owners` says, not the gateway's translation of a name. An access is an
exception when the name is another tenant's or no tenant's, when it is not the virtual name after the prefix, or when
data moved for a topic ID that is not the tenant's. Where the journal is incomplete (folded rows, requests of which
version 1 of the journal did not say what group they named, missing numbers, a gateway that was killed), the result says
that isolation is not proven.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from bifrost.pipeline.certificates.name_owners import (
    ENTITIES,
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    is_name_of,
    owners_of,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MAX_SAMPLES = 3
"""Records that a report lists for an exception, by their numbers; the tables have all of them."""
UNTOLD = "untold"
"""In place of an entity's kind: the journal of version 1 does not say which groups and transactional IDs were named."""
NAME_OTHERS = frozenset(
    [
        "AddOffsetsToTxn",
        "AddPartitionsToTxn",
        "AlterConfigs",
        "AlterShareGroupOffsets",
        "ConsumerGroupDescribe",
        "ConsumerGroupHeartbeat",
        "DeleteGroups",
        "DeleteShareGroupOffsets",
        "DescribeConfigs",
        "DescribeGroups",
        "DescribeShareGroupOffsets",
        "DescribeTransactions",
        "EndTxn",
        "FindCoordinator",
        "Heartbeat",
        "IncrementalAlterConfigs",
        "InitProducerId",
        "JoinGroup",
        "LeaveGroup",
        "OffsetCommit",
        "OffsetDelete",
        "OffsetFetch",
        "Produce",
        "ShareAcknowledge",
        "ShareFetch",
        "ShareGroupDescribe",
        "ShareGroupHeartbeat",
        "StreamsGroupDescribe",
        "StreamsGroupHeartbeat",
        "SyncGroup",
        "TxnOffsetCommit",
    ]
)
"""Kafka's names of the APIs whose requests may name a group or a transactional ID."""
_FIRST_WITH_OTHERS = 2
"""`schema_version` from which on the journal has rows about groups and transactional IDs."""


def accesses(usage: DataFrame, events: DataFrame, snapshots: DataFrame) -> DataFrame:
    """Return every access to a physical entity that the journal tells of.

    Returns:
        day, tenant, kind, entity (one of ENTITIES, or UNTOLD), principal, client_id, api, virtual, physical, topic_id,
        is_folded, moved (bytes), and the record's gateway_id, epoch and sequence.
    """
    text = F.lit(None).cast("string")
    no = F.lit(False)
    none = F.lit(0).cast("bigint")
    is_folded = F.coalesce("is_folded", no)
    moved = F.coalesce("bytes_in", F.lit(0)) + F.coalesce("bytes_out", F.lit(0))
    client = (F.lit("usage"), F.col("principal"), F.col("client_id"), F.col("api"))
    used = usage.where(F.col("scope") == "topic").select(
        *_who(*client),
        *_what(F.lit(TOPIC), F.col("topic"), F.col("physical_topic"), F.col("topic_id"), is_folded, moved),
    )
    others = usage.where(F.col("scope").isin(GROUP, TRANSACTIONAL_ID)).select(
        *_who(*client),
        *_what(F.col("scope"), F.col("resource_name"), F.col("physical_name"), text, is_folded, none),
    )
    is_old = F.coalesce("schema_version", F.lit(1)) < _FIRST_WITH_OTHERS
    names_some = F.col("api").isin(*sorted(NAME_OTHERS))
    untold = usage.where((F.col("scope") == "request") & is_old & names_some).select(
        *_who(*client), *_what(F.lit(UNTOLD), text, text, text, no, none)
    )
    # A denied change never left the gateway; all other changes were sent to the cluster, with any outcome.
    is_asked = (F.col("type") == "admin") & (F.col("outcome") != "denied")
    is_named = F.col("physical_name").isNotNull() & F.col("tenant").isNotNull()
    changed = events.where(is_asked & is_named & F.col("resource_type").isin(*ENTITIES)).select(
        *_who(F.lit("event"), F.col("principal"), F.col("client_id"), F.col("api")),
        *_what(F.col("resource_type"), F.col("resource_name"), F.col("physical_name"), text, no, none),
    )
    # A topic's stored bytes are billed to its tenant, so the topic must be the tenant's as well.
    stored = snapshots.select(
        *_who(F.lit("snapshot"), text, text, text),
        *_what(F.lit(TOPIC), F.col("topic"), F.col("physical_topic"), text, no, none),
    )
    return used.unionByName(others).unionByName(untold).unionByName(changed).unionByName(stored)


def _who(kind: Column, principal: Column, client_id: Column, api: Column) -> list[Column]:
    record = [F.col(name) for name in ("gateway_id", "epoch", "sequence", "day", "tenant")]
    named = {"kind": kind, "principal": principal, "client_id": client_id, "api": api}
    return [*record, *(one.alias(name) for name, one in named.items())]


def _what(
    entity: Column, virtual: Column, physical: Column, topic_id: Column, is_folded: Column, moved: Column
) -> list[Column]:
    named = {
        "entity": entity,
        "virtual": virtual,
        "physical": physical,
        "topic_id": topic_id,
        "is_folded": is_folded,
        "moved": moved,
    }
    return [one.alias(name) for name, one in named.items()]


def judge(found: DataFrame, prefixes: DataFrame, aliases: DataFrame | None = None) -> DataFrame:
    """Return accesses with `owner` (null: no tenant), `shared` (null: the tenant's by its prefix; else owner, read or
    read-write), `reason` (null: no exception) and `is_proven`.

    Args:
        found: accesses.
        prefixes: see `name_owners.prefix_frame`.
        aliases: topics that were moved or are shared; see `name_owners.told_aliases`. None: none.
    """
    names = found.select("entity", "physical").where(F.col("physical").isNotNull()).distinct()
    joined = _with_shared(found, aliases).join(owners_of(names, prefixes), ["entity", "physical"], "left")
    is_shared = F.col("shared").isNotNull()
    is_known = F.col("physical").isNotNull()
    is_other = is_known & F.col("owner").isNotNull() & (F.col("owner") != F.col("tenant"))
    is_odd = is_known & F.col("virtual").isNotNull() & ~is_name_of(F.col("virtual"), F.col("physical"))
    reason = F.when(is_shared, F.lit(None).cast("string")).otherwise(_reason(is_known, is_other, is_odd))
    # An unknown topic ID for which no data moved was refused: that is isolation at work.
    is_refused = F.col("topic_id").isNotNull() & (F.col("moved") == 0)
    return joined.withColumn("reason", reason).withColumn("is_proven", is_known | is_refused)


def _with_shared(found: DataFrame, aliases: DataFrame | None) -> DataFrame:
    """Return accesses with `shared`, to the day: a record may count an hour."""
    if aliases is None:
        return found.withColumn("shared", F.lit(None).cast("string"))
    one, told = found.alias("a"), F.broadcast(aliases.alias("t"))
    is_same = F.lit(True)
    for name in ("gateway_id", "epoch", "tenant", "physical"):
        is_same = is_same & (F.col(f"a.{name}") == F.col(f"t.{name}"))
    is_then = F.col("a.day").between(F.col("t.from_day"), F.col("t.to_day"))
    joined = one.join(told, is_same & is_then & (F.col("a.entity") == TOPIC), "left")
    return joined.select("a.*", F.col("t.access").alias("shared"))


def _reason(is_known: Column, is_other: Column, is_odd: Column) -> Column:
    return F.coalesce(
        F.when(is_other, F.concat(F.lit("belongs to "), F.col("owner"))),
        F.when(is_known & F.col("owner").isNull(), F.lit("belongs to no tenant")),
        F.when(is_odd, F.lit("is not the virtual name behind the prefix")),
        F.when(
            ~is_known & F.col("topic_id").isNotNull() & (F.col("moved") > 0),
            F.lit("data moved for a topic ID that is not the tenant's"),
        ),
    )


def shared_topics(judged: DataFrame) -> DataFrame:
    """Return the topics that a tenant accessed because they were moved to it or are shared with it."""
    return (
        judged.where(F.col("shared").isNotNull())
        .groupBy("day", "tenant", "physical", "owner", "shared")
        .agg(F.count(F.lit(1)).alias("records"), F.sum("moved").alias("bytes"))
    )


def summary(judged: DataFrame) -> DataFrame:
    """Return for each tenant and day: accesses, entities, exceptions, unproven, untold; and of each kind of entity
    <kind>_accesses, <kind>_names, <kind>_exceptions."""
    is_unproven = ~F.col("is_proven") & F.col("reason").isNull()
    whole = [
        F.count(F.lit(1)).alias("accesses"),
        F.count_distinct("entity", "physical").alias("entities"),
        F.count("reason").alias("exceptions"),
        F.count(F.when(is_unproven, 1)).alias("unproven"),
        F.count(F.when(F.col("entity") == UNTOLD, 1)).alias("untold"),
    ]
    kinds = []
    for one in ENTITIES:
        is_one = F.col("entity") == one
        kinds += [
            F.count(F.when(is_one, 1)).alias(f"{one}_accesses"),
            F.count_distinct(F.when(is_one, F.col("physical"))).alias(f"{one}_names"),
            F.count(F.when(is_one, F.col("reason"))).alias(f"{one}_exceptions"),
        ]
    return judged.groupBy("day", "tenant").agg(*whole, *kinds)


def exceptions(judged: DataFrame) -> DataFrame:
    """Return every exception: client, entity, reason, number of accesses, bytes, and the first records."""
    keys = [
        "day",
        "tenant",
        "kind",
        "entity",
        "principal",
        "client_id",
        "api",
        "virtual",
        "physical",
        "topic_id",
        "reason",
    ]
    record = F.concat_ws("/", "gateway_id", "epoch", "sequence")
    return (
        judged.where(F.col("reason").isNotNull())
        .groupBy(*keys)
        .agg(
            F.count(F.lit(1)).alias("records"),
            F.sum("moved").alias("bytes"),
            F.slice(F.sort_array(F.collect_set(record)), 1, MAX_SAMPLES).alias("samples"),
        )
    )


def gaps(numbers: DataFrame, drops: DataFrame) -> DataFrame:
    """Return the gaps in the numbers of records, and how many missing numbers no drop record explains.

    Args:
        numbers: day, gateway_id, epoch, sequence of every record, each once.
        drops: the journal's rows of kind `drop`.
    Returns:
        gateway_id, epoch, first, last, from_day, to_day, unexplained.
    """
    start = Window.partitionBy("gateway_id", "epoch").orderBy("sequence")
    with_last = numbers.withColumn("before", F.lag("sequence").over(start)).withColumn(
        "before_day", F.lag("day").over(start)
    )
    missing = with_last.where(F.col("sequence") > F.coalesce("before", F.lit(-1)) + 1).select(
        "gateway_id",
        "epoch",
        (F.coalesce("before", F.lit(-1)) + 1).alias("first"),
        (F.col("sequence") - 1).alias("last"),
        F.least("day", F.coalesce("before_day", "day")).alias("from_day"),
        F.greatest("day", F.coalesce("before_day", "day")).alias("to_day"),
    )
    told = drops.where(F.col("first_sequence").isNotNull()).select(
        "gateway_id", "epoch", "first_sequence", "last_sequence", "count"
    )
    inside = (F.col("first_sequence") <= F.col("last")) & (F.col("last_sequence") >= F.col("first"))
    joined = missing.alias("m").join(
        told.alias("d"),
        (F.col("m.gateway_id") == F.col("d.gateway_id")) & (F.col("m.epoch") == F.col("d.epoch")) & inside,
        "left",
    )
    keys = [F.col(f"m.{name}") for name in ("gateway_id", "epoch", "first", "last", "from_day", "to_day")]
    explained = F.coalesce(F.sum("d.count"), F.lit(0))
    grouped = joined.groupBy(*keys).agg(explained.alias("explained"))
    left = F.greatest(F.col("last") - F.col("first") + 1 - F.col("explained"), F.lit(0))
    return grouped.withColumn("unexplained", left).drop("explained")


def unended(ends: DataFrame, events: DataFrame) -> DataFrame:
    """Return epochs that did not end in order, although their gateway or worker has begun another since.

    What the gateway counted after the epoch's last record is in no journal: at most one interval, so at most an hour.

    Args:
        ends: gateway_id, epoch, interval_end_ms of the records.
        events: rows of the journal, of all days.
    Returns:
        gateway_id, epoch, from_day, to_day.
    """
    last = ends.groupBy("gateway_id", "epoch").agg(F.max("interval_end_ms").alias("last_ms"))
    stopped = events.where(F.col("type") == "stop").select("gateway_id", "epoch").distinct()
    # An epoch that began while this one still wrote is no successor: two may run side by side for a while.
    begun = events.where(F.col("type") == "start").select(
        F.col("gateway_id").alias("id"),
        F.col("epoch").alias("next"),
        F.col("interval_end_ms").alias("next_ms"),
    )
    follows = (
        (F.col("id") == F.col("gateway_id"))
        & (F.col("next") > F.col("epoch"))
        & (F.col("next_ms") >= F.col("last_ms"))
    )
    found = last.join(stopped, ["gateway_id", "epoch"], "left_anti").join(begun, follows, "left_semi")
    return found.select(
        "gateway_id",
        "epoch",
        F.date_format(F.timestamp_millis("last_ms"), "yyyy-MM-dd").alias("from_day"),
        F.date_format(F.timestamp_millis(F.col("last_ms") + 3_600_000), "yyyy-MM-dd").alias("to_day"),
    )
