import pytest

from bifrost.tenancy.brokers import BrokerPorts

PORTS = BrokerPorts(advertised_host="proxy.example.com", start=9093, end=9095, broker_id_base=1)


@pytest.mark.parametrize(
    ("node_id", "port"),
    [(0, None), (1, 9093), (2, 9094), (3, 9095), (4, None), (-1, None), (2**31 - 1, None)],
)
def test_a_broker_has_the_port_that_its_node_id_says(node_id: int, port: int | None) -> None:
    assert PORTS.port_of(node_id) == port


def test_a_port_stands_for_the_broker_that_has_it() -> None:
    assert [PORTS.node_of(port) for port in range(9093, 9096)] == [1, 2, 3]
    assert [PORTS.port_of(PORTS.node_of(port)) for port in range(9093, 9096)] == [9093, 9094, 9095]


@pytest.mark.parametrize("port", [9092, 9096])
def test_a_port_outside_the_range_stands_for_no_broker(port: int) -> None:
    with pytest.raises(AssertionError):
        PORTS.node_of(port)


def test_a_range_of_one_port_has_one_broker() -> None:
    ports = BrokerPorts("h", start=9093, end=9093, broker_id_base=100)

    assert [ports.port_of(node_id) for node_id in (99, 100, 101)] == [None, 9093, None]
