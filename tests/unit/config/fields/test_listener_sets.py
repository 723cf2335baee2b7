import pytest

from bifrost.config.fields.listener_sets import PortRange


@pytest.mark.parametrize(
    ("broker_id", "port"), [(4, None), (5, 100), (7, 102), (8, None), (-1, None), (2**31, None)]
)
def test_a_brokers_port_is_counted_from_the_base(broker_id: int, port: int | None) -> None:
    ports = PortRange(
        advertised_host="gw",
        bootstrap_port=9092,
        broker_port_range={"start": 100, "end": 102},
        broker_id_base=5,
    )

    assert ports.broker_port(broker_id) == port
    assert (broker_id in ports.broker_ids()) == (port is not None)
