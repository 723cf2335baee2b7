from typing import Any

import pytest

from bifrost.config.checks.clashes import find_clashes
from bifrost.config.checks.port_clashes import MAX_LISTENER_SETS


def sets(*ports: dict[str, Any]) -> dict[str, Any]:
    return {"proxy": {"listener_sets": [{"port_range": one} for one in ports]}}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("0.0.0.0", "127.0.0.1", True),
        ("0.0.0.0", "gateway", True),
        ("::", "gateway", True),
        ("::", "::1", True),
        ("::", "0.0.0.0", False),
        ("::", "127.0.0.1", False),
        ("0.0.0.0", "::1", False),
        ("127.0.0.1", "localhost", True),
        ("GATEWAY", "gateway", True),
        ("10.0.0.1", "10.0.0.2", False),
    ],
)
def test_ports_meet_where_binding_both_would_fail(one: str, other: str, expected: bool) -> None:
    for hosts in ((one, other), (other, one)):
        found = find_clashes(sets(*({"bind_host": host, "bootstrap_port": 9092} for host in hosts)))
        assert bool(found) == expected


def test_ranges_that_touch_do_not_clash_and_ranges_that_share_do() -> None:
    def two(start: int) -> dict[str, Any]:
        return sets(
            {"broker_port_range": {"start": 1, "end": 10}}, {"broker_port_range": {"start": start, "end": 20}}
        )

    assert find_clashes(two(11)) == []
    [clash] = find_clashes(two(8))
    assert (
        clash.text
        == "ports 8 to 10 are taken twice, by broker_port_range and by broker_port_range: move one of them, "
        "or set single_address: true, which needs no broker_port_range"
    )


def test_a_single_address_is_the_way_out_only_between_listener_sets_and_for_ports_of_brokers() -> None:
    brokers = {"broker_port_range": {"start": 9093, "end": 9095}}
    own = sets({"bootstrap_port": 9094} | brokers)
    of_admin = sets(brokers)
    of_admin["proxy"]["admin"] = {"port": 9094}
    bootstraps = sets({"bootstrap_port": 9094}, {"bootstrap_port": 9094})

    for tree, is_named in (
        (own, False),
        (of_admin, False),
        (bootstraps, False),
        (sets({"bootstrap_port": 9094}, brokers), True),
    ):
        [clash] = find_clashes(tree)
        assert ("single_address" in clash.text) == is_named


def test_a_reversed_range_takes_no_ports() -> None:
    [clash] = find_clashes(sets({"bootstrap_port": 5, "broker_port_range": {"start": 9, "end": 1}}))

    assert clash.loc == ("proxy", "listener_sets", 0, "port_range", "broker_port_range", "start")


def test_each_port_is_reported_once_with_the_first_that_it_meets() -> None:
    hosts = ("10.0.0.1", "10.0.0.2", "10.0.0.1", "0.0.0.0", "10.0.0.2")
    found = find_clashes(sets(*({"bind_host": host, "bootstrap_port": 9092} for host in hosts)))

    assert [(clash.loc[2], clash.first and clash.first[2]) for clash in found] == [(2, 0), (3, 0), (4, 1)]


def test_the_ports_of_a_thousand_listener_sets_are_compared() -> None:
    def many(last: int) -> dict[str, Any]:
        ports = [
            {"bootstrap_port": port, "broker_port_range": {"start": port + 1, "end": port + 3}}
            for port in range(2000, 2000 + 4 * MAX_LISTENER_SETS, 4)
        ]
        ports[-1]["bootstrap_port"] = last
        return sets(*ports)

    assert find_clashes(many(1999)) == []
    [clash] = find_clashes(many(2002))
    assert (clash.loc[2], clash.first and clash.first[2]) == (MAX_LISTENER_SETS - 1, 0)
