"""`advise`: which client property each team should change, what that saves, and which clients fail when an old API
version is removed.

OUT/advice.parquet/  advice.csv      a row for each client and finding
OUT/versions.parquet/                who uses which version of which API
OUT/index.html                       the same for people, by namespace
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from bifrost.pipeline import advice
from bifrost.pipeline.billing.price_book import PriceBook
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.metering.metered_tables import open_tables
from bifrost.pipeline.money import Amount
from bifrost.pipeline.report import Table, render_tables
from bifrost.pipeline.spark.csv_file import write_csv
from bifrost.pipeline.spark.hadoop_files import HadoopFiles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from bifrost.pipeline.spark.spark_session import TableFormat

MAX_SHOWN = 40
"""Rows of a table on the page; the files have all."""


@dataclass(frozen=True, slots=True)
class AdviseOptions:
    """The input and the limits of the job."""

    tables: str
    out: str
    days: tuple[str, ...] = ()
    """Empty: all days there are."""

    book: PriceBook | None = None
    """For money; without it only bytes and requests."""

    without: Mapping[str, int] = field(default_factory=dict)
    """For each API the oldest version that will remain; empty: those of Kafka 4 (KIP-896)."""


@dataclass(frozen=True, slots=True)
class Advised:
    """The result."""

    findings: int
    clients: int
    broken: int
    """Number of clients that fail when the versions are removed."""


def run_advise(
    spark: SparkSession, options: AdviseOptions, table_format: TableFormat, say: Callable[[str], None]
) -> Advised:
    """Find out from clients' usage what they should change, and write it down.

    Raises:
        PipelineError: there is no usage.
    """
    tables = open_tables(spark, options.tables, table_format)
    usage = tables.read("usage", list(options.days) or None)
    days = usage.select("day").distinct().count()
    if not days:
        raise PipelineError(
            f"no usage in {options.tables} on these days: run bifrost pipeline meter first, or name others"
        )
    say(f"looking at {days} days")
    gib_price, million_price = _prices(options.book)
    found = advice.advise(advice.clients(usage), days, gib_price, million_price).persist()
    users = advice.version_users(usage).persist()
    broken = _broken(users, options.without).persist()
    try:
        files = HadoopFiles(spark, options.out)
        found.write.mode("overwrite").parquet(files.path("advice.parquet"))
        write_csv(found, files, "advice.csv")
        users.write.mode("overwrite").parquet(files.path("versions.parquet"))
        files.write("index.html", _page(found, broken, options.book, days))
        done = Advised(found.count(), found.select(*advice.CLIENT).distinct().count(), _clients(broken))
    finally:
        for frame in (found, users, broken):
            frame.unpersist()
    return done


def _prices(book: PriceBook | None) -> tuple[Decimal, Decimal]:
    if book is None:
        return Decimal(0), Decimal(0)
    prices = book.versions[-1].prices
    return prices.produced_bytes + prices.fetched_bytes + prices.stored_bytes, prices.requests


def _broken(users: DataFrame, without: Mapping[str, int]) -> DataFrame:
    if not without:
        return users.where(F.col("api_version") < F.col("minimum"))
    gone = F.lit(False)
    for api, version in without.items():
        gone = gone | ((F.col("api") == api) & (F.col("api_version") < version))
    return users.where(gone)


def _clients(frame: DataFrame) -> int:
    return frame.select(*advice.CLIENT).distinct().count()


def _page(found: DataFrame, broken: DataFrame, book: PriceBook | None, days: int) -> str:
    currency = book.currency if book else "money"
    saves = found.where("kind = 'saves'").limit(MAX_SHOWN).collect()
    protects = found.where("kind = 'protects'").limit(MAX_SHOWN).collect()
    gone = broken.orderBy(F.desc("requests"), "api", "api_version").limit(MAX_SHOWN).collect()
    heads = (
        "namespace",
        "client",
        "finding",
        "now",
        "set",
        "MiB a month",
        "requests a month",
        f"{currency} a month",
    )
    sections = [
        (
            "What saves",
            Table(heads, [_saving(row, book) for row in saves], "Nothing worth a word.", ("now", "set")),
        ),
        (
            "What protects",
            Table(
                ("namespace", "client", "finding", "now", "set"),
                [(row.namespace, _client(row), row.finding, row.now, row.suggested) for row in protects],
                "Nothing worth a word.",
                ("now", "set"),
            ),
        ),
        (
            "Who breaks when old versions go",
            Table(
                ("namespace", "client", "API", "version", "requests"),
                [(row.namespace, _client(row), row.api, row.api_version, row.requests) for row in gone],
                "No client.",
                ("API",),
            ),
        ),
    ]
    return render_tables(
        "What clients should change", f"{days} days, for a month of {advice.MONTH_DAYS}", sections
    )


def _saving(row: Row, book: PriceBook | None) -> tuple[str | Amount | Decimal | int, ...]:
    mib = Decimal(row.bytes_a_month) / (1 << 20)
    return (
        row.namespace,
        _client(row),
        row.finding,
        row.now,
        row.suggested,
        mib,
        row.requests_a_month,
        Amount(row.money_a_month, book.currency) if book else row.money_a_month,
    )


def _client(row: Row) -> str:
    software = " ".join(part for part in (row.client_software_name, row.client_software_version) if part)
    return " / ".join(part for part in (row.principal, row.client_id, software) if part)
