"""What Spark itself needs for a journal: the least job that reads, parses and sums it, to which `meter` is compared.

    python -m bench.spark_floor --files DIR [--master local[2]] [--driver-memory 2g]

It parses only the columns that it sums, and it checks nothing, keeps no record and counts none only once.
"""

import argparse
import sys

from pyspark.sql import functions as F

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.spark.spark_session import SparkOptions, build_session

SCHEMA = (
    "kind STRING, interval_end_ms BIGINT, tenant STRING, usage STRUCT<scope: STRING, namespace: STRING, "
    "principal: STRING, topic: STRING, requests: BIGINT, bytes_in: BIGINT, bytes_out: BIGINT>"
)


def main() -> int:
    """Sum up a journal by hour."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", required=True, help="a journal in Parquet files")
    parser.add_argument("--master", default="local[*]")
    parser.add_argument("--driver-memory", default="2g")
    options = parser.parse_args()
    try:
        spark = build_session("floor", SparkOptions(options.master, options.driver_memory))
    except PipelineError as error:
        sys.exit(f"error: {error}")
    text = F.col("value").cast("string")
    rows = spark.read.parquet(options.files).select(F.from_json(text, SCHEMA).alias("one")).select("one.*")
    keys = ("tenant", "usage.scope", "usage.namespace", "usage.principal", "usage.topic")
    sums = [F.sum(f"usage.{name}") for name in ("requests", "bytes_in", "bytes_out")]
    hour = F.floor(F.col("interval_end_ms") / 3_600_000)
    rows.groupBy(hour, *keys).agg(*sums).write.format("noop").mode("overwrite").save()
    spark.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
