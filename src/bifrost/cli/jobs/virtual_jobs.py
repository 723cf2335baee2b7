"""`bifrost pipeline fsck`: a job over what topics with virtual partitions have stored."""

from pathlib import Path
from typing import Annotated

import typer

from bifrost.cli.jobs.job_runs import FOUND, job_session, run_job, say
from bifrost.cli.jobs.record_options import UpstreamName, read_settings, read_tenants, with_scan_options
from bifrost.pipeline.spark.spark_session import SparkOptions
from bifrost.pipeline.stored.scan_options import ScanOptions


@with_scan_options
def fsck(
    scan: ScanOptions,
    spark_options: SparkOptions,
    config: Annotated[
        Path,
        typer.Option(
            "--config",
            "-c",
            help="What bifrost run is given: a file or a folder. Its virtual_partitions count.",
        ),
    ],
    upstream: UpstreamName = "",
    gateway: Annotated[
        str,
        typer.Option(metavar="HOST:PORT,...", help="A gateway whose offsets are compared with the log."),
    ] = "",
    gateway_kafka_config: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Settings of a client of a tenant for the gateway.")
    ] = None,
    tenant: Annotated[
        str, typer.Option(help="Whose client that is, if several tenants have such topics.")
    ] = "",
) -> None:
    """Check the log of topics with virtual partitions: their index, batches without an owner, what a gateway says."""
    if gateway and (scan.since_ms is not None or scan.until_ms is not None):
        raise typer.BadParameter("a gateway is compared with the whole log", param_hint="--since or --until")
    if not gateway and (gateway_kafka_config is not None or tenant):
        raise typer.BadParameter(
            "name the gateway for --gateway-kafka-config and --tenant", param_hint="--gateway"
        )
    there = read_settings(gateway, gateway_kafka_config) if gateway else None

    def job() -> int:
        from bifrost.pipeline.jobs.fsck import FsckOptions, run_fsck

        options = FsckOptions(scan, read_tenants(config, upstream), there, tenant)
        with job_session("fsck", spark_options) as spark:
            done = run_fsck(spark, options, say)
        for name, batches in done.by_topic:
            typer.echo(f"no virtual partition owns: {name}: {batches} batches")
        found = f"{done.topics} topics, {done.partitions} virtual partitions, {done.records} records"
        typer.echo(f"{found}; {done.claims} claims are left over")
        wrong = (
            f"{done.unowned} batches unowned, {done.shared_keys} keys shared, {done.differences} differences"
        )
        typer.echo(f"{wrong}: {scan.out.rstrip('/')}/index.html")
        return 0 if done.is_clean else FOUND

    run_job(job)
