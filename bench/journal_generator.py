"""A month of journal of many tenants, made by Spark itself: as Parquet files or on a topic.

    python -m bench.journal_generator --rows 5000000 --tenants 200 --out DIR [--bootstrap-servers HOST:PORT]

Every value follows from the row's number by a hash, so the same options give the same journal. Tenants differ by
orders of magnitude, days have nights, and a row's time goes up with its number, as it does on a topic.
"""

import argparse
import datetime
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.config.name_template import DEFAULT_TEMPLATE
from bifrost.pipeline.billing.months import period_of
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.spark.spark_session import SparkOptions, build_session

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

ROWS_PER_FILE = 250_000
GATEWAYS = 3
TOPICS_PER_TENANT = 8
RECORD_BYTES = 180
EPOCH = 1_790_000_000_000
CLIENTS = (
    ("apache-kafka-java", "3.9.1", 11),
    ("apache-kafka-java", "2.8.2", 8),
    ("librdkafka", "2.6.0", 10),
    ("kafka-python", "2.0.2", 7),
    ("aiokafka", "0.12.0", 9),
)
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclass(frozen=True)
class Shape:
    """How large a journal is."""

    rows: int
    tenants: int = 200
    month: str = "2026-10"


def generate(spark: "SparkSession", shape: Shape) -> "DataFrame":
    """Return a journal as the rows of Spark's Kafka source, each file's worth one partition."""
    first, after = period_of(shape.month)
    begin_ms = int(datetime.datetime(first.year, first.month, 1, tzinfo=datetime.UTC).timestamp() * 1000)
    length_ms = (after - first).days * 86_400_000
    rows = spark.range(0, shape.rows, 1, max(1, shape.rows // ROWS_PER_FILE))
    end_ms = (
        F.lit(begin_ms) + (F.floor((F.col("id") + 1) * (length_ms / 10_000 / shape.rows)) + 1) * 10_000
    ).cast("bigint")
    # Squared, so that some tenants do a hundred times what others do.
    number = F.floor(F.pow(_chance("tenant"), 2) * shape.tenants).cast("int")
    rows = rows.select(
        "id", F.least(end_ms, F.lit(begin_ms + length_ms)).alias("end_ms"), number.alias("number")
    )
    digits = F.col("number").cast("string")
    padded = F.concat(F.repeat(F.lit("0"), F.greatest(3 - F.length(digits), F.lit(0))), digits)
    rows = rows.withColumn("tenant", F.concat(F.lit("tenant-"), padded))
    rows = rows.withColumn("which", F.floor(F.pow(_chance("topic"), 2) * TOPICS_PER_TENANT).cast("int"))
    rows = rows.withColumn("kind_of", F.pmod(F.xxhash64("id", F.lit("scope")), F.lit(100)))
    return _as_topic(rows.withColumn("record", _record()))


def _chance(salt: str) -> "Column":
    """Return a number in [0, 1) that follows from the row's."""
    return F.pmod(F.xxhash64("id", F.lit(salt)), F.lit(1_000_003)) / F.lit(1_000_003.0)


def _record() -> "Column":
    is_snapshot = F.col("kind_of") >= 97
    head = [
        F.lit(1).alias("schema_version"),
        F.when(is_snapshot, "snapshot").otherwise("usage").alias("kind"),
        _numbered("gw-", F.pmod("id", F.lit(GATEWAYS))).alias("gateway_id"),
        F.lit(EPOCH).alias("epoch"),
        F.floor(F.col("id") / GATEWAYS).alias("sequence"),
        (F.col("end_ms") - F.when(is_snapshot, 60_000).otherwise(10_000)).alias("interval_start_ms"),
        F.col("end_ms").alias("interval_end_ms"),
        F.col("tenant"),
        F.when(~is_snapshot, _usage()).alias("usage"),
        F.when(is_snapshot, _snapshot()).alias("snapshot"),
    ]
    return F.to_json(F.struct(*head))


def _numbered(name: str, number: "Column") -> "Column":
    """Return a name with a number behind it; `format_string` takes a microsecond for each."""
    return F.concat(F.lit(name), number.cast("string"))


_IS_TOPIC, _IS_REQUEST = "kind_of < 60", "kind_of >= 60 AND kind_of < 92"
"""Which rows are of which scope; those above, up to 97, are of connections."""
_COUNTS = (
    "requests",
    "responses",
    "errors",
    "records_in",
    "batches_in",
    "bytes_in",
    "records_out",
    "batches_out",
    "bytes_out",
    "empty_fetches",
    "connections",
    "connection_ms",
)


def _usage() -> "Column":
    """Return a usage struct: one for all scopes, as three would be three times the code to compile and run."""
    is_topic, is_request = F.expr(_IS_TOPIC), F.expr(_IS_REQUEST)
    # Busy by day, quiet by night.
    hour = F.col("end_ms") / 3_600_000.0
    volume = (0.6 - 0.5 * F.cos(hour * 3.141592653589793 / 12)) * (1 + 9 * _chance("volume"))
    records = F.floor(volume * 400).cast("bigint")
    of_topic, of_request = _topic_counts(records), _request_counts(records)
    of_connection = {"connection_ms": F.lit(20_000), "connections": F.lit(2)}
    nothing = F.lit(None).cast("bigint")
    counts = [
        F.when(is_topic, of_topic.get(name, nothing))
        .when(is_request, of_request.get(name, nothing))
        .otherwise(of_connection.get(name, nothing))
        .cast("bigint")
        .alias(name)
        for name in _COUNTS
    ]
    client = F.pmod(F.col("number") + F.col("which"), F.lit(len(CLIENTS))) + 1
    names = [_one_of([one[place] for one in CLIENTS], client) for place in range(3)]
    topic = _numbered("topic-", F.col("which"))
    tier = F.when(F.col("which") < 5, F.col("tenant")).otherwise(
        F.concat("tenant", F.lit(":team-"), F.col("which").cast("string"))
    )
    return F.struct(
        F.when(is_topic, "topic").when(is_request, "request").otherwise("connection").alias("scope"),
        F.lit("main").alias("upstream"),
        tier.alias("namespace"),
        F.concat(F.lit("User:"), F.col("tenant"), _numbered("-", F.pmod("which", F.lit(3)))).alias(
            "principal"
        ),
        _numbered("app-", F.col("which")).alias("client_id"),
        names[0].alias("client_software_name"),
        names[1].alias("client_software_version"),
        F.when(is_topic, "Produce").otherwise("Fetch").alias("api"),
        F.when(is_topic, 0).otherwise(1).alias("api_key"),
        names[2].alias("api_version"),
        F.when(is_topic, topic).alias("topic"),
        F.when(is_topic, _physical(topic)).alias("physical_topic"),
        *counts,
        F.when(is_topic, F.array(_batches(records))).alias("batches"),
    )


def _physical(topic: "Column") -> "Column":
    mark, between = DEFAULT_TEMPLATE.removesuffix("{name}").split("{tenant}")
    return F.concat(F.lit(mark), F.col("tenant"), F.lit(between), topic)


def _one_of(values: Sequence[str | int], number: "Column") -> "Column":
    return F.element_at(F.array(*(F.lit(one) for one in values)), number)


def _batch_count(records: "Column") -> "Column":
    return F.ceil(records / (1 + F.pmod("which", F.lit(4)) * 20)).cast("bigint")


def _batches(records: "Column") -> "Column":
    count = _batch_count(records)
    is_idempotent = F.pmod("which", F.lit(2)) == 0
    return F.struct(
        _one_of(CODECS, F.pmod(F.col("number"), F.lit(len(CODECS))) + 1).alias("codec"),
        F.when(F.pmod("which", F.lit(3)) == 0, 1).otherwise(-1).alias("acks"),
        count.alias("batches"),
        records.alias("records"),
        (records * RECORD_BYTES).alias("bytes"),
        F.when(is_idempotent, count).otherwise(F.lit(0)).cast("bigint").alias("idempotent_batches"),
    )


def _topic_counts(records: "Column") -> "dict[str, Column]":
    count, size = _batch_count(records), records * RECORD_BYTES
    return {
        "requests": count,
        "records_in": records,
        "batches_in": count,
        "bytes_in": size,
        "records_out": records * 2,
        "batches_out": count * 2,
        "bytes_out": size * 2,
    }


def _request_counts(records: "Column") -> "dict[str, Column]":
    requests = records + 20
    return {
        "requests": requests,
        "responses": requests,
        "errors": F.lit(0),
        "bytes_in": requests * 120,
        "bytes_out": requests * 900,
        "empty_fetches": F.floor(requests * F.pmod("which", F.lit(5)) / 6),
    }


def _snapshot() -> "Column":
    name = _numbered("topic-", F.col("which"))
    size = F.lit(40_000_000).cast("bigint") * (F.col("number") + 1) * (F.col("which") + 1)
    return F.struct(
        F.lit("main").alias("upstream"),
        name.alias("topic"),
        _physical(name).alias("physical_topic"),
        F.array().cast("array<struct<partition:int,leader:int,replicas:array<int>>>").alias("partitions"),
        F.lit(6).alias("partition_count"),
        F.lit(3).alias("replication_factor"),
        size.alias("bytes"),
        (size * 3).alias("replica_bytes"),
    )


def _as_topic(rows: "DataFrame") -> "DataFrame":
    return rows.select(
        F.encode("tenant", "UTF-8").alias("key"),
        F.encode("record", "UTF-8").alias("value"),
        F.lit(JOURNAL_TOPIC).alias("topic"),
        F.lit(0).alias("partition"),
        F.col("id").alias("offset"),
        F.timestamp_millis("end_ms").alias("timestamp"),
    )


def main() -> int:
    """Make a journal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tenants", type=int, default=200)
    parser.add_argument("--month", default="2026-10")
    parser.add_argument("--out", help="a directory for Parquet files")
    parser.add_argument("--bootstrap-servers", help="a Kafka, whose topic is written instead")
    parser.add_argument("--master", default="local[*]")
    options = parser.parse_args()
    if bool(options.out) == bool(options.bootstrap_servers):
        parser.error("name --out or --bootstrap-servers")
    try:
        spark = build_session("journal", SparkOptions(master=options.master))
    except PipelineError as error:
        sys.exit(f"error: {error}")
    frame = generate(spark, Shape(options.rows, options.tenants, options.month))
    if options.out:
        frame.write.mode("overwrite").option("compression", "zstd").parquet(options.out)
    else:
        named = frame.select("key", "value", "topic").write.format("kafka")
        named.option("kafka.bootstrap.servers", options.bootstrap_servers).option(
            "kafka.compression.type", "zstd"
        ).save()
    print(json.dumps({"rows": options.rows, "tenants": options.tenants}))
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
