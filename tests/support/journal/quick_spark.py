"""Settings with which Spark is soon done with tiny frames, in this process and in those of commands."""

from __future__ import annotations

from bifrost.pipeline.spark.spark_session import LOG_SETTINGS

# Tiny frames are done before anything compiled for them would pay.
JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"
SETTINGS = {
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()} {JAVA_OPTIONS}",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "1",
}


def arguments() -> list[str]:
    """Return them as arguments of a command of the pipeline."""
    return [part for key, value in SETTINGS.items() for part in ("--conf", f"{key}={value}")]
