"""What the keys of a section demand of each other, by its class; `keys.py` has what is about one list alone."""

from collections.abc import Mapping

from bifrost.config.checks.broker_acls import MAX_ACCOUNTS
from bifrost.config.fields.upstream_sasl import KEYS_OF_ONE, PASSWORD_MECHANISMS
from bifrost.config.fields.verifiers import SCRAM_HASHES
from bifrost.config.fields.virtual_partitions import MAX_KEYED_SHARING
from bifrost.config.policies.config_table import TOPIC_CONFIGS, Kind
from bifrost.config.policies.config_value import WHOLE
from bifrost.config.schema_rules.filters import FILTER
from bifrost.config.schema_rules.forms import TIER, URL
from bifrost.config.schema_rules.pieces import (
    Schema,
    any_of,
    each,
    given,
    has,
    needs,
    protocol,
    same,
    when,
    within,
    without,
)
from bifrost.config.schema_rules.whole_file import WHOLE_FILE

_ENDPOINT = ("token_endpoint_url", "client_id", "client_secret_file")
_ACCOUNT_KEYS = ("username", "password_file", *sorted({key for keys in KEYS_OF_ONE.values() for key in keys}))


_UNSET = {"const": False}
"""A flag that is off counts as one that is not given."""


def _account(mechanism: str, keys: frozenset[str] | tuple[str, ...], *needed: str) -> Schema:
    others = [one for one in _ACCOUNT_KEYS if one not in keys]
    unused: Schema = {"properties": {one: _UNSET if one == "header_urlencode" else False for one in others}}
    return when(has("mechanism", mechanism), unused | (needs(*needed) if needed else {}))


_LOOPBACK = r"^(localhost|127\.[0-9.]+|[0:]*:(0*1|0\.0\.0\.1|[fF]{4}:(127\.|7[fF])[0-9a-fA-F:.]*)(%.*)?)$"
"""A host that no other machine can reach."""

_TENANT = r"\{tenant\}"


def _hosts(both: Schema) -> Schema:
    return {"properties": {"bootstrap_host": both, "broker_host": both}}


_WHOLE_CONFIGS = [name for name, one in TOPIC_CONFIGS.items() if one.kind in WHOLE]
_RATIO_CONFIGS = [name for name, one in TOPIC_CONFIGS.items() if one.kind is Kind.RATIO]


def _value_of(names: list[str], number: Schema, pattern: str) -> Schema:
    """A forced config that is a number, also written as a text."""
    values = {"anyOf": [number, {"type": "string", "pattern": pattern}]}
    return when({"properties": {"name": {"enum": names}}}, {"properties": {"value": values}})


SECTIONS: Mapping[str, list[Schema]] = {
    "PolicyOfNamespace": [
        {"properties": {"topic_configs": {"items": {"properties": {"allowed": {"const": False}}}}}},
    ],
    "ForcedConfig": [
        {"properties": {"name": {"enum": list(TOPIC_CONFIGS)}}},
        _value_of(_WHOLE_CONFIGS, {"type": "integer"}, r"^\s*[+-]?[0-9_]+\s*$"),
        _value_of(_RATIO_CONFIGS, {"type": "number"}, r"^\s*[+-]?([0-9_.eE+-]+|inf.*|nan)\s*$"),
    ],
    "Config": WHOLE_FILE,
    "Proxy": [{"dependentRequired": {"control": ["state"]}}],
    "State": [same("partitions", 1)],
    "QuotaExchange": [same("partitions", 1)],
    "Control": [
        when(
            any_of("admins", needs("certificate_principal")),
            given("tls", has("client_auth", "requested", "required")),
        ),
        when({"not": needs("tls")}, within("bind_host", {"pattern": _LOOPBACK})),
    ],
    "ControlAdmin": [
        {"anyOf": [needs(one) for one in ("token_file", "token_sha256", "certificate_principal")]},
        {"not": needs("token_file", "token_sha256")},
    ],
    "ListenerSet": [
        {"oneOf": [needs("port_range"), needs("sni")]},
        when(
            has("single_address", True),
            {"properties": {"sni": False, "port_range": without("broker_port_range")}},
        ),
        when(given("port_range", needs("advertised_port")), has("single_address", True)),
        when(
            has("allow_repeated_scram_nonce", True),
            {
                "allOf": [
                    protocol("SASL_PLAINTEXT", "SASL_SSL", default="SASL_PLAINTEXT"),
                    within("sasl_mechanisms", {"contains": {"enum": sorted(SCRAM_HASHES)}}),
                ]
            },
        ),
        when(protocol("SSL", "SASL_SSL", default="SASL_PLAINTEXT"), needs("tls"), without("tls", "sni")),
        when(needs("tenant"), {"properties": {"sni": without("tenants")}}),
        when(protocol("PLAINTEXT", "SSL", default="SASL_PLAINTEXT"), without("sasl_mechanisms")),
        when(protocol("PLAINTEXT", default="SASL_PLAINTEXT"), needs("tenant")),
        when(
            {"allOf": [protocol("SSL", default="SASL_PLAINTEXT"), {"not": needs("tenant")}]},
            {"properties": {"tls": has("client_auth", "required")}},
        ),
        when(
            protocol("SASL_SSL", default="SASL_PLAINTEXT"),
            {"properties": {"tls": without("principal_mapping_rules")}},
        ),
    ],
    "PortRange": [
        when({"not": needs("broker_port_range")}, {"properties": {"broker_id_base": {"const": 0}}})
    ],
    "Sni": [
        {"properties": {"broker_host": {"pattern": r"\{node_id\}"}}},
        {"properties": {"bootstrap_host": {"not": {"pattern": r"\{node_id\}"}}}},
        {"oneOf": [_hosts({"pattern": _TENANT}), _hosts({"not": {"pattern": _TENANT}})]},
        when(needs("tenants"), _hosts({"pattern": _TENANT})),
        {"properties": {"tenants": {"uniqueItems": True}}},
    ],
    "ServerTls": [
        when(
            has("client_auth", "requested", "required"),
            needs("client_ca_file"),
            without("client_ca_file", "client_crl_file", "principal_mapping_rules"),
        ),
    ],
    "ClientTls": [
        {
            "dependentRequired": {
                "certificate_file": ["key_file"],
                "key_file": ["certificate_file"],
                "key_password_file": ["key_file"],
            }
        }
    ],
    "Upstream": [
        when(protocol("SSL", "SASL_SSL", default="PLAINTEXT"), {}, without("tls")),
        when(protocol("SASL_PLAINTEXT", "SASL_SSL", default="PLAINTEXT"), needs("sasl"), without("sasl")),
    ],
    "UpstreamSasl": [
        *(
            _account(one, ("username", "password_file"), "username", "password_file")
            for one in PASSWORD_MECHANISMS
        ),
        *(_account(one, keys) for one, keys in KEYS_OF_ONE.items()),
        when(needs("keytab_file"), needs("principal")),
        when(
            needs("token_file"),
            {
                "allOf": [
                    without(*_ENDPOINT, "scope", "token_endpoint_ca_file"),
                    within("header_urlencode", _UNSET),
                ]
            },
        ),
        {
            "dependentRequired": {"username": ["password_file"], "password_file": ["username"]},
            "minProperties": 1,
        },
        when(
            {"allOf": [has("mechanism", "OAUTHBEARER"), {"not": needs("token_file")}]},
            needs(*_ENDPOINT),
        ),
    ],
    "Credential": [{"oneOf": [needs("password_file"), needs("scram_file")]}],
    "Prefixes": [{"minProperties": 1}],
    "OAuth": [
        {
            "oneOf": [
                {"properties": {"audience": {"minItems": 1}}, "required": ["audience"]},
                has("any_audience", True),
            ]
        },
        {"not": needs("jwks_url", "jwks_file")},
        when(
            {"not": {"anyOf": [needs("jwks_url"), needs("jwks_file")]}},
            {"properties": {"issuer": {"pattern": URL}}},
        ),
    ],
    "ConfigRule": [
        {"anyOf": [needs(one) for one in ("allowed", "min", "max", "values")]},
        when(has("allowed", False), without("min", "max", "values")),
    ],
    "AclRule": [
        when(has("resource_type", "CLUSTER"), {"properties": {"name": {"const": "kafka-cluster"}}}),
        when(
            has("resource_type", "NAMESPACE"),
            {
                "properties": {
                    "name": {"pattern": f"^{TIER}(:{TIER})*$"},
                    "pattern_type": {"const": "LITERAL"},
                }
            },
        ),
    ],
    "RecordFilter": FILTER,
    "MaskedField": [when(has("action", "constant"), needs("value"), without("value"))],
    "VirtualPartitions": [
        when(needs("ratio"), without("virtual", "physical"), needs("virtual", "physical")),
        when(
            {"allOf": [has("compacted", True), needs("ratio")]},
            within("ratio", {"minimum": 2, "maximum": MAX_KEYED_SHARING}),
        ),
    ],
    "Acls": [when(has("mode", "broker"), without("super_users", "allow_everyone_if_no_acl_found", "rules"))],
    "Tenant": [
        when(
            has("namespace_encoding", "dotted"),
            {
                "allOf": [
                    within("namespaces", {"maxItems": 0}),
                    same("namespace_separator", ":"),
                    each("allowed_topics", {"not": {"pattern": ":"}}),
                    within("acls", each("rules", {"not": has("resource_type", "NAMESPACE")})),
                    within("auth", each("credentials", within("namespace", {"not": {"pattern": r"\."}}))),
                    each("namespace_policies", without("namespace")),
                ]
            },
        ),
        when(
            given("acls", has("mode", "broker")),
            within(
                "auth",
                {
                    "properties": {
                        "principals": {"maxItems": 0},
                        "stored_users": False,
                        "credentials": {
                            "maxItems": MAX_ACCOUNTS,
                            "items": given("upstream_sasl", needs("username")),
                        },
                    }
                },
            ),
        ),
    ],
}
"""What the keys of a section demand of each other, by the section's class."""
