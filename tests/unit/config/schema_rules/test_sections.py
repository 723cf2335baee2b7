"""What keys of a section demand of each other, one by one."""

from typing import Any

import pytest

from bifrost.config.schema_rules.keys import KEYS
from bifrost.config.schema_rules.sections import SECTIONS

from .both import DEFINITIONS, validator

PORTS = {"advertised_host": "gw", "bootstrap_port": 1, "broker_port_range": {"start": 2, "end": 3}}
TLS = {"certificate_file": "a", "key_file": "b"}
SET = {"name": "a", "port_range": PORTS}
SNI = {"port": 1, "bootstrap_host": "{tenant}.k", "broker_host": "b{node_id}-{tenant}.k"}
LISTED = SNI | {"tenants": ["t", "u"]}
PLAIN = {"security_protocol": "PLAINTEXT", "tenant": "t"}
ENDPOINT = {"token_endpoint_url": "https://a/b", "client_id": "c", "client_secret_file": "d"}
PASSWORD = {"username": "u", "password_file": "f"}
CLUSTER = {"bootstrap": ["a:1"]}
SASL = {"security_protocol": "SASL_PLAINTEXT", "sasl": PASSWORD}
OAUTH = {"issuer": "https://a", "audience": ["kafka"]}


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ListenerSet", SET, True),
        ("ListenerSet", {"name": "a"}, False),
        ("ListenerSet", SET | {"sni": SNI}, False),
        ("ListenerSet", {"name": "a", "sni": SNI}, False),
        ("ListenerSet", {"name": "a", "sni": SNI, "security_protocol": "SASL_SSL", "tls": TLS}, True),
        ("ListenerSet", SET | PLAIN, True),
        ("ListenerSet", SET | {"security_protocol": "PLAINTEXT"}, False),
        ("ListenerSet", SET | PLAIN | {"sasl_mechanisms": ["PLAIN"]}, False),
        ("ListenerSet", SET | PLAIN | {"tls": TLS}, False),
        ("ListenerSet", SET | {"tls": TLS}, False),
        ("ListenerSet", SET | {"security_protocol": "SASL_SSL"}, False),
        ("ListenerSet", SET | {"security_protocol": "SSL", "tls": TLS}, False),
        ("ListenerSet", SET | {"security_protocol": "SSL", "tls": TLS, "tenant": "t"}, True),
        ("PortRange", {"advertised_host": "gw", "bootstrap_port": 1}, True),
        ("PortRange", {"advertised_host": "gw", "bootstrap_port": 1, "broker_id_base": 1}, False),
        ("PortRange", PORTS | {"advertised_host": "0.0.0.0"}, False),
        ("PortRange", PORTS | {"advertised_host": "::1", "bind_host": "::"}, True),
        ("ListenerSet", {"name": "a", "sni": LISTED, "security_protocol": "SASL_SSL", "tls": TLS}, True),
        (
            "ListenerSet",
            {"name": "a", "sni": LISTED, "security_protocol": "SSL", "tls": TLS, "tenant": "t"},
            False,
        ),
        ("Sni", LISTED | {"tenants": []}, False),
        ("Sni", LISTED | {"tenants": ["t", "t"]}, False),
        ("Sni", LISTED | {"tenants": ["t t"]}, False),
        ("Sni", LISTED | {"bootstrap_host": "k", "broker_host": "b{node_id}.k"}, False),
        ("Sni", SNI | {"broker_host": "b{node_id}.k"}, False),
        ("Sni", SNI | {"broker_host": "b{tenant}.k"}, False),
        ("ServerTls", TLS | {"client_auth": "required"}, False),
        ("ServerTls", TLS | {"client_ca_file": "c"}, False),
        ("ServerTls", TLS | {"client_auth": "required", "client_ca_file": "c"}, True),
        ("ClientTls", {"certificate_file": "a"}, False),
        ("ClientTls", {"key_password_file": "a"}, False),
        ("Upstream", CLUSTER | SASL, True),
        ("Upstream", CLUSTER | {"sasl": PASSWORD}, False),
        ("Upstream", CLUSTER | {"security_protocol": "SASL_SSL"}, False),
        ("Upstream", CLUSTER | {"tls": {}}, False),
        ("Upstream", CLUSTER | {"security_protocol": "SSL", "tls": {}}, True),
        ("UpstreamSasl", PASSWORD, True),
        ("UpstreamSasl", {}, False),
        ("UpstreamSasl", {"username": "u"}, False),
        ("UpstreamSasl", {"mechanism": "PLAIN"}, False),
        ("UpstreamSasl", PASSWORD | {"mechanism": "PLAIN", "header_urlencode": False}, True),
        ("UpstreamSasl", PASSWORD | {"mechanism": "PLAIN", "client_id": "c"}, False),
        ("UpstreamSasl", ENDPOINT | {"mechanism": "OAUTHBEARER"}, True),
        ("UpstreamSasl", ENDPOINT | {"mechanism": "OAUTHBEARER", "token_file": "t"}, False),
        ("UpstreamSasl", {"mechanism": "OAUTHBEARER", "client_id": "c"}, False),
        ("UpstreamSasl", {"mechanism": "OAUTHBEARER", "token_file": "t"}, True),
        ("UpstreamSasl", {"mechanism": "GSSAPI", "keytab_file": "k"}, False),
        ("Credential", {"username": "u"}, False),
        ("Credential", {"username": "u", "password_file": "a", "scram_file": "b"}, False),
        ("Prefixes", {}, False),
        ("Prefixes", {"group": "g-"}, True),
        ("OAuth", OAUTH, True),
        ("OAuth", OAUTH | {"audience": []}, False),
        ("OAuth", OAUTH | {"any_audience": True}, False),
        ("OAuth", OAUTH | {"jwks_url": "https://a", "jwks_file": "b"}, False),
        ("OAuth", OAUTH | {"issuer": "me"}, False),
        ("OAuth", OAUTH | {"issuer": "me", "jwks_file": "b"}, True),
        ("ConfigRule", {"name": "a"}, False),
        ("ConfigRule", {"name": "a", "allowed": False, "max": 1}, False),
        ("ConfigRule", {"name": "a", "max": "4h"}, True),
        ("ConfigRule", {"name": "a", "max": "4x"}, False),
        ("Tenant", {"name": "a", "allowed_topics": ["x", "x"]}, False),
        ("Tenant", {"name": "a", "allowed_topics": [".."]}, False),
        ("Auth", {"principals": ["CN=x", " y"]}, False),
    ],
)
def test_keys_that_exclude_or_need_each_other_are_told(name: str, value: object, expected: bool) -> None:
    assert validator(name).is_valid(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [({"upstream": CLUSTER}, True), ({"upstreams": [CLUSTER]}, True), ({}, False)],
)
def test_there_is_one_list_of_clusters(value: dict[str, Any], expected: bool) -> None:
    whole = {"proxy": {"listener_sets": [SET | PLAIN]}, "tenants": [{"name": "t"}], **value}

    assert validator("Config").is_valid(whole) == expected
    assert not validator("Config").is_valid(whole | {"upstream": CLUSTER, "upstreams": [CLUSTER]})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (PASSWORD, False),
        ({"username": "u", "passwordFile": "f"}, True),
        ({"mechanism": "PLAIN", "username": "u", "passwordFile": "f", "clientId": "c"}, False),
        ({"mechanism": "GSSAPI", "keytabFile": "k"}, False),
    ],
)
def test_the_rules_hold_in_the_other_dialect(value: object, expected: bool) -> None:
    assert validator("UpstreamSaslInDocuments").is_valid(value) == expected


def test_every_rule_is_of_a_section_that_there_is() -> None:
    assert SECTIONS.keys() <= DEFINITIONS.keys()
    for section, key in KEYS:
        assert key in DEFINITIONS[section]["properties"]
