from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.fields.listener_sets import ListenerSet, PortRange


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

    assert ports.broker_ports({broker_id}) == ({} if port is None else {broker_id: port})


PORT_RANGE = {"advertised_host": "gw", "bootstrap_port": 99, "broker_port_range": {"start": 100, "end": 102}}


@pytest.mark.parametrize("mechanisms", [None, ["SCRAM-SHA-256"], ["PLAIN", "SCRAM-SHA-512"]])
def test_a_repeated_scram_nonce_can_be_allowed_where_scram_is_offered(mechanisms: list[str] | None) -> None:
    found = ListenerSet(
        name="old",
        port_range=PORT_RANGE,
        sasl_mechanisms=mechanisms,
        allow_repeated_scram_nonce=True,
    )

    assert found.allow_repeated_scram_nonce


@pytest.mark.parametrize(
    "section",
    [
        {"sasl_mechanisms": ["PLAIN", "OAUTHBEARER"]},
        {"security_protocol": "PLAINTEXT", "tenant": "acme"},
    ],
)
def test_a_repeated_scram_nonce_is_not_allowed_where_scram_is_not_offered(section: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="allow_repeated_scram_nonce is for SCRAM"):
        ListenerSet(name="old", port_range=PORT_RANGE, allow_repeated_scram_nonce=True, **section)


def test_without_a_range_the_bootstrap_port_is_that_of_the_only_broker() -> None:
    ports = PortRange(advertised_host="gw", bootstrap_port=9092)

    assert ports.broker_ports({7}) == {7: 9092}
    assert ports.broker_ports({9, 8}) == {8: 9092}
    assert ports.broker_ports(()) == {}
    with pytest.raises(ValueError, match="broker_id_base is of no use without broker_port_range"):
        PortRange(advertised_host="gw", bootstrap_port=9092, broker_id_base=1)


def test_only_a_single_address_tells_a_port_of_its_own() -> None:
    ports = {"advertised_host": "a.example.com", "bootstrap_port": 9092, "advertised_port": 19092}
    found = ListenerSet.model_validate({"name": "a", "port_range": ports, "single_address": True})

    assert found.port_range is not None
    assert found.port_range.advertised_port == 19092
    with pytest.raises(ValidationError, match="advertised_port is for single_address"):
        ListenerSet.model_validate({"name": "a", "port_range": ports})
