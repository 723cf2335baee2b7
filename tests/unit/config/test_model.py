from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.model import Config, Limits, PortRange
from bifrost.config.secrets import Secret


def settings(**tenant: Any) -> dict[str, Any]:
    user = {"username": "acme", "password_file": "x", "password": Secret(b"x")}
    ports = {
        "advertised_host": "gw",
        "bootstrap_port": 9092,
        "broker_port_range": {"start": 9093, "end": 9095},
    }
    return {
        "proxy": {"listener_sets": [{"name": "plain", "port_range": ports}]},
        "upstream": {"bootstrap": ["kafka:9092"]},
        "tenants": [{"name": "acme", "auth": {"credentials": [user]}, **tenant}],
    }


def test_a_configuration_built_in_python_has_the_defaults() -> None:
    config = Config.model_validate(settings())

    ports = config.proxy.listener_sets[0].port_range
    assert (ports.bind_host, ports.broker_id_base) == ("0.0.0.0", 0)
    assert config.proxy.limits == Limits()
    assert config.tenants[0].allowed_topics is None
    assert not config.tenants[0].allow_topic_deletion


def test_it_does_not_change() -> None:
    config = Config.model_validate(settings())

    with pytest.raises(ValidationError, match="frozen"):
        config.proxy.limits.max_connections = 5  # type: ignore[misc]
    assert hash(config) == hash(Config.model_validate(settings()))


def test_what_clashes_cannot_be_built_either() -> None:
    with pytest.raises(ValidationError, match="topic orders is given twice"):
        Config.model_validate(settings(allowed_topics=["orders", "orders"]))


def test_an_error_does_not_repeat_what_was_given() -> None:
    with pytest.raises(ValidationError) as caught:
        Config.model_validate(settings(hunter=["hunter2"]))

    assert "hunter2" not in str(caught.value)


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


def test_every_limit_has_bounds_and_a_default_within_them() -> None:
    for name, field in Limits.model_fields.items():
        bounds = {
            type(bound).__name__: getattr(bound, type(bound).__name__.lower())
            for bound in field.metadata
            if type(bound).__name__ in ("Ge", "Le")
        }
        assert bounds["Ge"] <= field.default <= bounds["Le"], name
        for beyond in (bounds["Ge"] - 1, bounds["Le"] + 1):
            with pytest.raises(ValidationError, match=name):
                Limits.model_validate({name: beyond})
