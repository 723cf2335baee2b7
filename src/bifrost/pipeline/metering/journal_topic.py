"""The journal's topic on the upstream as a source of rows for Spark; or files with the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bifrost.pipeline.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ASK_TIMEOUT_MS = 20_000
"""Time for the brokers to say whether the topic exists, in milliseconds."""
FILES_SCHEMA = "key BINARY, value BINARY, topic STRING, partition INT, offset LONG, timestamp TIMESTAMP"
"""Columns of Spark's Kafka source; a journal in files has the same ones."""


def check_topic(spark: SparkSession, bootstrap: str, topic: str, properties: Mapping[str, str]) -> int:
    """Return the number of partitions of a topic.

    Raises:
        PipelineError: no broker answers, the topic does not exist, or may not be read.
    """
    from py4j.protocol import Py4JJavaError

    jvm: Any = spark.sparkContext._jvm
    settings = jvm.java.util.Properties()
    named = {"bootstrap.servers": bootstrap, "default.api.timeout.ms": str(ASK_TIMEOUT_MS), **properties}
    for key, value in ({"request.timeout.ms": str(ASK_TIMEOUT_MS // 2)} | named).items():
        settings.put(key, value)
    try:
        admin = jvm.org.apache.kafka.clients.admin.Admin.create(settings)
    except Py4JJavaError as error:
        raise PipelineError(f"{bootstrap}: {_root_cause(error)}; see --kafka-config") from error
    try:
        described = admin.describeTopics(jvm.java.util.List.of(topic)).allTopicNames().get()
        return int(described.get(topic).partitions().size())
    except Py4JJavaError as error:
        raise PipelineError(_explain(error, bootstrap, topic)) from error
    finally:
        admin.close(jvm.java.time.Duration.ofSeconds(1))


def _explain(error: Any, bootstrap: str, topic: str) -> str:
    cause = _root_cause(error)
    if "UnknownTopicOrPartition" in cause:
        remedy = "switch on the gateway's journal (docs/journal.md), or name its --topic"
        return f"no topic {topic} at {bootstrap}: {remedy}"
    if "Authorization" in cause:
        return f"{topic} at {bootstrap} may not be read: give the principal of --kafka-config Describe and Read on it"
    if "Timeout" in cause:
        return (
            f"no broker at {bootstrap} answers: check --bootstrap-servers, and the security in --kafka-config"
        )
    return f"{topic} at {bootstrap} cannot be read: {cause}"


def _root_cause(error: Any) -> str:
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.toString()).splitlines()[0]


def stream_topic(
    spark: SparkSession, bootstrap: str, topic: str, *, max_records: int, properties: Mapping[str, str]
) -> DataFrame:
    """Return the journal as a stream, from its beginning, at most `max_records` records in a batch.

    If retention deleted records before they were read, the job fails; else counts would be wrong without a message.
    """
    reader = (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
    )
    for key, value in properties.items():
        reader = reader.option(f"kafka.{key}", value)
    return (
        reader.option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", str(max_records))
        .option("failOnDataLoss", "true")
        .load()
    )


def stream_files(spark: SparkSession, directory: str, *, max_files: int) -> DataFrame:
    """Return a journal in Parquet files as a stream of the same columns."""
    return (
        spark.readStream.schema(FILES_SCHEMA).option("maxFilesPerTrigger", str(max_files)).parquet(directory)
    )


def read_properties(text: str) -> dict[str, str]:
    """Return the settings of a Kafka client's properties file: `key=value` lines, `#` for comments.

    Raises:
        ValueError: a line is no setting; the message gives only its number, because it may contain a password.
    """
    settings = {}
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith(("#", "!")):
            continue
        key, equals, value = stripped.partition("=")
        if not equals or not key.strip():
            raise ValueError(f"line {number}: no key=value")
        settings[key.strip()] = value.strip()
    return settings
