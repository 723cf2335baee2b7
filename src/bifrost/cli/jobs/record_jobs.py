"""`bifrost pipeline census`, `leakscan` and `rekey`: jobs over the batches that topics have stored."""

import re
from pathlib import Path
from typing import Annotated

import typer

from bifrost.cli.jobs.job_runs import FOUND, client_properties, job_session, run_job, say
from bifrost.pipeline.spark.spark_session import SparkOptions

Brokers = Annotated[str, typer.Option("--bootstrap-servers", metavar="HOST:PORT,...", help="The brokers.")]
OutDir = Annotated[
    str, typer.Option("--out", metavar="DIR", help="Where the answer is written; any path of Spark.")
]
Topics = Annotated[
    list[str] | None, typer.Option("--topic", help="A topic by its physical name; may be repeated.")
]
Patterns = Annotated[
    list[str] | None,
    typer.Option("--pattern", metavar="REGEX", help="Topics whose whole name matches; may be repeated."),
]
KafkaConfig = Annotated[
    Path | None,
    typer.Option(
        "--kafka-config", metavar="FILE", help="Settings of the Kafka client, key=value: its security."
    ),
]
Since = Annotated[
    str,
    typer.Option(
        "--since", metavar="TIME", help="Only from this time on, e.g. 2026-10-05 or 2026-10-05T12:00."
    ),
]
Until = Annotated[str, typer.Option("--until", metavar="TIME", help="Only before this time.")]


def census(
    bootstrap_servers: Brokers,
    out: OutDir,
    spark_options: SparkOptions,
    topic: Topics = None,
    pattern: Patterns = None,
    since: Since = "",
    until: Until = "",
    kafka_config: KafkaConfig = None,
) -> None:
    """Say which versions of which KEKs stored records need, from their envelopes; no key is needed."""
    patterns, times = _patterns(pattern), _times(since, until)
    properties = client_properties(kafka_config)

    def job() -> None:
        from bifrost.pipeline.jobs.census import CensusOptions, run_census
        from bifrost.pipeline.stored.client_settings import read_client_settings

        settings = read_client_settings(bootstrap_servers, properties)
        options = CensusOptions(settings, out, tuple(topic or ()), patterns, *times)
        with job_session("census", spark_options) as spark:
            done = run_census(spark, options, say)
        for kek, version, records in done.keks:
            typer.echo(f"{kek} version {version}: {records} records")
        typer.echo(f"no envelope: {done.plain} records; unreadable: {done.unreadable} batches")
        typer.echo(f"{done.topics} topics, {len(done.keks)} versions of KEKs: {out.rstrip('/')}/index.html")

    run_job(job)


def leakscan(
    bootstrap_servers: Brokers,
    out: OutDir,
    spark_options: SparkOptions,
    topic: Topics = None,
    pattern: Patterns = None,
    since: Since = "",
    until: Until = "",
    kafka_config: KafkaConfig = None,
) -> None:
    """List what topics that must be encrypted have in plaintext, by producer, offsets and time."""
    patterns, times = _patterns(pattern), _times(since, until)
    properties = client_properties(kafka_config)
    if not topic and not patterns:
        raise typer.BadParameter("name the topics that must be encrypted", param_hint="--topic")

    def job() -> int:
        from bifrost.pipeline.jobs.leakscan import LeakscanOptions, run_leakscan
        from bifrost.pipeline.stored.client_settings import read_client_settings

        settings = read_client_settings(bootstrap_servers, properties)
        options = LeakscanOptions(settings, out, tuple(topic or ()), patterns, *times)
        with job_session("leakscan", spark_options) as spark:
            done = run_leakscan(spark, options, say)
        for one in done.leaking:
            typer.echo(f"not sealed: {one}")
        found = f"{done.topics} topics, {done.batches} batches not sealed in {len(done.leaking)} of them"
        typer.echo(f"{found}, {done.producers} producers: {out.rstrip('/')}/index.html")
        return FOUND if done.batches else 0

    run_job(job)


def rekey(
    bootstrap_servers: Brokers,
    out: OutDir,
    spark_options: SparkOptions,
    topic: Annotated[str, typer.Option("--topic", help="What is copied, by its physical name.")],
    to: Annotated[str, typer.Option("--to", metavar="TOPIC", help="The copy, by its physical name.")],
    kek: Annotated[str, typer.Option("--kek", metavar="KEK", help="The new KEK: file:PATH#NAME, ...")],
    open_with: Annotated[
        list[str] | None,
        typer.Option("--open-with", metavar="KEK", help="A KEK of the topic; may be repeated."),
    ] = None,
    cluster: Annotated[
        str, typer.Option(help="What the seals name the cluster. Default: Kafka's ID of it.")
    ] = "",
    accept_plaintext: Annotated[
        bool, typer.Option("--accept-plaintext", help="Copy what is not sealed too, and seal it.")
    ] = False,
    drop_producers: Annotated[
        bool, typer.Option("--drop-producers", help="Copy no producer IDs and sequences.")
    ] = False,
    vault_token_file: Annotated[
        str, typer.Option(metavar="FILE", help="A token of Vault, on every executor.")
    ] = "",
    vault_ca_file: Annotated[str, typer.Option(metavar="FILE", help="Certificates of Vault's, PEM.")] = "",
    vault_namespace: Annotated[str, typer.Option(help="Of Vault Enterprise.")] = "",
    kms_endpoint: Annotated[str, typer.Option(metavar="URL", help="Of AWS KMS. Default: the region's.")] = "",
    kafka_config: KafkaConfig = None,
) -> None:
    """Copy a topic into another one, sealed by a new KEK, and compare both record by record."""
    properties = client_properties(kafka_config)

    def job() -> None:
        from bifrost.pipeline.jobs.rekey import RekeyOptions, run_rekey
        from bifrost.pipeline.stored.client_settings import read_client_settings
        from bifrost.pipeline.stored.job_keks import read_kek

        places = (vault_token_file, vault_ca_file, vault_namespace, kms_endpoint)
        options = RekeyOptions(
            read_client_settings(bootstrap_servers, properties),
            out,
            topic,
            to,
            tuple(read_kek(one, *places) for one in open_with or ()),
            read_kek(kek, *places),
            cluster,
            accept_plaintext,
            drop_producers,
        )
        with job_session("rekey", spark_options) as spark:
            done = run_rekey(spark, options, say)
        typer.echo("\n".join([*done.describe(), f"{out.rstrip('/')}/offsets.csv"]))

    run_job(job)


def _patterns(patterns: list[str] | None) -> tuple[str, ...]:
    for one in patterns or ():
        try:
            re.compile(one)
        except re.error as error:
            raise typer.BadParameter(f"{one!r}: {error}", param_hint="--pattern") from None
    return tuple(patterns or ())


def _times(since: str, until: str) -> tuple[int | None, int | None]:
    from bifrost.pipeline.stored.stored_topics import to_ms

    found: list[int | None] = []
    for text, name in ((since, "--since"), (until, "--until")):
        try:
            found.append(to_ms(text) if text else None)
        except ValueError:
            raise typer.BadParameter(
                f"{text!r} is no time: write e.g. 2026-10-05T12:00", param_hint=name
            ) from None
    return found[0], found[1]
