from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.fields.listener_sets import ListenerSet
from bifrost.config.fields.server_names import Wanted
from bifrost.config.fields.sni import Sni

HOSTS = {
    "bootstrap_host": "{tenant}.kafka.example.com",
    "broker_host": "b{node_id}-{tenant}.kafka.example.com",
}
TLS = {"certificate_file": "c", "key_file": "k"}
PORTS = {
    "advertised_host": "gw",
    "bootstrap_port": 1,
    "broker_port_range": {"start": 2, "end": 3},
    "broker_id_base": 0,
}


def section(**keys: Any) -> Sni:
    return Sni.model_validate({"port": 9093} | HOSTS | keys)


def listener_set(**keys: Any) -> ListenerSet:
    return ListenerSet.model_validate({"name": "one-port"} | keys)


def test_patterns_become_host_names_and_back() -> None:
    names = section().names

    assert names.address_of(3, "acme") == ("b3-acme.kafka.example.com", 9093)
    assert names.wanted("b3-acme.kafka.example.com") == Wanted(3, "acme")


def test_a_load_balancer_may_have_another_port() -> None:
    assert section(advertised_port=443).names.address_of(3, "acme") == ("b3-acme.kafka.example.com", 443)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"broker_host": "b-{tenant}.example.com"}, "broker_host has no {node_id}"),
        ({"bootstrap_host": "{tenant}-{node_id}.example.com"}, "bootstrap_host has {node_id}"),
        ({"bootstrap_host": "kafka.example.com"}, "both need it, or neither"),
        ({"broker_host": "b{node_id}.example.com"}, "both need it, or neither"),
        ({"bootstrap_host": "{tenant}{tenant}.example.com"}, "is no host name"),
        ({"bootstrap_host": "{user}.example.com"}, "is no host name"),
        ({"bootstrap_host": "{tenant}.example.com."}, "is no host name"),
        ({"bootstrap_host": "{tenant}..com"}, "is no host name"),
        ({"bootstrap_host": "-{tenant}.example.com"}, "is no host name"),
        ({"bootstrap_host": "*.example.com"}, "is no host name"),
        (
            {"bootstrap_host": "k.example.com", "broker_host": "b{node_id}.example.com", "tenants": ["acme"]},
            "tenants is of no use without {tenant} in bootstrap_host and broker_host",
        ),
        ({"tenants": []}, "at least 1 item"),
    ],
)
def test_patterns_that_cannot_say_a_broker_are_refused(keys: dict[str, str], expected: str) -> None:
    with pytest.raises(ValidationError) as refused:
        section(**keys)

    assert expected in str(refused.value)


def test_patterns_without_a_tenant_are_for_all() -> None:
    one = section(bootstrap_host="kafka.example.com", broker_host="b{node_id}.kafka.example.com")

    assert one.names.wanted("kafka.example.com") == Wanted(None, None)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({}, "has no addresses"),
        ({"port_range": PORTS, "sni": {"port": 9093} | HOSTS, "tls": TLS}, "has both port_range and sni"),
        ({"sni": {"port": 9093} | HOSTS}, "sni needs TLS"),
        (
            {"sni": {"port": 9093, "tenants": ["acme"]} | HOSTS, "tls": TLS, "tenant": "acme"},
            "has both tenant and sni.tenants",
        ),
    ],
)
def test_a_listener_set_has_ports_or_host_names(keys: dict[str, Any], expected: str) -> None:
    with pytest.raises(ValidationError, match=expected):
        listener_set(**keys)


def test_a_listener_set_with_host_names_has_tls() -> None:
    one = listener_set(sni={"port": 9093} | HOSTS, security_protocol="SASL_SSL", tls=TLS)

    assert one.port_range is None
    assert one.sni is not None
