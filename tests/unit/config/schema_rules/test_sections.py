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
ONE_PORT = {"advertised_host": "gw", "bootstrap_port": 1}
ADMIN = {"name": "a", "token_file": "t"}
CONTROL = {"port": 1, "admins": [ADMIN]}
MAPPED = TLS | {"client_auth": "required", "client_ca_file": "c"}
KERBEROS = {"keytab_file": "k", "realm": "EXAMPLE.COM"}
RETENTION = {"name": "retention.ms", "max": 1}
VAULT = {"kms_provider": "Vault", "key_id": "k"}
SEALING = {"name": "EnvelopeEncryption", "config": VAULT}
ON_A = {"rules": [{"topics": ["a"]}]}
ON_B = {"label": "b", "rules": [{"topics": ["b"]}]}
REGISTRY = {"registry_url": "https://a"}
LOGIN = {"registry_username": "u", "registry_password_file": "p"}
VALIDATOR = {"name": "SchemaValidator", "config": REGISTRY}
DOTTED = {"name": "a", "namespace_encoding": "dotted"}
BROKER_ACLS = {"name": "a", "acls": {"mode": "broker"}}
USER = {"username": "u", "password_file": "f"}
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
        ("ControlAdmin", {"name": "a"}, False),
        ("ControlAdmin", ADMIN | {"certificate_principal": "CN=a"}, True),
        ("ControlAdmin", ADMIN | {"token_sha256": "0" * 64}, False),
        ("Control", CONTROL, True),
        ("Control", CONTROL | {"bind_host": "0.0.0.0"}, False),
        ("Control", CONTROL | {"bind_host": "0.0.0.0", "tls": TLS}, True),
        ("Control", CONTROL | {"bind_host": "::1"}, True),
        ("Control", CONTROL | {"admins": [{"name": "a", "certificate_principal": "CN=a"}]}, False),
        ("Control", CONTROL | {"tls": TLS, "admins": [{"name": "a", "certificate_principal": "b"}]}, False),
        ("Control", CONTROL | {"admins": [ADMIN, ADMIN]}, False),
        ("Proxy", {"listener_sets": [SET], "control": CONTROL}, False),
        ("Proxy", {"listener_sets": [SET], "control": CONTROL, "state": {}}, True),
        ("ListenerSet", {"name": "a", "port_range": ONE_PORT | {"advertised_port": 9}}, False),
        (
            "ListenerSet",
            {"name": "a", "single_address": True, "port_range": ONE_PORT | {"advertised_port": 9}},
            True,
        ),
        ("ListenerSet", SET | {"allow_repeated_scram_nonce": True}, True),
        ("ListenerSet", SET | {"allow_repeated_scram_nonce": True, "sasl_mechanisms": ["PLAIN"]}, False),
        ("ListenerSet", SET | PLAIN | {"allow_repeated_scram_nonce": True}, False),
        ("ListenerSet", SET | PLAIN | {"allow_repeated_scram_nonce": False}, True),
        ("PortRange", PORTS | {"bind_host": "10.0.0"}, False),
        ("PortRange", PORTS | {"bind_host": "10.0.0.256"}, False),
        ("PortRange", PORTS | {"bind_host": "a:1"}, False),
        ("PortRange", PORTS | {"bind_host": "fe80::1%eth0"}, True),
        ("Sni", SNI | {"bootstrap_host": "{tenant}.k."}, False),
        ("Sni", SNI | {"bootstrap_host": "{tenant}.{tenant}.k"}, False),
        ("Kerberos", KERBEROS | {"principal_to_local_rules": ["DEFAULTx"]}, False),
        ("Kerberos", KERBEROS | {"principal_to_local_rules": ["RULE:[1:$1](a)s/a/b/g/L", "DEFAULT"]}, True),
        ("ServerTls", MAPPED | {"principal_mapping_rules": r"RULE:a\/b/c/L , DEFAULT"}, True),
        ("ServerTls", MAPPED | {"principal_mapping_rules": "RULE:a/b/L,DEFAULTx"}, False),
        ("UpstreamSasl", {"token_file": "t", "header_urlencode": True}, False),
        ("UpstreamSasl", {"token_file": "t", "header_urlencode": False}, True),
        ("State", {"partitions": 2}, False),
        ("QuotaExchange", {"partitions": 2}, False),
        ("VirtualPartitions", {"topics": ["a"], "ratio": 2}, True),
        ("VirtualPartitions", {"topics": ["a"], "ratio": 2, "physical": 2}, False),
        ("VirtualPartitions", {"topics": ["a"], "virtual": 2}, False),
        ("VirtualPartitions", {"topics": ["a"], "ratio": 1, "compacted": True}, False),
        ("Acls", {"mode": "broker", "max_stored": 1}, True),
        ("Acls", {"mode": "broker", "rules": []}, False),
        ("Policy", {"topic_configs": [RETENTION, RETENTION | {"max": 2}]}, False),
        ("PolicyOfNamespace", {"topic_configs": [RETENTION, RETENTION | {"max": 2}]}, False),
        ("RecordFilter", SEALING, True),
        ("RecordFilter", SEALING | {"config": VAULT | {"key_file": "k"}}, False),
        ("RecordFilter", SEALING | {"config": VAULT | {"kms_provider": "KeyFile"}}, False),
        ("RecordFilter", SEALING | {"rules": [{"principals": ["User:a"]}]}, False),
        ("RecordFilter", SEALING | {"rules": [{"principals": ["User:*"]}]}, True),
        ("RecordFilter", SEALING | {"config": VAULT | {"accept_plaintext_before": "2026-11-01x"}}, False),
        (
            "RecordFilter",
            SEALING | {"config": VAULT | {"accept_plaintext_before": "20261101T08:00+02:00"}},
            True,
        ),
        ("RecordFilter", VALIDATOR, True),
        ("RecordFilter", VALIDATOR | {"config": REGISTRY | {"registry_username": "u"}}, False),
        ("RecordFilter", VALIDATOR | {"config": REGISTRY | LOGIN | {"registry_token_file": "t"}}, False),
        ("RecordFilter", {"name": "ProducePolicy", "config": {"require_key": False}}, False),
        ("Tenant", {"name": "a", "filters": [SEALING, SEALING | {"label": "b"}]}, False),
        ("Tenant", {"name": "a", "filters": [SEALING | ON_A, SEALING | ON_B]}, True),
        ("Tenant", {"name": "a", "filters": [VALIDATOR, VALIDATOR | {"label": "SchemaValidator"}]}, False),
        ("Tenant", {"name": "a", "namespace_policies": [{"max_topics": 1}, {"max_topics": 2}]}, False),
        ("Tenant", DOTTED, True),
        ("Tenant", DOTTED | {"namespaces": ["eu"]}, False),
        ("Tenant", DOTTED | {"allowed_topics": ["eu:a"]}, False),
        ("Tenant", DOTTED | {"namespace_separator": "__"}, False),
        ("Tenant", BROKER_ACLS | {"auth": {"credentials": [USER]}}, False),
        ("Tenant", BROKER_ACLS | {"auth": {"credentials": [USER | {"upstream_sasl": PASSWORD}]}}, True),
        ("Tenant", BROKER_ACLS | {"auth": {"principals": ["p"]}}, False),
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


TWO = [CLUSTER | {"name": "a"}, CLUSTER | {"name": "b"}]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"tenants": [{"name": "t", "upstream": "upstream"}]}, True),
        ({"tenants": [{"name": "t", "upstream": "other"}]}, False),
        ({"tenants": [{"name": "t", "upstream_sasl": PASSWORD}]}, False),
        ({"tenants": [{"name": "t", "auth": {"stored_users": {"name_prefix": "a"}}}]}, False),
        ({"proxy": {"listener_sets": [SET]}}, False),
        (
            {"proxy": {"listener_sets": [SET]}, "tenants": [{"name": "t", "auth": {"principals": ["p"]}}]},
            True,
        ),
        ({"proxy": {"listener_sets": [SET], "oauth": OAUTH | {"namespace_claim": "n"}}}, True),
        ({"proxy": {"listener_sets": [SET | PLAIN], "state": {"upstream": "other"}}}, False),
        ({"upstream": CLUSTER | {"name": "a"}, "tenants": [{"name": "t", "upstream": "a"}]}, True),
        ({"upstreams": TWO}, False),
        ({"upstreams": TWO, "tenants": [{"name": "t", "upstream": "a"}]}, True),
        (
            {
                "upstreams": TWO,
                "tenants": [{"name": "t", "upstream": "a"}],
                "proxy": {"listener_sets": [SET | PLAIN], "journal": {}},
            },
            False,
        ),
    ],
)
def test_sections_far_apart_need_each_other(changed: dict[str, Any], expected: bool) -> None:
    clusters = {} if "upstreams" in changed else {"upstream": CLUSTER}
    whole = {"proxy": {"listener_sets": [SET | PLAIN]}, "tenants": [{"name": "t"}], **clusters}

    assert validator("Config").is_valid(whole | changed) == expected


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
