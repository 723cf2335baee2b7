"""`pack`: which topics need fewer partitions at the brokers than clients see, how many, and what that saves.

OUT/pack.parquet/  pack.csv      a row for each topic: what it carries, V:P, what that comes to, or why it stays
OUT/virtual-partitions.yaml      the rules for the configuration
OUT/index.html                   the same for people
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import yaml

from bifrost.config.fields.virtual_partitions import MAX_RULES
from bifrost.config.records.filter_rule import MAX_PATTERNS
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.metering.metered_tables import open_tables
from bifrost.pipeline.money import Amount
from bifrost.pipeline.packing import topic_loads
from bifrost.pipeline.packing.consumers import Client, Consumer, consumers
from bifrost.pipeline.packing.proposals import (
    Bounds,
    Proposal,
    Reading,
    Rule,
    TopicLoad,
    propose,
    rules_of,
    shares_of,
)
from bifrost.pipeline.report import Table, render_tables
from bifrost.pipeline.spark.csv_file import write_csv
from bifrost.pipeline.spark.hadoop_files import HadoopFiles
from bifrost.pipeline.stored.configured_topics import ConfiguredTenants
from bifrost.pipeline.stored.virtual.virtual_topics import virtual_topics

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from bifrost.pipeline.spark.spark_session import TableFormat

MAX_SHOWN = 200
"""Rows of a table on the page; the files have all."""
MB = 1_000_000
HEAD = (
    "# A proposal of `bifrost pipeline pack`. Brokers must have as many partitions of a topic as `physical` says:\n"
    "# with another number it is shown with INVALID_PARTITIONS. So add a rule only with a topic that is created anew\n"
    "# under it, and before the rules that the tenant has.\n"
)
SCHEMA = (
    "tenant STRING, topic STRING, physical_topic STRING, virtual INT, physical INT, produced_mb_s DOUBLE, "
    "fetched_mb_s DOUBLE, consumers INT, consumer_groups STRING, together STRING, largest INT, largest_mb_s DOUBLE, "
    "read_amplification DOUBLE, partitions_saved INT, money_a_month DECIMAL(28,4), reason STRING"
)

TopicKey = tuple[str, str]
"""Tenant and physical topic."""


@dataclass(frozen=True, slots=True)
class PackOptions:
    """The input and the bounds of the job."""

    tables: str
    out: str
    tenants: ConfiguredTenants
    bounds: Bounds
    price: Decimal
    """Of a partition and hour; 0: none is known."""
    currency: str = "money"
    days: tuple[str, ...] = ()
    """Empty: all days there are."""
    excluded: tuple[str, ...] = ()
    """Topics that stay, by their physical names."""


@dataclass(frozen=True, slots=True)
class Packed:
    """The result."""

    topics: int
    packed: int
    """Topics that get fewer partitions at the brokers."""
    partitions: int
    """How many there are now."""
    saved: int
    money: Decimal
    """In a month."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What reads one topic."""

    consumers: tuple[tuple[Consumer, float], ...]
    """Each with its bytes a second."""
    together: tuple[str, ...]
    """Other topics that one of these reads, by their physical names."""


NOT_READ = _Read((), ())


def run_pack(
    spark: SparkSession, options: PackOptions, table_format: TableFormat, say: Callable[[str], None]
) -> Packed:
    """Propose virtual partitions for the topics of a configuration's tenants, and write that down.

    Raises:
        PipelineError: there are no snapshots of topics.
    """
    tables = open_tables(spark, options.tables, table_format)
    days = list(options.days) or None
    usage, snapshots = tables.read("usage", days), tables.read("snapshots", days)
    topics = {(row.tenant, row.physical_topic): row for row in topic_loads.newest_topics(snapshots).collect()}
    if not topics:
        raise PipelineError(
            f"no snapshots of topics in {options.tables} on these days: "
            "switch on the gateway's journal, run bifrost pipeline meter first, or name others"
        )
    say(f"looking at {len(topics)} topics")
    usage = usage.persist()
    try:
        reads = _reads(usage)
        refused = _refused(usage, options, topics)
        rates = {
            (row.tenant, row.physical_topic): row.bytes_s for row in topic_loads.produced(usage).collect()
        }
    finally:
        usage.unpersist()
    loads = [
        TopicLoad(
            key[0],
            name,
            key[1],
            shares_of([one.bytes for one in sorted(topics[key].partitions, key=lambda one: one.partition)]),
            rates.get(key, 0.0),
            tuple(Reading(bytes_s, one.members) for one, bytes_s in reads.get(key, NOT_READ).consumers),
            refused.get(key, ""),
        )
        for key, name in sorted(_names(options.tenants, topics).items())
        if topics[key].partitions
    ]
    proposals = [propose(one, options.bounds) for one in loads]
    rules, proposals = _with_rules(proposals, options.tenants)
    return _write(spark, options, proposals, rules, reads)


def _reads(usage: DataFrame) -> dict[TopicKey, _Read]:
    """Return what reads each topic."""
    fetched = topic_loads.fetched(usage).collect()
    members = [(_client(row), row.group_id) for row in topic_loads.members(usage).collect()]
    counts = {_client(row): row.connections for row in topic_loads.connections(usage).collect()}
    known = consumers({_client(row) for row in fetched}, members, counts)
    by_topic = defaultdict[TopicKey, dict[Client, float]](dict)
    by_consumer = defaultdict[tuple[Client, Consumer], set[str]](set)
    for row in fetched:
        client = _client(row)
        by_topic[row.tenant, row.physical_topic][client] = row.bytes_s
        by_consumer[_unit(client, known[client])].add(row.physical_topic)
    found = {}
    for (tenant, topic), clients in by_topic.items():
        sums, others = dict[tuple[Client, Consumer], float](), set[str]()
        for client, bytes_s in clients.items():
            unit = _unit(client, known[client])
            sums[unit] = sums.get(unit, 0.0) + bytes_s
            others |= by_consumer[unit]
        read_by = tuple((consumer, bytes_s) for (_, consumer), bytes_s in sums.items())
        found[tenant, topic] = _Read(read_by, tuple(sorted(others - {topic})))
    return found


def _client(row: Any) -> Client:
    return row.tenant, row.namespace, row.principal, row.client_id


def _unit(client: Client, consumer: Consumer) -> tuple[Client, Consumer]:
    """Return what is alike for all clients of a consumer, and is its own for a client without a group."""
    return ((client[0], "", "", "") if consumer.groups else client), consumer


def _refused(usage: DataFrame, options: PackOptions, topics: Iterable[TopicKey]) -> dict[TopicKey, str]:
    """Return why topics stay that cannot have virtual partitions, as far as journal and configuration say."""
    tenants = {row.tenant: row.reason for row in topic_loads.refused_tenants(usage).collect()}
    used = {
        (row.tenant, row.physical_topic): row.reason for row in topic_loads.refused_topics(usage).collect()
    }
    virtual = virtual_topics(options.tenants, [topic for _, topic in topics])
    found = {}
    for key in topics:
        tenant, topic = key
        seen_by = [one.name for one in options.tenants.tenants if options.tenants.paths(one, topic)]
        others = [one for one in seen_by if one != tenant]
        reasons = (
            "it has virtual partitions" if topic in virtual else "",
            "it is excluded" if topic in options.excluded else "",
            f"it is shared with {others[0]}" if others else "",
            tenants.get(tenant, ""),
            used.get(key, ""),
        )
        found[key] = next((one for one in reasons if one), "")
    return found


def _names(tenants: ConfiguredTenants, topics: Iterable[TopicKey]) -> dict[TopicKey, str]:
    """Return what clients of the whole tenant call each topic; those of other tenants are left out."""
    by_name = {one.name: one for one in tenants.tenants}
    found = {}
    for tenant, topic in topics:
        names = tenants.paths(by_name[tenant], topic) if tenant in by_name else []
        if names:
            found[tenant, topic] = names[0]
    return found


def _with_rules(
    proposals: Sequence[Proposal], tenants: ConfiguredTenants
) -> tuple[dict[str, list[Rule]], list[Proposal]]:
    """Return the rules by tenant, and the proposals; where there is no room for a rule, topics stay."""
    rules: dict[str, list[Rule]] = {}
    without: set[TopicKey] = set()
    for tenant in tenants.tenants:
        own = [one for one in proposals if one.load.tenant == tenant.name]
        made, left = rules_of(own, MAX_RULES - len(tenant.virtual_partitions), MAX_PATTERNS)
        without |= {(tenant.name, one.load.physical_topic) for one in left}
        if made:
            rules[tenant.name] = made
    text = f"a tenant has at most {MAX_RULES} rules"
    kept = [
        propose(one.load._replace(refused=text), Bounds(0.0, 0.0))
        if (one.load.tenant, one.load.physical_topic) in without
        else one
        for one in proposals
    ]
    return rules, kept


def rules_text(rules: Mapping[str, Sequence[Rule]]) -> str:
    """Return the rules as a piece of the configuration."""
    tenants = [
        {
            "name": tenant,
            "virtual_partitions": [
                {"topics": list(topics), "virtual": virtual, "physical": physical}
                for virtual, physical, topics in some
            ],
        }
        for tenant, some in sorted(rules.items())
    ]
    return HEAD + yaml.safe_dump({"tenants": tenants}, sort_keys=False, allow_unicode=True)


def _write(
    spark: SparkSession,
    options: PackOptions,
    proposals: Sequence[Proposal],
    rules: Mapping[str, Sequence[Rule]],
    reads: Mapping[TopicKey, _Read],
) -> Packed:
    ordered = sorted(proposals, key=lambda one: (-one.saved, one.load.tenant, one.load.name))
    rows = [_row(one, options.price, reads) for one in ordered]
    frame = spark.createDataFrame(rows, SCHEMA).coalesce(1)
    files = HadoopFiles(spark, options.out)
    frame.write.mode("overwrite").parquet(files.path("pack.parquet"))
    write_csv(frame, files, "pack.csv")
    files.write("virtual-partitions.yaml", rules_text(rules))
    files.write("index.html", _page(ordered, options))
    saved = sum(one.saved for one in ordered)
    return Packed(
        len(ordered),
        sum(1 for one in ordered if one.saved),
        sum(one.load.partitions for one in ordered),
        saved,
        sum((one.saving(options.price) for one in ordered), Decimal(0)),
    )


def _row(one: Proposal, price: Decimal, reads: Mapping[TopicKey, _Read]) -> tuple[Any, ...]:
    load = one.load
    read = reads.get((load.tenant, load.physical_topic), NOT_READ)
    groups = sorted({group for consumer, _ in read.consumers for group in consumer.groups})
    return (
        load.tenant,
        load.name,
        load.physical_topic,
        load.partitions,
        one.physical,
        load.produced / MB,
        load.fetched / MB,
        len(load.readings),
        " ".join(groups),
        " ".join(read.together),
        one.largest,
        one.largest_bytes_s / MB,
        one.amplification,
        one.saved,
        one.saving(price),
        one.reason,
    )


def _page(proposals: Sequence[Proposal], options: PackOptions) -> str:
    heads = (
        "tenant",
        "topic",
        "virtual",
        "physical",
        "MB/s in",
        "MB/s out",
        "MB/s of the largest",
        "read amplification",
        f"{options.currency} a month",
    )
    shown = [
        (
            one.load.tenant,
            one.load.name,
            one.load.partitions,
            one.physical,
            *(
                Decimal(f"{each / MB:.6f}")
                for each in (one.load.produced, one.load.fetched, one.largest_bytes_s)
            ),
            Decimal(f"{one.amplification:.2f}"),
            _money(one, options),
        )
        for one in proposals
        if one.saved
    ]
    stay = [
        (one.load.tenant, one.load.name, one.load.partitions, one.reason)
        for one in proposals
        if not one.saved
    ]
    sections = [
        ("Topics with fewer partitions at the brokers", Table(heads, shown[:MAX_SHOWN], "None.")),
        (
            "Topics that stay",
            Table(("tenant", "topic", "partitions", "why"), stay[:MAX_SHOWN], "None."),
        ),
    ]
    bounds = options.bounds
    over = f"{len(proposals)} topics, at most {bounds.bytes_s / MB:g} MB/s and {bounds.amplification:g} times read"
    return render_tables("Virtual partitions to save partitions", over, sections)


def _money(one: Proposal, options: PackOptions) -> Amount | Decimal:
    saved = one.saving(options.price)
    return saved if options.currency == "money" else Amount(saved, options.currency)
