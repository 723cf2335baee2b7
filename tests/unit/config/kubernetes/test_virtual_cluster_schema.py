from typing import Any

import jsonschema
import pytest
import yaml

from bifrost.config.json_schema import configuration_schema
from bifrost.config.kubernetes.virtual_clusters import (
    GATEWAY_KEYS,
    LISTENER_KEYS,
    METADATA_KEYS,
    PORT_KEYS,
    PREFIX_KEYS,
    SPEC_KEYS,
    TENANT_KEYS,
    TOP_KEYS,
)
from unit.config.virtual_cluster_files import AUTH, FILTERS, GATEWAY, PROD, second

SCHEMA = configuration_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


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


def test_filters_are_marked() -> None:
    assert mistakes(PROD + FILTERS) == ["spec.filters"]


def test_the_keys_are_those_that_the_loader_knows() -> None:
    cluster = SCHEMA["$defs"]["KafkaVirtualCluster"]["properties"]
    spec = cluster["spec"]["properties"]

    assert cluster.keys() == set(TOP_KEYS)
    assert cluster["metadata"]["properties"].keys() == set(METADATA_KEYS)
    assert spec.keys() == set(SPEC_KEYS)
    assert spec["listener"]["properties"].keys() == PORT_KEYS.keys() | LISTENER_KEYS.keys()
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
