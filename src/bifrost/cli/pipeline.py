"""`bifrost pipeline`: the jobs over the journal and over stored records, on Apache Spark.

`--master` takes any master that Spark knows; by default Spark runs inside this process. `spark-submit` also takes this
file as the application, and then sets master, memory and jars itself: `--jars $(bifrost pipeline jars)`.

Exit status: 0 done; 1 the job cannot start or go on, in one line; 2 the command line or a file it names is wrong; 3
`certify` found an exception, `verify` a certificate that is not as it was signed, `leakscan` plaintext, `validate`
records that are not valid, or `fsck` something wrong with virtual partitions; 4 `certify` found no exception, but a
verdict is `incomplete`.
"""

import datetime
from pathlib import Path
from typing import Annotated

import typer

from bifrost.cli.jobs.job_runs import FOUND, client_properties, job_session, run_job, say
from bifrost.cli.jobs.record_jobs import census, leakscan, rekey, validate
from bifrost.cli.jobs.transform_job import transform
from bifrost.cli.jobs.virtual_jobs import fsck, pack
from bifrost.cli.spark_options import with_spark_options
from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.config.name_template import DEFAULT_TEMPLATE, NameTemplate
from bifrost.pipeline.billing.months import period_of
from bifrost.pipeline.certificates.certificate import read_private_key, read_public_key
from bifrost.pipeline.certificates.certificate import verify as check
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.spark.executor_packages import write_packages
from bifrost.pipeline.spark.progress import open_progress
from bifrost.pipeline.spark.runtime import connector_jars
from bifrost.pipeline.spark.spark_session import SparkOptions

UNPROVEN = 4
"""Exit status: no exception, but at least one verdict is `incomplete`: the journal proves nothing there."""

pipeline = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Jobs over the journal and over stored records, on Apache Spark.",
)

TablesDir = Annotated[
    str, typer.Option("--tables", metavar="DIR", help="Where meter keeps its tables; any path of Spark.")
]


@pipeline.command()
@with_spark_options
def meter(
    tables: TablesDir,
    spark_options: SparkOptions,
    bootstrap_servers: Annotated[
        str, typer.Option(metavar="HOST:PORT,...", help="The upstream's brokers.")
    ] = "",
    topic: Annotated[str, typer.Option(help="The journal's topic.")] = JOURNAL_TOPIC,
    files: Annotated[
        str, typer.Option(metavar="DIR", help="A kept journal in Parquet files, in place of a topic.")
    ] = "",
    kafka_config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings of the Kafka client, key=value: its security."),
    ] = None,
    checkpoint: Annotated[
        str, typer.Option(metavar="DIR", help="How far it read. Default: beside the tables.")
    ] = "",
    once: Annotated[bool, typer.Option("--once", help="End when all that is there now was read.")] = False,
    trigger_s: Annotated[
        int, typer.Option(min=1, help="Seconds from the beginning of a batch to the next one's.")
    ] = 60,
    max_records: Annotated[int, typer.Option(min=1, help="The largest batch.")] = 500_000,
    lateness_s: Annotated[
        int, typer.Option(min=0, help="What is older than the newest by this is marked late.")
    ] = 600,
) -> None:
    """Turn the journal into usage by hour and day, each record once."""
    if bool(bootstrap_servers) == bool(files):
        raise typer.BadParameter(
            "name the brokers, or the --files of a kept journal", param_hint="--bootstrap-servers"
        )

    def job() -> None:
        from bifrost.pipeline.jobs.meter import MeterOptions, run_meter

        options = MeterOptions(
            tables=tables,
            bootstrap=bootstrap_servers,
            topic=topic,
            files=files,
            checkpoint=checkpoint,
            properties=client_properties(kafka_config),
            is_once=once,
            trigger_s=trigger_s,
            max_records=max_records,
            lateness_s=lateness_s,
        )
        with job_session("meter", spark_options) as spark:
            run_meter(spark, options, spark_options.table_format, open_progress(f"meter  {files or topic}"))

    run_job(job)


@pipeline.command()
@with_spark_options
def bill(
    tables: TablesDir,
    spark_options: SparkOptions,
    price_book: Annotated[Path, typer.Option(metavar="FILE", help="The prices (examples/price-book.yaml).")],
    month: Annotated[str, typer.Option(metavar="YYYY-MM", help="What is billed, e.g. 2026-10.")],
    out: Annotated[str, typer.Option(metavar="DIR", help="Where the bills are written; any path of Spark.")],
    issue: Annotated[
        bool, typer.Option("--issue", help="Issue the bill: from then on later bills correct it.")
    ] = False,
    correct_months: Annotated[
        int, typer.Option(min=0, help="How many of the newest issued months are corrected; 0: none.")
    ] = 12,
) -> None:
    """Rate a month by the price book: FOCUS files, pages for people, quotas that keep budgets."""
    try:
        period_of(month)
    except ValueError:
        raise typer.BadParameter(f"{month!r} is no month: write e.g. 2026-10", param_hint="--month") from None

    def job() -> None:
        from bifrost.pipeline.billing.price_book import load_price_book
        from bifrost.pipeline.jobs.bill import BillOptions, run_bill

        book = load_price_book(price_book)
        today = datetime.datetime.now(datetime.UTC).date()
        table_format = spark_options.table_format
        options = BillOptions(tables, out, book, month, table_format, today, issue, correct_months)
        with job_session("bill", spark_options) as spark:
            done = run_bill(spark, options, say)
        page = f"{out.rstrip('/')}/{month}/index.html"
        typer.echo(f"{done.describe(book.currency)}: {page}")

    run_job(job)


@pipeline.command()
@with_spark_options
def certify(
    tables: TablesDir,
    spark_options: SparkOptions,
    key: Annotated[Path, typer.Option(metavar="FILE", help="The Ed25519 private key that signs, in PEM.")],
    out: Annotated[
        str, typer.Option(metavar="DIR", help="Where the certificates are written; any path of Spark.")
    ],
    day: Annotated[
        list[str] | None, typer.Option(metavar="YYYY-MM-DD", help="Only this day; may be repeated.")
    ] = None,
    name_template: Annotated[str, typer.Option(help="How physical names are made.")] = DEFAULT_TEMPLATE,
    prefix: Annotated[
        list[str] | None,
        typer.Option(metavar="TENANT=PREFIX", help="Of a tenant with prefixes of its own; may be repeated."),
    ] = None,
    inventory: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="What bifrost inventory wrote on that day; may be repeated."),
    ] = None,
) -> None:
    """Certify that every physical entity a tenant touched was its own; list what was not."""
    prefixes = _prefixes(prefix or [])
    try:
        NameTemplate(name_template)
        days = tuple(str(datetime.date.fromisoformat(one)) for one in day or [])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None

    def job() -> int:
        from bifrost.pipeline.certificates.inventory import read_inventory
        from bifrost.pipeline.jobs.certify import CertifyOptions, run_certify

        signer = read_private_key(_read(key, "--key"))
        texts = [_read(path, "--inventory").decode("utf-8", "replace") for path in inventory or []]
        inventories = tuple(map(read_inventory, texts))
        options = CertifyOptions(tables, out, days, name_template, prefixes, inventories)
        now = datetime.datetime.now(datetime.UTC)
        with job_session("certify", spark_options) as spark:
            done = run_certify(spark, options, signer, spark_options.table_format, say, now)
        typer.echo(
            f"{done.certificates} certificates, {done.exceptions} exceptions, {done.incomplete} incomplete: {out}"
        )
        if done.exceptions:
            return FOUND
        return UNPROVEN if done.incomplete else 0

    run_job(job)


@pipeline.command()
def verify(
    certificates: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Certificates.")],
    public_key: Annotated[Path, typer.Option(metavar="FILE", help="The Ed25519 public key, in PEM.")],
) -> None:
    """Check that certificates are as they were signed; needs no Spark."""
    try:
        signer = read_public_key(_read(public_key, "--public-key"))
    except PipelineError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    status = 0
    for path in certificates:
        try:
            report = check(_read(path, "FILE").decode("utf-8", errors="replace"), signer)
        except PipelineError as error:
            typer.echo(f"{path}: {error}", err=True)
            status = FOUND
        else:
            whose = report.get("tenant") or f"upstream {report.get('upstream')}"
            typer.echo(f"{path}: {whose} on {report.get('day')}: {report.get('verdict', 'as it was signed')}")
    raise typer.Exit(status)


@pipeline.command()
@with_spark_options
def advise(
    tables: TablesDir,
    spark_options: SparkOptions,
    out: Annotated[str, typer.Option(metavar="DIR", help="Where the advice is written; any path of Spark.")],
    price_book: Annotated[Path | None, typer.Option(metavar="FILE", help="For money: the prices.")] = None,
    day: Annotated[
        list[str] | None, typer.Option(metavar="YYYY-MM-DD", help="Only this day; may be repeated.")
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            metavar="API=VERSION", help="Versions below go: who breaks? Default: those that Kafka 4 lacks."
        ),
    ] = None,
) -> None:
    """Say which client properties to change, what that saves, and who needs an old API version."""
    gone = {}
    for one in without or []:
        api, _equals, version = one.partition("=")
        if not version.isdigit():
            raise typer.BadParameter(
                f"{one!r} is no API=VERSION: write e.g. Fetch=12", param_hint="--without"
            )
        gone[api] = int(version)

    def job() -> None:
        from bifrost.pipeline.billing.price_book import load_price_book
        from bifrost.pipeline.jobs.advise import AdviseOptions, run_advise

        book = load_price_book(price_book) if price_book else None
        options = AdviseOptions(tables, out, tuple(day or ()), book, gone)
        with job_session("advise", spark_options) as spark:
            done = run_advise(spark, options, spark_options.table_format, say)
        found = (
            f"{done.findings} findings for {done.clients} clients, {done.broken} break when old versions go"
        )
        typer.echo(f"{found}: {out.rstrip('/')}/index.html")

    run_job(job)


def _prefixes(pairs: list[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for one in pairs:
        tenant, equals, prefix = one.partition("=")
        if not (tenant and equals and prefix):
            raise typer.BadParameter(f"{one!r} is no TENANT=PREFIX", param_hint="--prefix")
        found[tenant] = (*found.get(tenant, ()), prefix)
    return found


def _read(path: Path, hint: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror}", param_hint=hint) from None


@pipeline.command()
def jars() -> None:
    """Print the connectors' jars, for spark-submit --jars; those that are missing are downloaded and checked."""

    def job() -> None:
        typer.echo(",".join(map(str, connector_jars())))

    run_job(job)


@pipeline.command()
def packages(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="Where the archive is written, such as jobs.tar.gz.")
    ],
) -> None:
    """Pack what the executors of a cluster import, for the option --packages of the jobs."""

    def job() -> None:
        count = write_packages(out)
        typer.echo(f"{count} packages: {out}")

    run_job(job)


for command in (census, leakscan, validate, fsck, pack, rekey, transform):
    pipeline.command()(with_spark_options(command))


if __name__ == "__main__":
    pipeline(prog_name="bifrost pipeline")
