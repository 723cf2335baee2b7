"""One Spark session for a job: embedded (`local[*]`), on any master, or the one that `spark-submit` made.

Times are UTC everywhere. With an embedded master nothing listens beyond 127.0.0.1, and the JVM ends with this process:
PySpark's gateway server watches a pipe that only this process holds.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.spark import executor_packages
from bifrost.pipeline.spark.runtime import check_pyspark, connector_jars, find_java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TableFormat = Literal["parquet", "delta"]
LOG_SETTINGS = Path(__file__).parent / "log4j2.properties"
COMPILE_ALL = "-XX:-DontCompileHugeMethods"
"""JVM's option. What Spark generates for wide rows is methods above 8,000 bytes, which a JVM interprets by default."""
_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """Where and with how much a job runs."""

    master: str = "local[*]"
    """Any master that Spark takes: `local[2]`, `spark://host:7077`, `yarn`, `k8s://…`."""

    driver_memory: str = "1g"
    """The heap of the driver's JVM, as Spark writes it; with an embedded master all work is done in it."""

    shuffle_partitions: int = 0
    """Number of shuffle partitions; 0: one for each core of an embedded master, else Spark's default."""

    table_format: TableFormat = "parquet"
    settings: Mapping[str, str] = field(default_factory=dict)
    """Further settings of Spark, by name; they override all others."""

    packages: str = ""
    """An archive with what executors import (`executor_packages.py`), a path or a URL of Spark; empty: they have it."""

    @property
    def is_embedded(self) -> bool:
        """Whether driver and executors are one process on this machine."""
        return self.master.startswith("local")


def is_submitted() -> bool:
    """Return whether `spark-submit` started this process and so sets master, memory and jars."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def build_session(name: str, options: SparkOptions) -> SparkSession:
    """Start Spark, or take the session of `spark-submit`.

    Args:
        name: of the application, as Spark's pages show it.
        options: where and with how much it runs.
    Raises:
        PipelineError: PySpark, a JDK or a jar is missing, or the master does not take the application.
    """
    check_pyspark()
    if options.packages:
        if options.is_embedded:
            raise PipelineError(
                "--packages is for the executors of a cluster: with a local --master they are this process"
            )
        executor_packages.check_packages(options.packages)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName(name)
    for key, value in session_settings(options).items():
        builder = builder.config(key, value)
    if is_submitted():
        return builder.getOrCreate()
    os.environ["JAVA_HOME"] = str(find_java_home())
    # Otherwise workers would use the first `python3` on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    os.environ.pop("SPARK_HOME", None)  # another Spark's jars must not come before those of PySpark
    builder = builder.master(options.master).config("spark.jars", ",".join(map(str, connector_jars())))
    builder = builder.config("spark.driver.memory", options.driver_memory)
    try:
        return builder.getOrCreate()
    except Exception as error:
        first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise PipelineError(f"Spark does not start with --master {options.master}: {first}") from error


def session_settings(options: SparkOptions) -> dict[str, str]:
    """Return Spark's settings for `options`, without master, memory and jars."""
    settings = {
        "spark.executor.extraJavaOptions": COMPILE_ALL,
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.metricsEnabled": "false",
        "spark.sql.parquet.compression.codec": "zstd",
        # A table's new version is a new directory: files that are there already are from a failed attempt.
        "spark.sql.sources.partitionOverwriteMode": "static",
        # A batch is cached for three passes over it: to compress it would take longer than those.
        "spark.sql.inMemoryColumnarStorage.compressed": "false",
    }
    if options.is_embedded:
        log = f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}"
        settings |= {
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.extraJavaOptions": f"{log} -XX:-UsePerfData {COMPILE_ALL}",
        }
    partitions = options.shuffle_partitions or (_cores(options.master) if options.is_embedded else 0)
    if partitions:
        settings["spark.sql.shuffle.partitions"] = str(partitions)
    if options.table_format == "delta":
        settings |= _DELTA
    if options.packages:
        # A relative path: each executor works in the directory that Spark unpacks archives in.
        settings |= {
            "spark.archives": f"{options.packages}#{executor_packages.NAME}",
            "spark.executorEnv.PYTHONPATH": executor_packages.NAME,
        }
    return settings | dict(options.settings)


def _cores(master: str) -> int:
    inside = master.partition("[")[2].rstrip("]").partition(",")[0]
    return int(inside) if inside.isdigit() else (os.cpu_count() or 1 if inside == "*" else 1)
