"""`bifrost pipeline fsck` and `pack`: what topics with virtual partitions have stored, and which ones may have them."""

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Annotated

import typer

from bifrost.cli.jobs.job_runs import FOUND, job_session, run_job, say
from bifrost.cli.jobs.record_options import (
    OutDir,
    UpstreamName,
    read_settings,
    read_tenants,
    with_scan_options,
)
from bifrost.cli.jobs.shared_options import with_options
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


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of a proposal, and what a partition costs."""

    max_mb_per_s: float
    max_read_amplification: float
    price: Decimal
    """Of a partition and hour; 0: none was given."""
    price_book: Path | None


def read_limits(
    *,
    max_mb_per_s: Annotated[
        float,
        typer.Option(min=0.001, help="Most MB/s that are written to and read from a physical partition."),
    ] = 10.0,
    max_read_amplification: Annotated[
        float, typer.Option(min=1.0, help="Most bytes that consumers of a topic read for one that they get.")
    ] = 4.0,
    partition_hour_price: Annotated[
        str, typer.Option(metavar="AMOUNT", help="For money: what a partition costs in an hour.")
    ] = "",
    price_book: Annotated[
        Path | None, typer.Option(metavar="FILE", help="For money: the prices, in place of that.")
    ] = None,
) -> Limits:
    """Return the bounds and the price.

    Raises:
        typer.BadParameter: the price is none, or both are given.
    """
    if partition_hour_price and price_book is not None:
        raise typer.BadParameter("give one of both", param_hint="--partition-hour-price or --price-book")
    return Limits(max_mb_per_s, max_read_amplification, _price(partition_hour_price), price_book)


@with_options("limits", read_limits)
def pack(
    tables: Annotated[
        str, typer.Option("--tables", metavar="DIR", help="Where meter keeps its tables; any path of Spark.")
    ],
    out: OutDir,
    limits: Limits,
    spark_options: SparkOptions,
    config: Annotated[
        Path,
        typer.Option(
            "--config", "-c", help="What bifrost run is given: a file or a folder. Its tenants count."
        ),
    ],
    upstream: UpstreamName = "",
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="TOPIC", help="A topic that stays, by its physical name; may be repeated."),
    ] = None,
    day: Annotated[
        list[str] | None, typer.Option(metavar="YYYY-MM-DD", help="Only this day; may be repeated.")
    ] = None,
) -> None:
    """Propose virtual partitions for topics, from what they carry and who reads them, and say what that saves."""

    def job() -> None:
        from bifrost.pipeline.billing.price_book import load_price_book
        from bifrost.pipeline.jobs.pack import MB, PackOptions, run_pack
        from bifrost.pipeline.packing.proposals import Bounds

        book = load_price_book(limits.price_book) if limits.price_book else None
        options = PackOptions(
            tables,
            out,
            read_tenants(config, upstream),
            Bounds(limits.max_mb_per_s * MB, limits.max_read_amplification),
            book.versions[-1].prices.partition_hours if book else limits.price,
            book.currency if book else "money",
            tuple(day or ()),
            tuple(exclude or ()),
        )
        with job_session("pack", spark_options) as spark:
            done = run_pack(spark, options, spark_options.table_format, say)
        found = (
            f"{done.packed} of {done.topics} topics need {done.saved} of {done.partitions} partitions less"
        )
        typer.echo(f"{found}: {done.money:.2f} {options.currency} a month: {out.rstrip('/')}/index.html")

    run_job(job)


def _price(text: str) -> Decimal:
    try:
        found = Decimal(text or 0)
    except InvalidOperation:
        found = Decimal(-1)
    if not found.is_finite() or not 0 <= found < Decimal("1e9"):
        raise typer.BadParameter(
            f"{text!r} is no amount: write e.g. 0.0015", param_hint="--partition-hour-price"
        )
    return found
