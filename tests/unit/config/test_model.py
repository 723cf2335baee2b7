from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.fields.limits import Limits
from bifrost.config.model import Config
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
