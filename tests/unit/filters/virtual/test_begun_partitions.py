"""Consumers that start: their virtual partitions begin at offsets of their own, and one Fetch serves all of them."""

from bifrost.filters.virtual.virtual_topics import VirtualTopics
from bifrost.tenancy.virtual_partitions.logs.known_starts import KnownStart
from support.stage.divided import divided
from support.stage.playbook import Playbook, broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage
from unit.filters.virtual.test_fetched_partitions import ORDERS, asked, own, stored, told

LOG = stored(0, 1, 2)
"""Of the physical partition 0; its virtual ones are 0, 2 and 4."""
VERSION = 12


def started(stage: Stage) -> Playbook:
    """Return a connection of a client that was told a moment ago where its partitions start."""
    divided(stage, "orders")
    book = stage.play()
    virtual = book.session._scope.virtual
    assert isinstance(virtual, VirtualTopics)
    virtual.starts.add((ORDERS.encode(), 0), KnownStart(0, 3, {0: 0, 1: 1, 2: 2}, 0, near=3))
    return book


def test_the_broker_is_asked_from_where_the_log_begins(stage: Stage) -> None:
    assert (
        started(stage)
        >> client_sends(asked(("orders", [(4, 2)])), VERSION)
        << to_broker(asked((ORDERS, [(0, 0)])))
        >> broker_answers(told((ORDERS, {0: LOG})))
        << to_client(told(("orders", {4: own(LOG, 2, 2)})))
    )


def test_one_that_has_read_some_goes_on_there(stage: Stage) -> None:
    assert (
        started(stage)
        >> client_sends(asked(("orders", [(4, 3)])), VERSION)
        << to_broker(asked((ORDERS, [(0, 3)])))
    )


def test_it_is_asked_so_until_it_has_sent_records(stage: Stage) -> None:
    """They may end before the consumer's own begin; then it is asked for these."""
    book, request = started(stage), asked(("orders", [(4, 2)]))
    for log in (b"", LOG[: len(LOG) // 3]):
        shown = told(("orders", {4: own(log, 2, 2) if log else b""}))
        book = book >> client_sends(request, VERSION) << to_broker(asked((ORDERS, [(0, 0)])))
        book = book >> broker_answers(told((ORDERS, {0: log}))) << to_client(shown)

    assert book >> client_sends(request, VERSION) << to_broker(asked((ORDERS, [(0, 2)])))
