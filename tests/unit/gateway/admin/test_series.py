"""How many time series one tenant can make: all its labels are values that the gateway chooses."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module

from bifrost.config.fields.limits import Limits
from bifrost.config.fields.verifiers import Mechanism
from bifrost.config.model import Config
from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.config.records.filter_rule import FilterDirection
from bifrost.filters.refused import REFUSED
from bifrost.forwarding.lane import Awaited
from bifrost.gateway.admin.counted import TransformCount
from bifrost.gateway.admin.metrics import Metrics
from bifrost.gateway.exchange.exchange_counts import ExchangeCounts
from bifrost.gateway.gateway import Gateway
from bifrost.gateway.journaling.journal_counts import JournalCounts
from bifrost.gateway.sources.source_names import MODULES
from bifrost.gateway.state.state_counts import StateCounts
from bifrost.journal.record import RecordKind
from bifrost.journal.record_buffer import DropReason
from bifrost.session.decoded_request import REQUEST_BYTES_LIMIT, REQUEST_ITEMS_LIMIT
from bifrost.session.session_lanes import OWN_APIS
from bifrost.state.state_outcome import OutcomeKind
from bifrost.tenancy.acls.acl_binding import Operation
from bifrost.tenancy.quotas.quota_key import QuotaKey
from bifrost.wire.fields.entities import SERVED, served_versions
from support.pages.doc_pages import page, spans, table
from support.pages.source_facts import trees
from support.stage.lanes import new_lane
from unit.docs.test_documented_metrics import Everything
from unit.gateway.test_gateway import CONFIG

TENANT = "acme"
FAILURES = (
    *(f"failed_{why}" for why in ("exception", "contract", "timeout", "crash", "unavailable", "reload")),
    *(f"unread_{why}" for why in ("time", "memory", "crash", "unavailable")),
)
OF_SOURCES = {"waits", "wait_ns"}
COUNTING_CALLS = {"hit", "note_hit", "note_limit"}
CHOSEN = {
    "self._limit_hit(tenant, room, framer)": Limits.model_fields,
    "_limit_hit(queue.load)": Limits.model_fields,
    "_SETTINGS[error.bound]": Limits.model_fields,
    "limit": (*Limits.model_fields, REQUEST_ITEMS_LIMIT, REQUEST_BYTES_LIMIT),
    "one.key": NamespacePolicy.model_fields,
    "violation.key": NamespacePolicy.model_fields,
    "budget.limit": tuple(map(str, QuotaKey)),
}
"""What the code counts as a limit where it does not name a constant, and the names that this can be."""

Series = set[tuple[str, ...]]


class Used(Everything):
    """The counts of a gateway whose tenant uses everything, with so many filters of records."""

    filters = 0

    def connections(self) -> dict[str, int]:
        return {TENANT: 1}

    def journal(self) -> JournalCounts:
        dropped = {(TENANT, kind, reason): 1 for kind in RecordKind for reason in DropReason}
        return JournalCounts(dropped, {TENANT: 1}, 1, 1, 1, is_up=True)

    def state(self) -> StateCounts:
        return StateCounts(1, 1, 1, True, 1, 1, {(TENANT, kind): 1 for kind in OutcomeKind})

    def exchange(self) -> ExchangeCounts:
        return ExchangeCounts(1, 1, True, 1, {"written": 1}, {(key, TENANT): 0.5 for key in QuotaKey})

    def transforms(self) -> Iterator[TransformCount]:
        numbers = {number for (tenant, *_, number), _ in super().transforms() if tenant}
        for number in numbers.union(FAILURES):
            for name in MODULES if number in OF_SOURCES else map(str, range(self.filters)):
                for direction in FilterDirection:
                    yield (TENANT, name, direction, number), 1


def counted_limits() -> set[str]:
    """Return all names under which the code counts that a limit was hit."""
    found: set[str] = set()
    for path, tree in trees():
        for node in _counted(tree):
            if isinstance(node, ast.Name) and node.id.isupper():
                module = import_module("bifrost." + path.removesuffix(".py").replace("/", "."))
                found.add(getattr(module, node.id))
            elif isinstance(node, ast.Constant):
                found.add(str(node.value))
            else:
                found.update(CHOSEN[ast.unparse(node)])
    return found


def _counted(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        match node:
            case ast.AugAssign(target=ast.Subscript(value=counter, slice=ast.Tuple(elts=[limit, _]))):
                if ast.unparse(counter).endswith(("hits", "limits_hit")):
                    yield limit
            case ast.Call(func=ast.Attribute(attr=called), args=[limit, *_]) if called in COUNTING_CALLS:
                yield limit


def series(filters: int = 0) -> Series:
    """Return the name and the labels of each series of a tenant that does everything, and meets every error."""
    gateway = Gateway(Config.model_validate(CONFIG))
    lanes = gateway.shared.lanes
    lanes.gateway_time(TENANT).note(False, 1)
    for api_key in (*SERVED, *REFUSED, None):
        traffic = lanes.traffic(TENANT, api_key)
        traffic.receive(100)
        if api_key is not None and api_key not in OWN_APIS | REFUSED.keys():
            version = min(served_versions(api_key) or ())
            Awaited(1, new_lane(api_key, version, traffic), None).finish(100)
        for code in range(-1, 200):
            traffic.fail(code, is_own=False)
            traffic.fail(code, is_own=True)
    for name in counted_limits():
        gateway.limits_hit[name, TENANT] += 1
    for mechanism in (*Mechanism, "SSL", "PLAINTEXT"):
        gateway.shared.sasl.outcomes[TENANT, str(mechanism), "success"] += 1
    for key in QuotaKey:
        gateway.shared.quotas.throttled_ms[key, TENANT] += 1
    for operation in Operation:
        gateway.shared.virtual_clusters.acls.denials[TENANT, operation.name] += 1
    lanes.in_flight_limits.load(TENANT)
    counted = Used(gateway)
    counted.filters = filters
    samples = (sample for metric in filter(None, Metrics(counted).families()) for sample in metric.samples)
    return {(one.name, *one.labels.values()) for one in samples if one.labels.get("tenant") == TENANT}


def test_no_tenant_makes_more_series_than_the_page_says() -> None:
    text = page("operations.md").replace("\n", " ")
    told = re.search(r"at most ([\d,]+) time series, and (\d+) more for each of its \[filters", text)

    assert told is not None
    most, of_a_filter = (int(number.replace(",", "")) for number in told.groups())
    without, with_one, with_three = (len(series(filters)) for filters in (0, 1, 3))
    assert 0.95 * most <= without <= most
    assert (with_one - without, with_three - without) == (of_a_filter, 3 * of_a_filter)


def test_every_metric_with_a_tenant_is_among_them() -> None:
    found = {name for name, *_ in series(1)}

    labelled = set()
    for names, labels, _ in table(page("operations.md"), "metric", "labels").rows:
        of_each = labels.split(";")
        for number, name in enumerate(spans(names)):
            if "tenant" in re.findall(r"\w+", of_each[number % len(of_each)]):
                labelled.add(name)
    assert len(labelled) > 40
    assert {name for name in labelled if name not in found and f"{name}_count" not in found} == set()


def test_the_page_has_every_limit_that_is_counted_and_is_no_setting() -> None:
    names = counted_limits()
    text = page("operations.md")

    assert {"max_topics", "max_users", "broker_answer", "request_items", "read_orders"} <= names
    own = {name for name in names if not name.startswith("max_")}
    settings = {*Limits.model_fields, *NamespacePolicy.model_fields, *map(str, QuotaKey)}
    assert own - settings <= set(spans(text))
