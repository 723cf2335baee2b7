"""What a process that is alone has in common with others."""

from typing import Any

from bifrost.gateway.peers.alone_peers import AlonePeers


def test_nothing_is_shared() -> None:
    one, other = AlonePeers(), AlonePeers()

    assert one.is_alone
    assert one.workers == 1
    assert one.key != other.key
    assert (one.failures, one.elsewhere, one.again) == (None, None, None)


def test_everything_is_counted_here() -> None:
    peers = AlonePeers()
    of_all = peers.new_load(None, None)

    counter = peers.counter("ends")
    counter["idle"] += 2
    peers.note_open(7)

    assert counter == {"idle": 2}
    assert peers.new_traffic("acme", 1).requests == 0
    assert peers.new_load("acme", of_all).has_room
    assert peers.fetch_sessions("upstream") is not peers.fetch_sessions("upstream")


def test_that_clients_are_served_is_logged(logged: list[dict[str, Any]]) -> None:
    AlonePeers().tell_ready([1, 2], 3)

    assert [(one["event"], one["brokers"], one["tenants"]) for one in logged] == [("ready", [1, 2], 3)]


def test_budgets_are_alone_until_other_gateways_have_them_as_well() -> None:
    peers = AlonePeers()

    assert peers.budget_memory("acme") is None
    table = peers.share_budgets()

    assert peers.budget_memory("acme") is not None
    assert len(table) == 1
    assert table.is_exchanged
    assert peers.takes_part()
