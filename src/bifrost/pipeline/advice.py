"""Finds out what a client's settings cost, from its batches' headers and its requests, and which clients need an old
API version. Pure.

No record is read. A saving is what would have been saved on the metered days, for a month of 30 days; where it depends
on an assumption, a constant here names it.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CLIENT = ("tenant", "namespace", "principal", "client_id", "client_software_name", "client_software_version")
MONTH_DAYS = 30
BATCH_HEADER_BYTES = 61
"""Header of every record batch of format v2. Source: DefaultRecordBatch.RECORD_BATCH_OVERHEAD."""
GOOD_BATCH_RECORDS = 50
"""With this many records the header is a byte or two for each; more saves next to nothing."""
FEW_RECORDS = 10
"""Fewer records in a batch than this, on average, cause advice."""
COMPRESSED_SHARE = Decimal("0.5")
"""Share of their size that uncompressed records keep with zstd: an assumption; for text and JSON it is less."""
MANY_EMPTY = 0.5
"""A larger share of empty fetches than this causes advice."""
MIN_BATCHES = 1000
"""A client that sends fewer batches than this in all the days gets no advice."""
MIN_FETCHES = 1000

KAFKA_4_MINIMUM = {
    "AlterReplicaLogDirs": 1,
    "CreateAcls": 1,
    "CreateDelegationToken": 1,
    "CreateTopics": 2,
    "DeleteAcls": 1,
    "DeleteTopics": 1,
    "DescribeAcls": 1,
    "DescribeConfigs": 1,
    "DescribeDelegationToken": 1,
    "DescribeLogDirs": 1,
    "ExpireDelegationToken": 1,
    "Fetch": 4,
    "ListOffsets": 1,
    "OffsetCommit": 2,
    "OffsetFetch": 1,
    "OffsetForLeaderEpoch": 2,
    "Produce": 3,
    "RenewDelegationToken": 1,
    "ShareAcknowledge": 1,
    "ShareFetch": 1,
    "ShareGroupDescribe": 1,
    "ShareGroupHeartbeat": 1,
    "WriteTxnMarkers": 1,
}
"""The oldest version of each API that brokers of Kafka 4 take, where that is not 0. Source: KIP-896."""


def clients(usage: DataFrame) -> DataFrame:
    """Return for each client its sums of produced and fetched data and requests, over all days.

    Args:
        usage: rows of the journal, each record once.
    """
    produced = usage.where((F.col("scope") == "topic") & F.col("batches").isNotNull())
    exploded = produced.select(*CLIENT, F.explode("batches").alias("b")).where(F.col("b.acks").isNotNull())
    batches = F.col("b.batches")
    sent = exploded.groupBy(*CLIENT).agg(
        _sum(batches).alias("batches"),
        _sum(F.col("b.records")).alias("records"),
        _sum(F.col("b.bytes")).alias("bytes"),
        _sum(F.when(F.col("b.codec") == "none", F.col("b.bytes"))).alias("plain_bytes"),
        _sum(F.when(F.col("b.acks") != -1, batches)).alias("weak_batches"),
        _sum(F.col("b.idempotent_batches")).alias("idempotent_batches"),
        _sum(F.col("b.old_format_batches")).alias("old_batches"),
    )
    is_fetch = (F.col("scope") == "request") & F.col("api").isin("Fetch", "ShareFetch")
    asked = usage.groupBy(*CLIENT).agg(
        _sum(F.when(is_fetch, F.col("responses"))).alias("fetches"),
        _sum(F.when(is_fetch, F.col("empty_fetches"))).alias("empty_fetches"),
    )
    same = [F.col(f"a.{name}").eqNullSafe(F.col(f"s.{name}")) for name in CLIENT]
    joined = asked.alias("a").join(sent.alias("s"), same, "left")
    counts = [name for name in (*sent.columns, *asked.columns) if name not in CLIENT]
    return joined.select(
        *(F.col(f"a.{name}") for name in CLIENT),
        *(F.coalesce(F.col(name), F.lit(0)).alias(name) for name in counts),
    )


def _sum(counter: Column) -> Column:
    return F.coalesce(F.sum(counter), F.lit(0)).cast("bigint")


def advise(found: DataFrame, days: int, gib_price: Decimal, million_price: Decimal) -> DataFrame:
    """Return what each client should change.

    Args:
        found: what `clients` returned.
        days: the number of days that `found` covers, at least 1.
        gib_price: the price of a produced GiB, stored and fetched once.
        million_price: the price of a million requests.
    Returns:
        CLIENT, finding, property, now, suggested, kind (`saves` or `protects`), bytes_a_month, requests_a_month,
        money_a_month; the largest saving first.
    """
    month = F.lit(MONTH_DAYS) / F.lit(max(1, days))
    rules = F.array(_small_batches(month), _no_codec(month), _empty_fetches(month), *_protections())
    one = found.select(*CLIENT, F.explode(rules).alias("rule")).where(F.col("rule").isNotNull())
    flat = one.select(*CLIENT, "rule.*")
    by_bytes = F.col("bytes_a_month") / F.lit(float(1 << 30)) * F.lit(float(gib_price))
    by_requests = F.col("requests_a_month") / F.lit(1e6) * F.lit(float(million_price))
    money = F.round(by_bytes + by_requests, 4).cast("decimal(28,4)")
    return flat.withColumn("money_a_month", money).orderBy(
        F.desc("money_a_month"), F.desc("bytes_a_month"), F.desc("requests_a_month"), *CLIENT, "finding"
    )


def _rule(
    when: Column, finding: str, prop: str, now: Column, suggested: str, saved: tuple[Column, Column] | None
) -> Column:
    size, requests = saved or (F.lit(0), F.lit(0))
    return F.when(
        when,
        F.struct(
            F.lit(finding).alias("finding"),
            F.lit(prop).alias("property"),
            now.cast("string").alias("now"),
            F.lit(suggested).alias("suggested"),
            F.lit("saves" if saved else "protects").alias("kind"),
            F.greatest(size.cast("bigint"), F.lit(0).cast("bigint")).alias("bytes_a_month"),
            F.greatest(requests.cast("bigint"), F.lit(0).cast("bigint")).alias("requests_a_month"),
        ),
    )


def _per_batch() -> Column:
    return F.col("records") / F.nullif(F.col("batches"), F.lit(0))


def _small_batches(month: Column) -> Column:
    fewer = F.col("batches") - F.col("records") / GOOD_BATCH_RECORDS
    return _rule(
        (F.col("batches") >= MIN_BATCHES) & (_per_batch() < FEW_RECORDS),
        "few records in a batch",
        "linger.ms, batch.size",
        F.format_string("%.1f records in a batch", _per_batch()),
        "linger.ms=20 batch.size=131072",
        (fewer * BATCH_HEADER_BYTES * month, F.floor(fewer * month)),
    )


def _no_codec(month: Column) -> Column:
    saved = F.col("plain_bytes") * F.lit(float(1 - COMPRESSED_SHARE)) * month
    share = F.col("plain_bytes") * 100 / F.nullif(F.col("bytes"), F.lit(0))
    return _rule(
        (F.col("batches") >= MIN_BATCHES) & (F.col("plain_bytes") * 5 > F.col("bytes")),
        "records without compression",
        "compression.type",
        F.format_string("%.0f %% of the bytes without", share),
        "compression.type=zstd",
        (saved, F.lit(0)),
    )


def _empty_fetches(month: Column) -> Column:
    share = F.col("empty_fetches") / F.nullif(F.col("fetches"), F.lit(0))
    return _rule(
        (F.col("fetches") >= MIN_FETCHES) & (share > MANY_EMPTY),
        "fetches that bring nothing",
        "fetch.max.wait.ms, fetch.min.bytes",
        F.format_string("%.0f %% of the fetches empty", share * 100),
        "fetch.max.wait.ms=5000 fetch.min.bytes=16384",
        # A client that waits ten times as long asks a tenth as often.
        (F.lit(0), F.floor(F.col("empty_fetches") * 0.9 * month)),
    )


def _protections() -> list[Column]:
    some = F.col("batches") > 0
    weak = F.col("weak_batches") * 100 / F.nullif(F.col("batches"), F.lit(0))
    plain = (F.col("batches") - F.col("idempotent_batches")) * 100 / F.nullif(F.col("batches"), F.lit(0))
    old = F.col("old_batches") * 100 / F.nullif(F.col("batches"), F.lit(0))
    return [
        _rule(
            some & (F.col("weak_batches") > 0),
            "records that one broker's loss can take",
            "acks",
            F.format_string("%.0f %% of the batches with acks 0 or 1", weak),
            "acks=all",
            None,
        ),
        _rule(
            some & (F.col("idempotent_batches") < F.col("batches")),
            "records that a retry can write twice",
            "enable.idempotence",
            F.format_string("%.0f %% of the batches without", plain),
            "enable.idempotence=true",
            None,
        ),
        _rule(
            F.col("old_batches") > 0,
            "message formats v0 and v1",
            "the client library",
            F.format_string("%.0f %% of the batches", old),
            "a client of Kafka 0.11 or newer: Kafka 4 writes v2 alone",
            None,
        ),
    ]


def version_users(usage: DataFrame) -> DataFrame:
    """Return the clients that use each version of each API: api, api_version, minimum (of Kafka 4; 0: all), CLIENT,
    requests.
    """
    asked = usage.where((F.col("scope") == "request") & F.col("api").isNotNull())
    grouped = asked.groupBy("api", "api_version", *CLIENT).agg(_sum(F.col("requests")).alias("requests"))
    pairs = [F.lit(part) for pair in KAFKA_4_MINIMUM.items() for part in pair]
    return grouped.withColumn("minimum", F.coalesce(F.create_map(*pairs)[F.col("api")], F.lit(0)))


def broken_without(users: DataFrame, api: str, version: int) -> DataFrame:
    """Return the clients that fail when versions of an API below `version` are removed."""
    return users.where((F.col("api") == api) & (F.col("api_version") < version))
