"""A tenant's own streaming job: counts the records of a topic by key and minute, and writes the counts to another.

Bifrost is to it a Kafka cluster like any other: it needs an address, a user and a password (docs/tenants-on-spark.md).

    export KAFKA_USERNAME=acme KAFKA_PASSWORD='a long password' KAFKA_CA_FILE=ca.pem
    spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0 tenant_spark.py \
        --bootstrap-servers proxy.example.com:9092 --read orders --write orders-by-minute --checkpoint /data/by-minute
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F


def client_options(bootstrap: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the options of Spark's Kafka source and sink: where the cluster is, and who we are there.

    Secrets come from the environment: a command line is seen by every user of the machine.
    """
    mechanism = environment.get("KAFKA_SASL_MECHANISM", "SCRAM-SHA-512")
    login = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    module = f"org.apache.kafka.common.security.{login}"
    user, password = (jaas_text(environment[name]) for name in ("KAFKA_USERNAME", "KAFKA_PASSWORD"))
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "kafka.security.protocol": environment.get("KAFKA_SECURITY_PROTOCOL", "SASL_SSL"),
        "kafka.sasl.mechanism": mechanism,
        "kafka.sasl.jaas.config": f"{module} required username={user} password={password};",
    }
    if "KAFKA_CA_FILE" in environment:
        # The text, not the path: the executors then need no file.
        certificates = Path(environment["KAFKA_CA_FILE"]).read_text(encoding="ascii")
        options |= {"kafka.ssl.truststore.type": "PEM", "kafka.ssl.truststore.certificates": certificates}
    return options


def jaas_text(text: str) -> str:
    """Return a text as JAAS quotes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def count_by_window(records: DataFrame, window: str, lateness: str) -> DataFrame:
    """Return how many records each key has in each window of time, as rows that the Kafka sink takes.

    Args:
        records: rows of the Kafka source; a record's timestamp is its time.
        window: its length, e.g. `1 minute`.
        lateness: how long to wait for what comes late; a window's count is written once, when that has passed.
    """
    counted = (
        records.withWatermark("timestamp", lateness).groupBy("key", F.window("timestamp", window)).count()
    )
    value = F.to_json(F.struct(F.col("window.start").alias("from"), F.col("window.end").alias("to"), "count"))
    return counted.select("key", value.alias("value"))


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Count the records of a topic by key and window of time.")
    parser.add_argument("--bootstrap-servers", required=True, help="the gateway")
    parser.add_argument(
        "--read", required=True, metavar="TOPIC", help="by its own name, as any client calls it"
    )
    parser.add_argument("--write", required=True, metavar="TOPIC")
    parser.add_argument(
        "--checkpoint", required=True, metavar="DIR", help="how far it read, and its open windows"
    )
    parser.add_argument("--window", default="1 minute")
    parser.add_argument("--lateness", default="1 minute")
    parser.add_argument("--once", action="store_true", help="end when all that is there now was read")
    return parser.parse_args()


def main() -> None:
    """Run the job until it is stopped."""
    options = arguments()
    missing = [name for name in ("KAFKA_USERNAME", "KAFKA_PASSWORD") if name not in os.environ]
    if missing:
        sys.exit(f"set {' and '.join(missing)}")
    client = client_options(options.bootstrap_servers, os.environ)
    spark = (
        SparkSession.builder.appName("orders by minute")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    source = spark.readStream.format("kafka").options(**client)
    records = source.option("subscribe", options.read).option("startingOffsets", "earliest").load()
    counts = count_by_window(records, options.window, options.lateness)
    sink = counts.writeStream.format("kafka").options(**client).option("topic", options.write)
    trigger = {"availableNow": True} if options.once else {"processingTime": "10 seconds"}
    sink.option("checkpointLocation", options.checkpoint).trigger(**trigger).start().awaitTermination()


if __name__ == "__main__":
    main()
