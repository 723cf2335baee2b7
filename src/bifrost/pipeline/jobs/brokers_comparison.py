"""What `certify` says of the brokers' own view: how the inventory of a day compares with the journal.

A certificate of that day has the tenant's part, as `brokers`. The whole of a physical cluster, with what belongs to no
tenant, has a file of its own: it is for the operator.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from bifrost.pipeline.certificates import brokers_view, isolation
from bifrost.pipeline.certificates.brokers_view import BYPASSED, EXISTING, GONE, OWNERLESS, UNSEEN
from bifrost.pipeline.certificates.name_owners import ENTITIES
from bifrost.pipeline.errors import PipelineError
from bifrost.pipeline.metering.metered_tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from bifrost.pipeline.certificates.inventory import Inventory
    from bifrost.pipeline.spark.tables import Commit, Tables

MAX_NAMES = 1_000
"""Names that a report lists of each kind of finding and entity; `count` has all of them."""

Report = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of one day."""

    day: str
    begun_at: str
    """When the first inventory of the day was begun."""
    cluster_ids: Mapping[str, str]
    """By the upstream's name."""
    rows: tuple[Row, ...]
    """See `brokers_view.told`."""

    @property
    def bypassed(self) -> frozenset[str]:
        """Tenants in whose groups and transactions clients are at work of which the journal says nothing."""
        return frozenset(row.tenant for row in self.rows if row.finding == BYPASSED)

    def of_tenant(self, tenant: str) -> Report:
        """Return a tenant's part."""
        ours = [row for row in self.rows if row.tenant == tenant]
        return {
            "begun_at": self.begun_at,
            EXISTING: _numbers(ours),
            **{finding: _listed(ours, finding) for finding in (BYPASSED, UNSEEN, GONE)},
        }

    def clusters(self) -> Iterator[Report]:
        """Yield the report of each physical cluster."""
        for upstream, cluster_id in sorted(self.cluster_ids.items()):
            here = [row for row in self.rows if row.upstream == upstream]
            tenants = sorted({row.tenant for row in here if row.tenant is not None})
            yield {
                "upstream": upstream,
                "cluster_id": cluster_id,
                "day": self.day,
                "begun_at": self.begun_at,
                OWNERLESS: _listed(here, OWNERLESS),
                "tenants": {
                    tenant: {
                        EXISTING: _numbers([row for row in here if row.tenant == tenant]),
                        **{
                            finding: _listed([row for row in here if row.tenant == tenant], finding)
                            for finding in (BYPASSED, UNSEEN)
                        },
                    }
                    for tenant in tenants
                },
            }


def compare_days(
    spark: SparkSession,
    tables: Tables,
    head: Commit,
    prefixes: DataFrame,
    inventories: Iterable[Inventory],
    days: Iterable[str],
) -> dict[str, Comparison]:
    """Return the comparison of each day of which there are inventories.

    Args:
        spark: does it.
        tables: the journal's tables.
        head: as of this commit.
        prefixes: see `name_owners.prefix_frame`.
        inventories: several of one day are taken together.
        days: those that are certified.
    Raises:
        PipelineError: an inventory is of another day.
    """
    ordered = sorted(inventories, key=lambda one: one.begun_ms)
    known = set(days)
    usage, events, snapshots = (tables.read(TABLES[kind], at=head) for kind in ("usage", "event", "snapshot"))
    found = isolation.accesses(usage, events, snapshots)
    compared = {}
    for day, of_day in groupby(ordered, key=lambda one: one.day):
        if day not in known:
            raise PipelineError(f"the inventory is of {day}, of which there is no access to certify")
        taken = list(of_day)
        entities = [one for inventory in taken for one in inventory.found]
        before = (datetime.date.fromisoformat(day) - datetime.timedelta(days=1)).isoformat()
        existing = brokers_view.existing_frame(spark, entities)
        findings = brokers_view.compare(existing, found, prefixes, day, before)
        rows = tuple(brokers_view.told(findings, MAX_NAMES).collect())
        ids = {name: id_ for inventory in taken for name, id_ in inventory.cluster_ids.items()}
        compared[day] = Comparison(day, taken[0].begun_at, ids, rows)
    return compared


def _numbers(rows: list[Row]) -> dict[str, int]:
    return {entity: _count(rows, EXISTING, entity) for entity in ENTITIES}


def _listed(rows: list[Row], finding: str) -> Report:
    """Return number and first names of a finding, by entity; entities without any are left out."""
    named: dict[str, list[str]] = {}
    for row in rows:
        if row.finding == finding:
            named.setdefault(row.entity, []).append(row.physical)
    return {
        entity: {"count": _count(rows, finding, entity), "names": names} for entity, names in named.items()
    }


def _count(rows: list[Row], finding: str, entity: str) -> int:
    """Return how many there are on all upstreams together; each upstream's rows have the same number."""
    numbers = {row.upstream: row.n for row in rows if (row.finding, row.entity) == (finding, entity)}
    return sum(numbers.values())
