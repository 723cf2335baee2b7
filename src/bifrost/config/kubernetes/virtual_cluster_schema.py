"""The JSON Schema of the second dialect, derived from the first's: the same keys in camelCase, at other places."""

import copy
import re
from collections.abc import Mapping
from typing import Any

from bifrost.config.fields.verifiers import SCRAM_HASHES
from bifrost.config.kubernetes.broker_ports import DEFAULT_BROKER_PORTS
from bifrost.config.kubernetes.camel_case import reword, to_camel
from bifrost.config.kubernetes.sni_listeners import LISTENER_KEYS, SNI_KEYS, WITHOUT_SNI
from bifrost.config.kubernetes.target_clusters import TARGET_KEYS
from bifrost.config.kubernetes.virtual_clusters import (
    API_VERSION,
    GATEWAY,
    GATEWAY_KEYS,
    PORT_KEYS,
    PREFIX_KEYS,
    TENANT_KEYS,
    TENANT_SECTIONS,
    VIRTUAL_CLUSTER,
    WORDS,
)
from bifrost.config.model import Config
from bifrost.config.name_template import DEFAULT_MARK

Schema = dict[str, Any]

_SUFFIX = "InDocuments"
_OWN: Mapping[str, str] = {
    "name": "Name of the tenant and its virtual cluster: letters, digits, `.`, `_` and `-`, at most 64. Required.",
    "port": "TCP port clients bootstrap from; no other virtual cluster has it, unless all have `sni`. Required.",
    "advertisedHost": "Host that clients are told to connect to, as Kafka's `advertised.listeners`: it must resolve, "
    "for them, to this gateway. Without a port. Required without `sni`, and not possible with it.",
    "brokerPorts": "TCP ports that stand for the brokers of the physical cluster, both ends included. Default: the "
    f"{DEFAULT_BROKER_PORTS} ports after `port`, or those up to the `port` of the next virtual cluster where that is "
    "nearer. Where the next follows at once, `port` stands for the only broker as well, whatever its node ID.",
    "securityProtocol": "How clients connect, in the words of their own `security.protocol`. Default: what the other "
    "sections ask for, SASL with `spec.auth`, TLS with `tls`, and without both `PLAINTEXT`: clients are not asked who "
    "they are, and all who reach the port are this tenant's. With `sni` the default is `SASL_SSL`.",
    "sni": "Host names in place of `advertisedHost` and `brokerPorts`: one port for all brokers, which virtual "
    "clusters share that say the same in `spec.listener`. It needs `tls` and `spec.auth`. Default: the key is absent.",
    "bootstrapHost": "Host that clients bootstrap from, with `{tenant}` in it, which is `metadata.name`. Required.",
    "brokerHost": "Host of each broker, with `{node_id}` and `{tenant}` in it. Required.",
    "listener": "The port of this tenant, and how clients connect to it. Required.",
    "targetCluster": "The physical cluster behind the virtual one. Documents that say the same share it; where one "
    "gives it a `name`, the others need no more than that. Required.",
    "bootstrapServers": "Brokers to ask first, each `host:port`, with commas between, as in `bootstrap.servers` of "
    "Kafka's clients; all others are discovered. Required, unless another document describes a cluster of this `name`.",
    "targetName": "What logs call the physical cluster, and other documents that mean the same. Default: its first "
    "broker, such as `kafka-1.internal-9092`.",
    "virtualization": "The names that exist for the tenant and what their physical names begin with. Names "
    f"of a kind without a prefix begin with `{DEFAULT_MARK}`, the tenant's name and `_`.",
    "auth": "The users that belong to the tenant. Default: none, and clients do not authenticate by SASL. Required "
    "with `spec.listener.sni`.",
    "labels": "For people and other programs; the gateway does not look at them.",
}
"""Documentation of the keys that the flat dialect does not have, or that have another meaning there."""


def _if(condition: Schema, then: Schema, otherwise: Schema | None = None) -> Schema:
    return {"if": condition, "then": then} | ({} if otherwise is None else {"else": otherwise})


def _without(*keys: str) -> Schema:
    return {"properties": dict.fromkeys(keys, False)}


def _protocol(*wanted: str) -> Schema:
    """A listener that says one of these protocols."""
    return {"properties": {"securityProtocol": {"enum": list(wanted)}}, "required": ["securityProtocol"]}


_ADDRESSES = r"^[\s,]*[^\s,/]+:[0-9]{1,5}\s*(,\s*([^\s,/]+:[0-9]{1,5}\s*)?)*$"
"""Addresses with commas between; spaces and empty entries are ignored, as by Kafka's clients."""
_SNI_RULES: list[Schema] = [
    {"properties": {key: {"pattern": r"\{tenant\}"} for key in ("bootstrapHost", "brokerHost")}},
    {"properties": {"brokerHost": {"pattern": r"\{node_id\}"}}},
    {"properties": {"bootstrapHost": {"not": {"pattern": r"\{node_id\}"}}}},
]
_CERTIFICATES: Schema = {"properties": {"clientAuth": {"const": "required"}}, "required": ["clientAuth"]}
_HAS_SNI: Schema = {"required": ["sni"]}
_LISTENER_RULES: list[Schema] = [
    _if(
        _HAS_SNI,
        {
            "properties": {"securityProtocol": {"enum": ["SASL_SSL", "SSL"]}}
            | dict.fromkeys(WITHOUT_SNI, False),
            "required": ["tls"],
        },
        {"required": ["advertisedHost"]},
    ),
    _if({"allOf": [_HAS_SNI, _protocol("SSL")]}, {"properties": {"tls": _CERTIFICATES}}),
    _if(_protocol("SSL", "SASL_SSL"), {"required": ["tls"]}),
    _if(_protocol("PLAINTEXT", "SASL_PLAINTEXT"), _without("tls")),
    _if(_protocol("PLAINTEXT", "SSL"), _without("saslMechanisms")),
    _if(
        {"properties": {"allowRepeatedScramNonce": {"const": True}}, "required": ["allowRepeatedScramNonce"]},
        {
            "properties": {
                "securityProtocol": {"enum": ["SASL_PLAINTEXT", "SASL_SSL"]},
                "saslMechanisms": {"contains": {"enum": sorted(SCRAM_HASHES)}},
            }
        },
    ),
    _if(
        {"properties": {"singleAddress": {"const": True}}, "required": ["singleAddress"]},
        _without("sni", "brokerPorts"),
    ),
    _if(
        {"anyOf": [_protocol("SASL_SSL"), {"allOf": [_HAS_SNI, {"not": _protocol("SSL")}]}]},
        {"properties": {"tls": _without("principalMappingRules")}},
    ),
]
_SPEC_RULES: list[Schema] = [
    _if({"properties": {"listener": _HAS_SNI}}, {"required": ["auth"]}),
    _if({"properties": {"listener": _protocol("SASL_PLAINTEXT", "SASL_SSL")}}, {"required": ["auth"]}),
    _if(
        {"properties": {"listener": _protocol("PLAINTEXT", "SSL")}},
        _if(
            {"properties": {"listener": _HAS_SNI}},
            {"properties": {"auth": _without("credentials")}},
            _without("auth"),
        ),
    ),
]
"""What the keys demand of each other, as the loader says it. With `sni` each document says whose its clients are."""


def document_definitions(definitions: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the definitions that the second dialect adds to those of the first.

    Args:
        definitions: the definitions of the first dialect, by the names of the model's sections.
    """
    made: dict[str, Schema] = {}

    def keys_of(section: str, keys: Mapping[str, str]) -> dict[str, Schema]:
        properties = definitions[section]["properties"]
        # Fields that the loader fills are not keys.
        there = {key: properties[name] for key, name in keys.items() if name in properties}
        return {key: _rename_keys(_in_camel_case(schema, definitions, made)) for key, schema in there.items()}

    listener = _object(keys_of("PortRange", PORT_KEYS) | keys_of("ListenerSet", LISTENER_KEYS), ("port",))
    names = _object(keys_of("Sni", SNI_KEYS), ("bootstrapHost", "brokerHost"))
    for key in names["properties"].keys() & _OWN.keys():
        _describe(names["properties"], key, key)
    listener["properties"]["sni"] = names | {"allOf": _SNI_RULES}
    listener["allOf"] = _LISTENER_RULES
    target = _object(
        keys_of("Upstream", {key: name for key, name in TARGET_KEYS.items() if name != "bootstrap"})
    )
    target["properties"]["bootstrapServers"] = {"type": "string", "pattern": _ADDRESSES}
    target["anyOf"] = [{"required": ["bootstrapServers"]}, {"required": ["name"]}]
    target["properties"]["name"].pop("default", None)
    rules = _object(keys_of("Prefixes", PREFIX_KEYS) | keys_of("Tenant", TENANT_KEYS))
    others = keys_of("Tenant", TENANT_SECTIONS)
    for key in ("port", "advertisedHost", "brokerPorts", "securityProtocol", "sni"):
        _describe(listener["properties"], key, key)
    if "securityProtocol" in listener["properties"]:
        listener["properties"]["securityProtocol"].pop("default", None)
    _describe(target["properties"], "bootstrapServers", "bootstrapServers")
    _describe(target["properties"], "name", "targetName")
    sections = {"listener": listener, "targetCluster": target, "virtualization": rules, **others}
    for key in sections.keys() & _OWN.keys():
        _describe(sections, key, key)
    name = keys_of("Tenant", {"name": "name"})
    of_tenants = [_rename_keys(_in_spec(rule)) for rule in definitions["Tenant"].get("allOf", ())]
    spec = _object(sections, ("listener", "targetCluster")) | {"allOf": [*_SPEC_RULES, *of_tenants]}
    made[VIRTUAL_CLUSTER] = _document(VIRTUAL_CLUSTER, name, spec, ("metadata", "spec"))
    gateway = _object(keys_of("Proxy", GATEWAY_KEYS))
    gateway["allOf"] = _rename_keys(definitions["Proxy"].get("allOf", []))
    made[GATEWAY] = _document(GATEWAY, {"name": {"type": "string"}}, gateway, ("spec",))
    return made


def _document(kind: str, name: dict[str, Schema], spec: Schema, required: tuple[str, ...]) -> Schema:
    metadata = _object({**name, "labels": {"type": "object"}, "annotations": {"type": "object"}})
    _describe(metadata["properties"], "labels", "labels")
    _describe(metadata["properties"], "annotations", "labels")
    if "metadata" in required:
        _describe(metadata["properties"], "name", "name")
        metadata["required"] = ["name"]
    head = {"apiVersion": {"const": API_VERSION}, "kind": {"const": kind}}
    document = _object({**head, "metadata": metadata, "spec": spec}, ("apiVersion", "kind", *required))
    document["description"] = {
        VIRTUAL_CLUSTER: "One tenant: a virtual Kafka cluster on a port of its own, or on one shared by `sni`.",
        GATEWAY: "What concerns the gateway as a whole; at most one document.",
    }[kind]
    return document


def _object(properties: dict[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    made: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
    return made | ({"required": list(required)} if required else {})


def _describe(properties: dict[str, Schema], key: str, text: str) -> None:
    if key in properties:
        properties[key]["description"] = _OWN[text]


def _in_camel_case(schema: Schema, definitions: Mapping[str, Schema], made: dict[str, Schema]) -> Schema:
    """Return a copy with camelCase keys; add the sections that it refers to to `made`."""
    copied = copy.deepcopy(schema)
    for holder in _holders(copied):
        if "description" in holder:
            holder["description"] = re.sub(
                "`[^`]*`", lambda found: f"`{reword(found[0][1:-1], Config, WORDS)}`", holder["description"]
            )
        name = str(holder.get("$ref", "")).rpartition("/")[2]
        if "properties" not in definitions.get(name, {}):
            continue
        holder["$ref"] = f"#/$defs/{name}{_SUFFIX}"
        if f"{name}{_SUFFIX}" not in made:
            made[f"{name}{_SUFFIX}"] = {}  # so that a section that contains itself does not recurse forever
            made[f"{name}{_SUFFIX}"] = _rename_keys(_in_camel_case(definitions[name], definitions, made))
    return copied


def _rename_keys(schema: Any) -> Any:
    """Return a section's schema with the keys that it names, also in its rules, in camelCase."""
    if isinstance(schema, list):
        return [_rename_keys(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    renamed: Schema = {}
    for word, content in schema.items():
        if word == "properties":
            renamed[word] = {to_camel(key): _rename_keys(inner) for key, inner in content.items()}
        elif word == "required":
            renamed[word] = [to_camel(key) for key in content]
        elif word == "dependentRequired":
            renamed[word] = {
                to_camel(key): [to_camel(one) for one in others] for key, others in content.items()
            }
        else:
            renamed[word] = content if word in ("enum", "const", "default") else _rename_keys(content)
    return renamed


def _in_spec(rule: Schema) -> Schema:
    """Return a rule of a tenant as one of `spec`, where most of the tenant's keys are in `virtualization`."""
    there = set(TENANT_SECTIONS.values())
    moved: Schema = {}
    for word, content in rule.items():
        if word == "properties":
            own = {key: schema for key, schema in content.items() if key in there}
            others = {key: schema for key, schema in content.items() if key not in there}
            moved["properties"] = own | ({"virtualization": {"properties": others}} if others else {})
        elif word in ("if", "then", "else", "not"):
            moved[word] = _in_spec(content)
        elif word in ("allOf", "anyOf", "oneOf"):
            moved[word] = [_in_spec(one) for one in content]
        else:
            assert word == "required", f"a rule of a tenant has {word}"
    required = rule.get("required", [])
    below = [key for key in required if key not in there]
    if below:
        inner = moved.setdefault("properties", {}).setdefault("virtualization", {})
        inner["required"] = below
    if required:
        moved["required"] = [key for key in required if key in there] + ["virtualization"] * bool(below)
    return moved


def _holders(schema: object) -> list[Schema]:
    """Return every schema within a schema, including itself."""
    if isinstance(schema, list):
        return [found for one in schema for found in _holders(one)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(found for inner in schema.values() for found in _holders(inner))]
