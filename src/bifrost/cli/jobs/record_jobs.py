"""`bifrost pipeline census`, `leakscan` and `rekey`: jobs over the batches that topics have stored."""

from pathlib import Path
from typing import Annotated

import typer

from bifrost.cli.jobs.job_runs import FOUND, job_session, run_job, say
from bifrost.cli.jobs.record_options import (
    Brokers,
    ConfigFile,
    KafkaConfig,
    KekOptions,
    OutDir,
    UpstreamName,
    read_kek_option,
    read_key_option,
    read_settings,
    read_tenants,
    with_kek_options,
    with_scan_options,
)
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.spark.spark_session import SparkOptions
from bifrost.pipeline.stored.scan_options import ScanOptions


@with_scan_options
def census(scan: ScanOptions, spark_options: SparkOptions) -> None:
    """Say which versions of which KEKs stored records need, from their envelopes; no key is needed."""

    def job() -> None:
        from bifrost.pipeline.jobs.census import run_census

        with job_session("census", spark_options) as spark:
            done = run_census(spark, scan, say)
        for kek, version, records in done.keks:
            typer.echo(f"{kek} version {version}: {records} records")
        typer.echo(f"no envelope: {done.plain} records; unreadable: {done.unreadable} batches")
        page = f"{scan.out.rstrip('/')}/index.html"
        typer.echo(f"{done.topics} topics, {len(done.keks)} versions of KEKs: {page}")

    run_job(job)


@with_scan_options
def leakscan(
    scan: ScanOptions, spark_options: SparkOptions, config: ConfigFile = None, upstream: UpstreamName = ""
) -> None:
    """List what topics that must be encrypted have in plaintext, by producer, offsets and time."""
    if not scan.topics and not scan.patterns and config is None:
        raise typer.BadParameter("name the topics that must be encrypted", param_hint="--topic or --config")

    def job() -> int:
        from bifrost.pipeline.jobs.leakscan import run_leakscan

        tenants = None if config is None else read_tenants(config, upstream)
        with job_session("leakscan", spark_options) as spark:
            done = run_leakscan(spark, scan, say, tenants)
        for one in done.leaking:
            typer.echo(f"not sealed: {one}")
        found = f"{done.topics} topics, {done.batches} batches not sealed in {len(done.leaking)} of them"
        typer.echo(f"{found}, {done.producers} producers: {scan.out.rstrip('/')}/index.html")
        return FOUND if done.batches else 0

    run_job(job)


@with_kek_options
@with_scan_options
def validate(
    scan: ScanOptions,
    keks: KekOptions,
    spark_options: SparkOptions,
    config: Annotated[
        Path,
        typer.Option(
            "--config", "-c", help="What bifrost run is given: a file or a folder. Its filters count."
        ),
    ],
    upstream: UpstreamName = "",
    tables: Annotated[
        str,
        typer.Option("--tables", metavar="DIR", help="Where meter keeps its tables, which name principals."),
    ] = "",
) -> None:
    """List stored records that break the schemas of their topics, by producer and time."""

    def job() -> int:
        from bifrost.pipeline.jobs.validate import ValidateOptions, run_validate

        tenants = read_tenants(config, upstream)
        options = ValidateOptions(
            scan, tenants, keks.opens, keks.access, keks.cluster, tables, spark_options.table_format
        )
        with job_session("validate", spark_options) as spark:
            done = run_validate(spark, options, say)
        for name, records in done.by_topic:
            typer.echo(f"not valid: {name}: {records}")
        found = f"{done.topics} topics, {done.valid} records valid, {done.broken} not"
        typer.echo(f"{found}; {done.unreadable} batches unreadable: {scan.out.rstrip('/')}/index.html")
        return FOUND if done.by_topic else 0

    run_job(job)


@with_kek_options
def rekey(
    bootstrap_servers: Brokers,
    out: OutDir,
    keks: KekOptions,
    spark_options: SparkOptions,
    topic: Annotated[str, typer.Option("--topic", help="What is copied, by its physical name.")],
    to: Annotated[str, typer.Option("--to", metavar="TOPIC", help="The copy, by its physical name.")],
    kek: Annotated[
        str, typer.Option("--kek", metavar="KEK", help="The new KEK: {kms_provider: ..., key_id: ...}.")
    ],
    accept_plaintext: Annotated[
        bool, typer.Option("--accept-plaintext", help="Copy what is not sealed too, and seal it.")
    ] = False,
    drop_producers: Annotated[
        bool, typer.Option("--drop-producers", help="Copy no producer IDs and sequences.")
    ] = False,
    sealing_key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What seals keys of the copy, if those of the topic are sealed."),
    ] = None,
    config: ConfigFile = None,
    upstream: UpstreamName = "",
    kafka_config: KafkaConfig = None,
) -> None:
    """Copy a topic into another one, sealed by a new KEK, and compare both record by record."""
    settings = read_settings(bootstrap_servers, kafka_config)
    new = read_kek_option(kek, keks.access, "--kek")
    key = "" if sealing_key is None else read_key_option(sealing_key)

    def job() -> None:
        from bifrost.pipeline.jobs.rekey import RekeyOptions, run_rekey
        from bifrost.pipeline.stored.configured_topics import Seals

        seals = Seals("", (), None)
        if config is not None:
            seals = read_tenants(config, upstream).seals(topic, keks.access)
            if not seals.keks:
                raise PipelineError(f"no EnvelopeEncryption of --config is for {topic}")
        options = RekeyOptions(
            settings,
            out,
            topic,
            to,
            (*seals.keks, *keks.opens),
            new,
            keks.cluster or seals.cluster,
            accept_plaintext,
            drop_producers,
            seals.sealing,
            key,
        )
        with job_session("rekey", spark_options) as spark:
            done = run_rekey(spark, options, say)
        typer.echo("\n".join([*done.describe(), f"{out.rstrip('/')}/offsets.csv"]))

    run_job(job)
