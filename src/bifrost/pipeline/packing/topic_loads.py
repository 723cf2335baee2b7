"""Frames of what topics carry and who reads them, from the journal's rows.

The journal counts bytes by topic and client, not by partition and not by group. So the share of a partition is that of
its log in the newest snapshot, and which client is a member of which group is what clients name beside each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CLIENT = ("tenant", "namespace", "principal", "client_id")
TOPIC = ("tenant", "physical_topic")
WINDOW_MS = 60_000
"""A rate is that of a minute: the journal's rows cover 10 s, and those of several gateways do not begin together."""
GONE_MS = 3_600_000
"""A topic of which the newest snapshots of its cluster have had none for so long is not there any more."""
MEMBERS = ("JoinGroup", "SyncGroup", "Heartbeat", "LeaveGroup", "OffsetCommit")
"""What members of classic groups send."""
NEW_GROUPS = ("ConsumerGroupHeartbeat", "ShareGroupHeartbeat", "StreamsGroupHeartbeat", "ShareFetch")
"""What members send to which brokers assign partitions. With virtual partitions consumer groups (KIP-848) and streams
groups (KIP-1071) have no more members at work than physical partitions, and a share group (KIP-932) has one start and
one lag for all that share a physical one."""
OLDEST_FETCH = 4


def newest_topics(snapshots: DataFrame) -> DataFrame:
    """Return the topics that are there: TOPIC and `partitions`, each with its number and the bytes of its log."""
    newest = snapshots.groupBy("upstream", *TOPIC).agg(
        F.max("interval_end_ms").alias("seen_ms"),
        F.max_by("partitions", "interval_end_ms").alias("partitions"),
    )
    looked = snapshots.groupBy("upstream").agg(F.max("interval_end_ms").alias("looked_ms"))
    there = newest.join(looked, "upstream").where(F.col("seen_ms") >= F.col("looked_ms") - GONE_MS)
    return there.select(*TOPIC, "partitions")


def produced(usage: DataFrame) -> DataFrame:
    """Return for each topic the bytes a second of the minute in which most was produced: TOPIC, bytes_s."""
    return _peaks(usage.where((F.col("scope") == "topic") & (F.col("api") == "Produce")), "bytes_in", TOPIC)


def fetched(usage: DataFrame) -> DataFrame:
    """Return likewise for each topic and client what was fetched: TOPIC, CLIENT, bytes_s."""
    rows = usage.where((F.col("scope") == "topic") & (F.col("api") == "Fetch"))
    return _peaks(rows, "bytes_out", (*CLIENT, "physical_topic"))


def _peaks(rows: DataFrame, counter: str, keys: tuple[str, ...]) -> DataFrame:
    known = rows.where(F.col("physical_topic").isNotNull()).fillna("", ["client_id"])
    # A longer row, as after a cluster that took no records, is of all the time that it covers.
    covered = F.greatest(F.col("interval_end_ms") - F.col("interval_start_ms"), F.lit(WINDOW_MS))
    rate = F.coalesce(F.col(counter), F.lit(0)) * 1000.0 / covered
    by_minute = known.groupBy(*keys, _minute()).agg(F.sum(rate).alias("bytes_s"))
    return by_minute.groupBy(*keys).agg(F.max("bytes_s").alias("bytes_s"))


def _minute() -> Column:
    return F.floor(F.col("interval_end_ms") / WINDOW_MS).alias("minute")


def connections(usage: DataFrame) -> DataFrame:
    """Return for each client how many connections it had at most at a time, over all gateways: CLIENT, connections."""
    rows = usage.where(F.col("scope") == "connection").fillna("", ["client_id"])
    open_at_end = F.coalesce(F.col("connections"), F.lit(0))
    # Those that were closed in the interval were open in it as well.
    most = open_at_end + F.coalesce(F.col("connections_closed"), F.lit(0))
    of_gateway = rows.groupBy(*CLIENT, _minute(), "gateway_id").agg(F.max(most).alias("n"))
    of_all = of_gateway.groupBy(*CLIENT, "minute").agg(F.sum("n").alias("n"))
    return of_all.groupBy(*CLIENT).agg(F.max("n").alias("connections"))


def members(usage: DataFrame) -> DataFrame:
    """Return which client is a member of which group: CLIENT, `group_id`, as the physical cluster calls it."""
    rows = usage.where((F.col("scope") == "group") & F.col("api").isin(*MEMBERS))
    named = rows.where(F.col("physical_name").isNotNull()).fillna("", ["client_id"])
    return named.select(*CLIENT, F.col("physical_name").alias("group_id")).distinct()


def refused_tenants(usage: DataFrame) -> DataFrame:
    """Return the tenants that cannot have virtual partitions, or of which too little is known: tenant, reason."""
    is_new = (F.col("scope") == "request") & F.col("api").isin(*NEW_GROUPS)
    is_folded = F.coalesce("is_folded", F.lit(False)) & F.col("scope").isin("topic", "group", "connection")
    reason = F.when(is_new, F.concat(F.lit("the tenant uses "), F.col("api"))).when(
        is_folded, F.lit("the journal has usage of the tenant without its topic or client")
    )
    found = usage.where(F.col("tenant").isNotNull()).select("tenant", reason.alias("reason"))
    return found.where(F.col("reason").isNotNull()).groupBy("tenant").agg(F.min("reason").alias("reason"))


def refused_topics(usage: DataFrame) -> DataFrame:
    """Return the topics that are used in ways that virtual partitions do not have: TOPIC, reason."""
    rows = usage.where((F.col("scope") == "topic") & F.col("physical_topic").isNotNull())
    has_old = F.exists(
        F.coalesce("batches", F.array()), lambda one: F.coalesce(one.old_format_batches, F.lit(0)) > 0
    )
    reason = (
        F.when(F.col("api") == "DeleteRecords", F.lit("DeleteRecords"))
        .when(F.col("api") == "ShareFetch", F.lit("ShareFetch"))
        .when(
            (F.col("api") == "Fetch") & (F.col("api_version") < OLDEST_FETCH), F.lit("Fetch before version 4")
        )
        .when(has_old, F.lit("message formats before v2"))
    )
    found = rows.select(*TOPIC, reason.alias("reason")).where(F.col("reason").isNotNull())
    return found.groupBy(*TOPIC).agg(F.min("reason").alias("reason"))
