from typing import Any

import jsonschema
import pytest
import yaml

from bifrost.config.json_schema import configuration_schema
from bifrost.config.kubernetes.sni_listeners import LISTENER_KEYS
from bifrost.config.kubernetes.virtual_clusters import (
    GATEWAY_KEYS,
    METADATA_KEYS,
    PORT_KEYS,
    PREFIX_KEYS,
    SPEC_KEYS,
    TENANT_KEYS,
    TOP_KEYS,
)
from unit.config.virtual_cluster_files import AUTH, FILTERS, GATEWAY, PROD, SNI, other, second

SCHEMA = configuration_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

CERTIFICATES = (
    SNI[: SNI.index("  auth:")]
    .replace("    sni:", "    securityProtocol: SSL\n    sni:")
    .replace("server.key", "server.key\n      clientAuth: required\n      clientCaFile: ca.pem")
    + "  auth: { principals: [CN=a] }\n"
)


def mistakes(text: str) -> list[str]:
    """Where the schema finds something wrong in some document."""
    errors = [error for one in yaml.safe_load_all(text) if one for error in VALIDATOR.iter_errors(one)]
    return sorted({".".join(map(str, error.absolute_path)) for error in errors})


@pytest.mark.parametrize(
    "text",
    [
        PROD,
        PROD.replace('    topicPrefix: "t1-"\n', ""),
        PROD + AUTH,
        PROD + GATEWAY,
        f"{PROD}---\n{second()}",
        PROD + "  filters: []\n",
        f"{SNI}---\n{other('globex')}",
        SNI.replace("    sni:", "    securityProtocol: SASL_SSL\n    sni:\n      advertisedPort: 443"),
        CERTIFICATES,
    ],
)
def test_what_loads_is_valid(text: str) -> None:
    assert mistakes(text) == []


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ("v1alpha1", "v1", "apiVersion"),
        ("KafkaVirtualCluster", "Kafka", "kind"),
        ("  name: tenant-a-prod", "  labels: {}", "metadata"),
        ("port: 9093", "bootstrap_port: 9093", "spec.listener"),
        ("port: 9093", "port: 0", "spec.listener.port"),
        ("port: 9093", "port: 9093\n    brokerPorts: { start: 1 }", "spec.listener.brokerPorts"),
        ("bootstrapServers", "bootstrap", "spec.targetCluster"),
        (
            "    topicPrefix",
            "    allowedTopics: orders\n    topicPrefix",
            "spec.virtualization.allowedTopics",
        ),
        ("passwordFile", "password_file", "spec.auth.credentials.0"),
        ("passwordFile: secrets/acme.password", "password: x", "spec.auth.credentials.0"),
        ("maxConnections: 7", "maxConnections: 0", "spec.limits.maxConnections"),
        ("1h", "1 day", "spec.limits.maxReauthMs"),
        ("  limits:", "  listenerSets: []\n  limits:", "spec"),
    ],
)
def test_a_mistake_is_marked_where_it_stands(old: str, new: str, where: str) -> None:
    text = PROD + AUTH + GATEWAY
    assert old in text

    assert mistakes(text.replace(old, new, 1)) == [where]


@pytest.mark.parametrize(
    ("text", "old", "new", "where"),
    [
        (SNI, "    sni:", "    advertisedHost: gw\n    sni:", "spec.listener"),
        (SNI, "    sni:", "    brokerIdBase: 1\n    sni:", "spec.listener"),
        (SNI, "    sni:", "    securityProtocol: PLAINTEXT\n    sni:", "spec.listener.securityProtocol"),
        (SNI, "    tls:", "    xls:", "spec.listener"),
        (SNI, "  auth:", "  axth:", "spec"),
        (SNI, "bootstrapHost", "bootstrap_host", "spec.listener.sni"),
        (SNI, '"{tenant}', '"t', "spec.listener.sni.bootstrapHost"),
        (SNI, "-{tenant}", "", "spec.listener.sni.brokerHost"),
        (SNI, "{node_id}", "", "spec.listener.sni.brokerHost"),
        (SNI, '"{tenant}', '"{tenant}-{node_id}', "spec.listener.sni.bootstrapHost"),
        (SNI, "      brokerHost", "      tenants: [acme]\n      brokerHost", "spec.listener.sni"),
        (CERTIFICATES, "clientAuth: required", "clientAuth: requested", "spec.listener.tls.clientAuth"),
        (CERTIFICATES, "principals: [CN=a]", "credentials: []", "spec.auth"),
        (CERTIFICATES, "SSL", "SASL_SSL", None),
        (PROD, "    advertisedHost: gateway.corp.net\n", "", "spec.listener"),
        (PROD, "    port", "    securityProtocol: SASL_SSL\n    port", "spec"),
        (PROD + AUTH, "    port", "    securityProtocol: PLAINTEXT\n    port", "spec"),
    ],
)
def test_what_the_keys_demand_of_each_other_is_marked(
    text: str, old: str, new: str, where: str | None
) -> None:
    assert old in text

    marked = mistakes(text.replace(old, new, 1))

    assert (where in marked) if where else not marked


def test_filters_are_marked() -> None:
    assert mistakes(PROD + FILTERS) == []


def test_the_keys_are_those_that_the_loader_knows() -> None:
    cluster = SCHEMA["$defs"]["KafkaVirtualCluster"]["properties"]
    spec = cluster["spec"]["properties"]

    assert cluster.keys() == set(TOP_KEYS)
    assert cluster["metadata"]["properties"].keys() == set(METADATA_KEYS)
    assert spec.keys() == set(SPEC_KEYS)
    assert spec["listener"]["properties"].keys() == {"sni", *PORT_KEYS, *LISTENER_KEYS}
    assert spec["virtualization"]["properties"].keys() == PREFIX_KEYS.keys() | TENANT_KEYS.keys()
    assert SCHEMA["$defs"]["KafkaGateway"]["properties"]["spec"]["properties"].keys() == GATEWAY_KEYS.keys()


def sections_below(name: str) -> dict[str, Any]:
    """Every section that a document of this kind can have, by where it is defined."""
    found, to_do = {}, [(name, SCHEMA["$defs"][name])]
    while to_do:
        at, schema = to_do.pop()
        if isinstance(schema, dict):
            if "properties" in schema and at not in found:
                found[at] = schema
            if "$ref" in schema and schema["$ref"] not in found:
                to_do.append((schema["$ref"], SCHEMA["$defs"][schema["$ref"].rpartition("/")[2]]))
        inner = (
            schema.items()
            if isinstance(schema, dict)
            else enumerate(schema if isinstance(schema, list) else ())
        )
        to_do += [(f"{at}/{key}", one) for key, one in inner]
    return found


@pytest.mark.parametrize("name", ["KafkaVirtualCluster", "KafkaGateway"])
def test_every_key_is_in_camel_case_and_described(name: str) -> None:
    sections = sections_below(name)

    assert any(at.endswith("InDocuments") for at in sections)
    for at, section in sections.items():
        assert not any("_" in key for key in section["properties"])
        if "type" not in section:
            continue  # a rule about the keys of another section
        assert section["additionalProperties"] is False
        for key, schema in section["properties"].items():
            is_head = key in ("apiVersion", "kind", "metadata", "spec") or (at, key) == (
                f"{name}/properties/metadata",
                "name",
            )
            assert is_head or len(schema["description"]) > 20, f"{at}: {key}"
            assert "_file`" not in schema.get("description", "")
