"""The schema is as strict as the loader: it refuses what the loader refuses, except for what no schema can say."""

import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from pydantic import ValidationError

from bifrost.config.json_schema import configuration_schema
from bifrost.config.loc import Loc
from bifrost.config.model import Config
from bifrost.config.schema_rules import SECTIONS

from .test_wrong_values import places, put, wrong_for

EXAMPLE = Path(__file__).parents[3] / "examples/every-setting.yaml"
SCHEMA = configuration_schema()

NO_SCHEMA_CAN_SAY: dict[Loc, str] = {
    ("proxy", "listener_sets", 1, "tenant"): "the tenant of this name is elsewhere",
    ("proxy", "listener_sets", 3, "sni", "tenants"): "the tenants of these names are elsewhere",
    ("proxy", "listener_sets", 3, "sni", "tenants", 0): "the tenant of this name is elsewhere",
    ("proxy", "journal"): "the journal has to name an upstream only where there are several",
    ("proxy", "journal", "upstream"): "the upstream of this name is elsewhere",
    ("proxy", "quota_exchange"): "as the journal",
    ("proxy", "quota_exchange", "upstream"): "as the journal's",
    ("proxy", "state"): "as the journal",
    ("proxy", "state", "upstream"): "as the journal's",
    ("upstreams", 0, "name"): "tenants elsewhere name it",
    ("tenants", 0, "name"): "a listener set elsewhere names it",
    ("tenants", 1, "name"): "a listener set elsewhere names it",
    ("tenants", 0, "upstream"): "the upstream of this name is elsewhere",
    ("tenants", 1, "upstream"): "the upstream of this name is elsewhere",
    ("tenants", 0, "namespace_policies", 1): "an empty one is a second one of the tenant as a whole",
    ("tenants", 0, "filters", 5, "config", "quarantine_topic"): "it has to be in the tenant's allowed_topics",
    (
        "tenants",
        0,
        "filters",
        6,
        "rules",
        0,
    ): "without topics it is for those of other filters that encrypt, too",
    ("tenants", 0, "filters", 7, "rules", 0): "likewise",
    ("tenants", 0, "filters", 8, "rules", 0): "likewise",
    ("tenants", 0, "filters", 6, "rules"): "without rules it is for the topics of filters behind it, too",
    ("tenants", 0, "filters", 7, "rules"): "likewise",
    ("tenants", 0, "filters", 8, "rules"): "likewise",
    ("tenants", 0, "acls", "rules", 2, "name"): "it depends on resource_type",
    ("proxy", "policy", "topic_configs", 0, "min"): "it is compared with max",
    ("proxy", "policy", "topic_configs", 0, "max"): "it is compared with min",
}
"""Places where the loader refuses a value because of another one, with the reason why a schema does not."""


def piece(loc: Loc) -> tuple[Loc, str]:
    """The part of the file to validate when the value at `loc` has changed, and its schema: the whole takes longer."""
    lists = {("proxy", "listener_sets"): "ListenerSet", ("upstreams",): "Upstream", ("tenants",): "Tenant"}
    for at, name in lists.items():
        if loc[: len(at)] == at and len(loc) > len(at) + 1:
            return loc[: len(at) + 1], f"#/$defs/{name}"
    if loc[0] == "proxy" and len(loc) > 2:
        return loc[:2], f"#/$defs/Proxy/properties/{loc[1]}"
    return (), "#/$defs/Config"


VALIDATORS: dict[str, jsonschema.Draft202012Validator] = {}


def is_valid(data: Any, loc: Loc) -> bool:
    at, reference = piece(loc)
    for step in at:
        data = data[step]
    if reference not in VALIDATORS:
        schema = {"$ref": reference, "$defs": SCHEMA["$defs"]}
        VALIDATORS[reference] = jsonschema.Draft202012Validator(schema)
    return VALIDATORS[reference].is_valid(data)


def loads(data: Any) -> bool:
    try:
        Config.model_validate(data)
    except ValidationError:
        return False
    return True


@pytest.mark.timeout(300)
def test_every_wrong_value_is_refused_by_both_or_by_neither() -> None:
    data = yaml.safe_load(EXAMPLE.read_text())
    too_lax: set[Loc] = set()
    for loc in places(data):
        for wrong in wrong_for(loc):
            if isinstance(wrong, float) and not math.isfinite(wrong):
                continue  # JSON has no such number
            changed = put(data, loc, wrong)
            is_loaded, is_accepted = loads(changed), is_valid(changed, loc)
            assert is_accepted or not is_loaded, f"the schema refuses {wrong!r} at {loc}, the loader does not"
            if is_accepted and not is_loaded:
                too_lax.add(loc)

    assert too_lax - NO_SCHEMA_CAN_SAY.keys() == set()


def section(name: str) -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": SCHEMA["$defs"]})


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
    assert section(name).is_valid(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [({"upstream": CLUSTER}, True), ({"upstreams": [CLUSTER]}, True), ({}, False)],
)
def test_there_is_one_list_of_clusters(value: dict[str, Any], expected: bool) -> None:
    whole = {"proxy": {"listener_sets": [SET | PLAIN]}, "tenants": [{"name": "t"}], **value}

    assert section("Config").is_valid(whole) == expected
    assert not section("Config").is_valid(whole | {"upstream": CLUSTER, "upstreams": [CLUSTER]})


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
    assert section("UpstreamSaslInDocuments").is_valid(value) == expected


def test_every_rule_is_of_a_section_that_there_is() -> None:
    assert SECTIONS.keys() <= SCHEMA["$defs"].keys()
