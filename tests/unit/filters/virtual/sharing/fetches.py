"""Fetches of connections of one client, which read virtual partitions of the same physical one."""

from typing import Any

from bifrost.filters.steps import Need, OthersPoll
from support.stage.playbook import Playbook, broker_answers, to_client
from unit.filters.virtual import test_fetched_partitions
from unit.filters.virtual.test_fetched_partitions import ORDERS, own, stored, told

MS = 1_000_000
VERSION = 12
NOW = [0]


def asked(*topics: tuple[str, list[tuple[int, int]]], **fields: Any) -> Any:
    """Return a Fetch for no more than is kept of one."""
    return test_fetched_partitions.asked(*topics, **{"max_bytes": 2**20, **fields})


def fetch(offset: int, number: int = 0, **fields: Any) -> Any:
    """Return the Fetch of a connection: 0, 2 and 4 are in the physical partition 0."""
    return asked(("orders", [(2 * number, offset)]), **fields)


LOG = stored(0, 1, 2, 2, 0)
"""Of the groups 0, 1, 2: the connections read them in this order. Each batch has one record."""


def answered(book: Playbook, log: bytes = LOG, number: int = 0, end: int = 9) -> Playbook:
    """Let the broker answer the Fetch of a connection."""
    return (
        book
        >> broker_answers(told((ORDERS, {0: log}), ends={0: end}))
        << to_client(told(("orders", {2 * number: own(log, number, 0)}), ends={2 * number: end}))
    )


def need_of(book: Playbook) -> OthersPoll:
    """Return what a connection waits for."""
    assert not book.said.to_broker
    [need] = book.session.needs
    assert isinstance(need, OthersPoll)
    return need


def met(need: Need) -> Any:
    """Let what a connection waits for be there."""

    def step(book: Playbook) -> str:
        book.session.meet(need)
        return f"meets {need}"

    return step
