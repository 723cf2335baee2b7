"""`certify`: writes for each tenant and day a signed report that the tenant accessed only physical entities of its own,
or which were not.

    OUT/2026-10-05/acme.json            one certificate (certificate.py)
    OUT/2026-10-05/brokers/main.json    how a physical cluster compares with the journal, where there is an inventory

A verdict is `isolated`, `exceptions`, or `incomplete`: the journal shows no exception but cannot prove that there is
none, because the gateway folded rows, records are missing or too old to name groups, a gateway was killed, or brokers
have clients of the tenant of which no gateway tells.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql import functions as F

from bifrost.config.name_template import DEFAULT_TEMPLATE
from bifrost.pipeline.certificates import isolation, name_owners
from bifrost.pipeline.certificates.certificate import sign
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.jobs.brokers_comparison import Comparison, compare_days
from bifrost.pipeline.metering.metered_tables import KEYS, TABLES, open_tables
from bifrost.pipeline.spark.hadoop_files import HadoopFiles

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from pyspark.sql import DataFrame, SparkSession

    from bifrost.pipeline.certificates.inventory import Inventory
    from bifrost.pipeline.spark.spark_session import TableFormat
    from bifrost.pipeline.spark.tables import Commit, Tables

MAX_EXCEPTIONS = 100_000
"""Further exceptions are only counted: a tenant's prefixes are wrong then, and the first hundred thousand show it."""
REPORT_VERSION = 2


@dataclass(frozen=True, slots=True)
class CertifyOptions:
    """The days to certify, and the prefixes of tenants' names."""

    tables: str
    out: str
    days: tuple[str, ...] = ()
    """Empty: all days there are."""

    template: str = DEFAULT_TEMPLATE
    prefixes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Prefixes of tenants whose names begin differently than the gateways told in the journal."""

    inventories: tuple[Inventory, ...] = ()
    """What existed on the brokers; each is compared with the journal of its day."""


@dataclass(frozen=True, slots=True)
class Certified:
    """The result."""

    certificates: int
    exceptions: int
    """Number of different exceptions, by client, entity and reason."""

    incomplete: int


def run_certify(
    spark: SparkSession,
    options: CertifyOptions,
    key: Ed25519PrivateKey,
    table_format: TableFormat,
    say: Callable[[str], None],
    now: datetime.datetime,
) -> Certified:
    """Certify tenants and days.

    Raises:
        PipelineError: there is nothing to certify.
    """
    tables = open_tables(spark, options.tables, table_format)
    head = tables.head()
    days = list(options.days) or None
    usage, events, snapshots, drops = (tables.read(name, days, at=head) for name in TABLES.values())
    found = isolation.accesses(usage, events, snapshots)
    tenants = [row.tenant for row in found.select("tenant").where("tenant IS NOT NULL").distinct().collect()]
    if not tenants:
        raise PipelineError(
            f"no access in {options.tables} on these days: run bifrost pipeline meter first, or name others"
        )
    # A gateway tells its prefixes at its start, which may have been on any earlier day.
    all_events = tables.read("events", at=head)
    told = name_owners.told_prefixes(all_events).collect()
    prefixes = name_owners.prefix_frame(
        spark,
        sorted(tenants),
        options.template,
        [(row.tenant, row.entity, row.prefix) for row in told],
        options.prefixes,
    )
    judged = isolation.judge(found, prefixes, name_owners.told_aliases(all_events)).persist()
    try:
        say(f"judging the accesses of {len(tenants)} tenants")
        summaries = isolation.summary(judged).collect()
        shared = isolation.shared_topics(judged).orderBy("physical").limit(MAX_EXCEPTIONS).collect()
        broken = isolation.exceptions(judged).orderBy("day", "tenant").limit(MAX_EXCEPTIONS).collect()
    finally:
        judged.unpersist()
    missing = _gaps(tables, head, days, drops)
    files = HadoopFiles(spark, options.out)
    cut = _unended(tables, head, days)
    certified = {one.day for one in summaries}
    compared = compare_days(spark, tables, head, prefixes, options.inventories, certified)
    summaries += _silent(summaries, compared)
    head_of_all = {"tables_version": head.version, "certified_at": _at(now)}
    reports = [_report(one, broken, missing, cut, compared.get(one.day)) | head_of_all for one in summaries]
    for report in reports:
        report["shared_topics"] = _shared(report, shared)
        files.write(f"{report['day']}/{report['tenant']}.json", sign(report, key))
    for comparison in compared.values():
        for cluster in comparison.clusters():
            text = sign({"version": REPORT_VERSION, **cluster, **head_of_all}, key)
            files.write(f"{comparison.day}/brokers/{cluster['upstream']}.json", text)
    incomplete = sum(report["verdict"] == "incomplete" for report in reports)
    return Certified(len(reports), len(broken), incomplete)


def _silent(summaries: list[Row], compared: Mapping[str, Comparison]) -> list[Row]:
    """Return summaries of tenants of which brokers have clients, but the journal of the day has no access."""
    fields = summaries[0].asDict() if summaries else {}
    there = {(one.day, one.tenant) for one in summaries}
    return [
        Row(**(dict.fromkeys(fields, 0) | {"day": day, "tenant": tenant}))
        for day, comparison in sorted(compared.items())
        for tenant in sorted(comparison.bypassed)
        if (day, tenant) not in there
    ]


def _gaps(tables: Tables, head: Commit, days: list[str] | None, drops: DataFrame) -> list[Row]:
    columns = ["day", *KEYS]
    frames = [tables.read(name, days, at=head).select(*columns) for name in TABLES.values()]
    numbers = frames[0].unionByName(frames[1]).unionByName(frames[2]).unionByName(frames[3])
    found = isolation.gaps(numbers, drops).where(F.col("unexplained") > 0)
    # Days that were left out are no gap: numbers before the first one of the chosen days are not checked.
    if days is not None:
        first = numbers.groupBy("gateway_id", "epoch").agg(F.min("sequence").alias("lowest"))
        found = (
            found.join(first, ["gateway_id", "epoch"]).where(F.col("last") >= F.col("lowest")).drop("lowest")
        )
    return found.orderBy("gateway_id", "epoch", "first").limit(MAX_EXCEPTIONS).collect()


def _unended(tables: Tables, head: Commit, days: list[str] | None) -> list[Row]:
    near = days
    if days is not None:
        # An epoch that goes on the next day has not ended on this one.
        dates = [datetime.date.fromisoformat(one) for one in days]
        near = sorted({*days, *((one + datetime.timedelta(days=1)).isoformat() for one in dates)})
    columns = ["gateway_id", "epoch", "interval_end_ms"]
    frames = [tables.read(name, near, at=head).select(*columns) for name in TABLES.values()]
    ends = frames[0].unionByName(frames[1]).unionByName(frames[2]).unionByName(frames[3])
    found = isolation.unended(ends, tables.read("events", at=head))
    return found.orderBy("gateway_id", "epoch").limit(MAX_EXCEPTIONS).collect()


def _report(
    one: Row, broken: list[Row], missing: list[Row], cut: list[Row], compared: Comparison | None
) -> dict[str, Any]:
    ours = [
        _plain(row, ("day", "tenant")) for row in broken if (row.day, row.tenant) == (one.day, one.tenant)
    ]
    holes = [_plain(row, ()) for row in missing if row.from_day <= one.day <= row.to_day]
    unended = [_plain(row, ()) for row in cut if row.from_day <= one.day <= row.to_day]
    is_bypassed = compared is not None and one.tenant in compared.bypassed
    is_proven = not one.unproven and not holes and not unended and not is_bypassed
    return {
        "version": REPORT_VERSION,
        "tenant": one.tenant,
        "day": one.day,
        "verdict": "exceptions" if one.exceptions else "isolated" if is_proven else "incomplete",
        "accesses": one.accesses,
        "physical_entities": one.entities,
        "entities": {
            entity: {
                "accesses": one[f"{entity}_accesses"],
                "physical_names": one[f"{entity}_names"],
                "exception_records": one[f"{entity}_exceptions"],
            }
            for entity in name_owners.ENTITIES
        },
        "exception_records": one.exceptions,
        "exceptions": ours,
        "unproven_records": one.unproven,
        "records_of_version_1": one.untold,
        "missing_records": holes,
        "unended_epochs": unended,
        "brokers": None if compared is None else compared.of_tenant(one.tenant),
    }


def _shared(report: dict[str, Any], shared: list[Row]) -> list[dict[str, Any]]:
    """Return the topics that the tenant accessed though their names are not its own: moved to it, or shared with it."""
    of_report = (report["day"], report["tenant"])
    return [_plain(row, ("day", "tenant")) for row in shared if (row.day, row.tenant) == of_report]


def _at(now: datetime.datetime) -> str:
    return now.astimezone(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _plain(row: Row, without: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in row.asDict().items() if name not in without and value is not None}
