"""`bifrost pipeline transform`: a transform of the operator's own over what a topic has stored."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bifrost.cli.jobs.job_runs import job_session, run_job, say
from bifrost.cli.jobs.record_options import (
    Brokers,
    ConfigFile,
    KafkaConfig,
    KekOptions,
    OutDir,
    UpstreamName,
    read_settings,
    read_tenants,
    with_kek_options,
)
from bifrost.cli.jobs.shared_options import with_options
from bifrost.config.records.fail_mode import FailMode
from bifrost.config.records.filter_rule import FilterDirection
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.spark.spark_session import SparkOptions

if TYPE_CHECKING:
    from bifrost.pipeline.stored.configured_topics import Seals


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How the function is run."""

    direction: FilterDirection
    fail: FailMode
    timeout_ms: int
    max_memory_bytes: int


def read_run_options(
    *,
    direction: Annotated[
        FilterDirection, typer.Option(help="What the function is told. On fetch it may leave records out.")
    ] = FilterDirection.PRODUCE,
    fail: Annotated[
        FailMode, typer.Option(help="What becomes of a batch for which it fails: the job ends, or as it is.")
    ] = FailMode.CLOSED,
    timeout_ms: Annotated[int, typer.Option(min=1, help="Longest time of a batch.")] = 1_000,
    max_memory_bytes: Annotated[
        int, typer.Option(min=1 << 20, help="Memory of its process, beside what Python and Arrow take.")
    ] = 256 << 20,
) -> RunOptions:
    """Return how the function is run.

    Raises:
        typer.BadParameter: it cannot be run so.
    """
    if fail is FailMode.QUARANTINE:
        raise typer.BadParameter("there is no quarantine for stored records", param_hint="--fail")
    return RunOptions(direction, fail, timeout_ms, max_memory_bytes)


@with_kek_options
@with_options("run", read_run_options)
def transform(
    bootstrap_servers: Brokers,
    out: OutDir,
    keks: KekOptions,
    run: RunOptions,
    spark_options: SparkOptions,
    topic: Annotated[str, typer.Option("--topic", help="What is transformed, by its physical name.")],
    to: Annotated[str, typer.Option("--to", metavar="TOPIC", help="Where it goes: another topic.")],
    file: Annotated[
        Path,
        typer.Option("--transform", metavar="FILE", help="A Python file with transform(batch, context)."),
    ],
    config: ConfigFile = None,
    upstream: UpstreamName = "",
    to_bootstrap_servers: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT,...",
            help="Who has --to, if others: a gateway, whose filters then apply to it.",
        ),
    ] = "",
    to_kafka_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings of the Kafka client for these.")
    ] = None,
    kafka_config: KafkaConfig = None,
) -> None:
    """Copy a topic into another one through a transform of your own, as the gateway's filter runs it."""
    if to == topic and not to_bootstrap_servers:
        raise typer.BadParameter("it is the topic itself: a copy needs another name", param_hint="--to")
    settings = read_settings(bootstrap_servers, kafka_config)
    there = read_settings(to_bootstrap_servers, to_kafka_config) if to_bootstrap_servers else None

    def job() -> None:
        from bifrost.pipeline.jobs.transform import TransformOptions, read_transform, run_transform
        from bifrost.transforms.record_transform import Direction

        tenant, path, seals = _configured(config, upstream, topic, keks)
        options = TransformOptions(
            settings,
            out,
            topic,
            to,
            read_transform(file, run.timeout_ms, run.max_memory_bytes),
            there,
            Direction(run.direction.value),
            run.fail,
            (*seals.keks, *keks.opens),
            keks.cluster or seals.cluster,
            tenant,
            path,
            seals.sealing,
        )
        with job_session("transform", spark_options) as spark:
            done = run_transform(spark, options, say)
        typer.echo("\n".join([*done.describe(), f"{out.rstrip('/')}/offsets.csv"]))

    run_job(job)


def _configured(config: Path | None, upstream: str, topic: str, keks: KekOptions) -> tuple[str, str, "Seals"]:
    """Return whose a topic is, what clients call it, and how it opens; without a configuration all is empty.

    Raises:
        PipelineError: it is no tenant's, or tenants say different things.
    """
    from bifrost.pipeline.stored.configured_topics import Seals

    if config is None:
        return "", "", Seals("", (), None)
    tenants = read_tenants(config, upstream)
    seals = tenants.seals(topic, keks.access)
    for one in tenants.tenants:
        paths = tenants.paths(one, topic)
        if paths:
            return one.name, paths[0], seals
    raise PipelineError(f"no tenant of --config has the topic {topic}")
