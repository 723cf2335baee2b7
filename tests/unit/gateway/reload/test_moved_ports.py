from typing import Any

import pytest

from bifrost.config.model import Config
from bifrost.gateway.errors import StartError
from bifrost.gateway.reload.moved_ports import check_ports


def config(**starts: int) -> Config:
    """Tenants, each with a port of its own and three ports for brokers after it."""
    sets: list[dict[str, Any]] = [
        {
            "name": name,
            "tenant": name,
            "security_protocol": "PLAINTEXT",
            "port_range": {
                "advertised_host": "gw",
                "bootstrap_port": port,
                "broker_port_range": {"start": port + 1, "end": port + 3},
            },
        }
        for name, port in starts.items()
    ]
    return Config.model_validate(
        {
            "proxy": {"listener_sets": sets},
            "upstream": {"bootstrap": ["kafka:9092"]},
            "tenants": [{"name": name} for name in starts],
        }
    )


@pytest.mark.parametrize("port", [9094, 9096, 9097])
def test_a_port_that_a_tenants_clients_know_is_not_given_to_another(port: int) -> None:
    with pytest.raises(StartError, match=f"port {port} stands for a broker of acme"):
        check_ports({port: ["acme"], 9001: ["acme"]}, config(acme=9000, globex=9094))


@pytest.mark.parametrize("port", [9001, 9093, 9098])
def test_a_port_that_stays_or_is_no_one_elses_is_accepted(port: int) -> None:
    check_ports({port: ["acme"]}, config(acme=9000, globex=9094))


def test_the_port_of_a_tenant_that_is_gone_is_free() -> None:
    check_ports({9095: ["initech"]}, config(acme=9000, globex=9094))


def test_the_one_port_of_several_tenants_is_not_given_to_one_of_them() -> None:
    with pytest.raises(StartError, match="port 9095 stands for a broker of acme"):
        check_ports({9095: ["globex", "acme", "initech"]}, config(acme=9000, globex=9094))

    check_ports({9095: ["globex", "initech"]}, config(acme=9000, globex=9094))
