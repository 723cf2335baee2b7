"""Which listener sets have a port for every broker; what clusters answer is in tests/kafka."""

from typing import Any

import pytest

from bifrost.config.model import Config
from bifrost.gateway.brokers.cluster_check import Kind, uncovered

PORTS = {"advertised_host": "gw", "bootstrap_port": 9092, "broker_port_range": {"start": 9093, "end": 9095}}


AUTH = {"principals": ["acme"]}
PLAIN = {"security_protocol": "PLAINTEXT", "tenant": "acme"}
ONE_PORT = {"advertised_host": "gw", "bootstrap_port": 9092}


def config(ports: dict[str, Any], listener: dict[str, Any] = PLAIN) -> Config:
    """A tenant on a cluster of its own, and another one."""
    listener_set = {"name": "near", "port_range": ports} | listener
    clusters = [{"name": name, "bootstrap": [f"{name}:9092"]} for name in ("one", "other")]
    acme = {"name": "acme", "upstream": "one", "auth": AUTH}
    globex = {"name": "globex", "upstream": "other", "auth": {"principals": ["globex"]}}
    proxy = {"listener_sets": [listener_set]}
    return Config.model_validate({"proxy": proxy, "upstreams": clusters, "tenants": [acme, globex]})


def texts(config: Config, known: dict[str, list[int]]) -> list[str]:
    found = list(uncovered(config, known))
    assert all(one.kind is Kind.ERROR for one in found)
    return [one.text for one in found]


@pytest.mark.parametrize(
    ("ports", "known"),
    [
        (PORTS, [0, 1, 2]),
        (PORTS | {"broker_id_base": 5}, [5, 7]),
        (ONE_PORT, [9]),
        (PORTS, []),
    ],
)
def test_ports_for_all_brokers_are_no_finding(ports: dict[str, Any], known: list[int]) -> None:
    assert texts(config(ports), {"one": known, "other": [100]} if known else {}) == []


def test_a_base_that_covers_no_broker_is_told_with_the_node_ids() -> None:
    [text] = texts(config(PORTS | {"broker_id_base": 7}), {"one": [1, 2]})

    assert text == (
        "listener set near: no broker has a port: the ports are for node IDs 7 to 9, and there are 1, 2: "
        "mend broker_id_base"
    )


def test_brokers_beyond_the_range_are_told() -> None:
    [text] = texts(config(PORTS), {"one": [1, 2, 3, 4]})

    assert "no port for node IDs 3, 4: the ports are for node IDs 0 to 2: widen broker_port_range" in text


def test_a_single_port_is_enough_for_one_broker_alone() -> None:
    [text] = texts(config(ONE_PORT), {"one": [1, 2]})

    assert "bootstrap_port 9092 stands for one broker, and there are 2" in text


def test_a_listener_set_for_all_tenants_needs_ports_for_the_brokers_of_all_clusters() -> None:
    [text] = texts(config(PORTS, {}), {"one": [0, 1], "other": [2, 8]})

    assert "no port for node IDs 8" in text
