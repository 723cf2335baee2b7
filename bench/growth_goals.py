"""What is promised of growth: a request costs the same however many tenants and topics there are, as beside HAProxy.

With more connections the kernel's tables and the processor's caches cost every program more, so the gateway is compared
with what HAProxy costs with as many. Partitions have no goal: a request with more of them is a larger request.
"""

from collections.abc import Iterator
from statistics import median

from bench.goals import RELAYS, REQUEST_TO_RELAY, Goal
from bench.subjects import GATEWAY
from bench.table import Table

FLAT = 1.15
"""Of the cost with the fewest: rounds of one row differ by as much."""
PARTS_THAT_ARE_FLAT = ("tenants", "topics")


def judge_growth(part: str, table: Table) -> list[Goal]:
    """Return the goals of one growth, by its table of CPU time per request; none of partitions."""
    if part in PARTS_THAT_ARE_FLAT:
        return list(_judge_flat(part, table))
    return list(_judge_beside_relay(part, table)) if part == "connections" else []


def _judge_flat(part: str, table: Table) -> Iterator[Goal]:
    (fewest, least), *more = table.rows.items()
    for count, row in more:
        for series, values in row.items():
            name, _, kind = series.partition(": ")
            if name == GATEWAY and values and least.get(series):
                reached = median(values) / median(least[series])
                what = f"CPU of {kind} with {count} {part}"
                yield Goal(what, reached, FLAT, f"of that with {fewest}")


def _judge_beside_relay(part: str, table: Table) -> Iterator[Goal]:
    for count, row in table.rows.items():
        costs = {series.partition(": ")[0]: median(values) for series, values in row.items() if values}
        relayed = next((costs[one] for one in RELAYS if one in costs), None)
        if relayed is not None and GATEWAY in costs:
            what = f"CPU per request with {count} {part}"
            yield Goal(what, costs[GATEWAY] / relayed, REQUEST_TO_RELAY, "of the relay's")
