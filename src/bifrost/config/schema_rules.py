"""What the JSON Schema says beyond the types of single keys, so that it refuses by shape what the loader refuses.

Two tables: the form of a text, by the function that checks it in the loader, and what the keys of a section demand of
each other, by the section. Both say the same as the code of the loader does, once more:
`tests/unit/config/test_schema_rules.py` compares the two, and lists what no schema can say.
"""

from collections.abc import Mapping
from typing import Any

from bifrost.config import values
from bifrost.config.fields import acls, kerberos, oauth, sni
from bifrost.config.fields.upstream_sasl import KEYS_OF_ONE, PASSWORD_MECHANISMS
from bifrost.config.policies import namespace_policy, policy
from bifrost.config.policies.config_table import GROUP_CONFIGS, TOPIC_CONFIGS, Decision, Kind
from bifrost.config.policies.config_value import WHOLE
from bifrost.config.principals import principal_mapping
from bifrost.config.records import filter_rule, masking_config
from bifrost.config.records.encryption_config import EnvelopeEncryptionConfig
from bifrost.config.records.filter_configs import ProducePolicyConfig, RecordHeadersConfig
from bifrost.config.records.masking_config import MaskingConfig
from bifrost.config.records.python_transform_config import PythonTransformConfig
from bifrost.config.records.registry_config import OF_REGISTRY
from bifrost.config.records.schema_config import SchemaValidatorConfig
from bifrost.config.section import Section

Schema = dict[str, Any]

_NAME = "^[a-zA-Z0-9._-]+$"
_HOST_NAME = "[a-zA-Z0-9_](?:[a-zA-Z0-9_.-]*[a-zA-Z0-9_.])?"
_HOST = rf"^(?!.*\.\.)(?:{_HOST_NAME}|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)$"
_URL = rf"^https?://(?:\[[0-9a-fA-F:.]+\]|{_HOST_NAME})(?::[0-9]{{1,5}})?(?:[/?][!-\"$-~]*)?$"
_TIER = r"(?!\.{1,2}(:|$))[a-zA-Z0-9._-]+"
_PATH_NAME = r"(?:\*|[^.\[\]*]+)(?:\[\*\])?"
_PRINTABLE = "^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]*$"


def _configs(known: Mapping[str, Decision]) -> Schema:
    """Return the schema of a rule for one of these configs: its name, and what suits its kind."""
    no_numbers = [name for name, one in known.items() if one.kind not in policy.NUMBERS]
    no_choices = [name for name, one in known.items() if one.kind not in policy.CHOICES]
    return {
        "properties": {"name": {"enum": list(known)}},
        "allOf": [
            _if({"properties": {"name": {"enum": no_numbers}}}, _without("min", "max")),
            _if({"properties": {"name": {"enum": no_choices}}}, _without("values")),
        ],
    }


def _if(condition: Schema, then: Schema, otherwise: Schema | None = None) -> Schema:
    return {"if": condition, "then": then} | ({} if otherwise is None else {"else": otherwise})


def _has(key: str, *wanted: object) -> Schema:
    """A section in which a key is given, with one of some values."""
    return {"properties": {key: {"enum": list(wanted)}} if wanted else {}, "required": [key]}


def _without(*keys: str) -> Schema:
    return {"properties": dict.fromkeys(keys, False)}


def _needs(*keys: str) -> Schema:
    return {"required": list(keys)}


def _some(key: str) -> Schema:
    """A section in which a list is given and has something."""
    return {"properties": {key: {"minItems": 1}}, "required": [key]}


def _none(*keys: str) -> Schema:
    """A section in which lists have nothing."""
    return {"properties": {key: {"maxItems": 0} for key in keys}}


def _protocol(*wanted: str, default: str) -> Schema:
    """A section with one of some protocols, also by default."""
    return {"properties": {"security_protocol": {"enum": list(wanted)}}} | (
        {} if default in wanted else _needs("security_protocol")
    )


FORMS: Mapping[Any, Schema] = {
    values._check_name: {"pattern": _NAME},
    values._check_topic: {"pattern": r"^(?!\.{1,2}$)[a-zA-Z0-9._-]+$"},
    values._check_listed_topic: {"pattern": f"^({_TIER}:)*{_TIER}$"},
    values._check_namespace: {"pattern": f"^{_TIER}(:{_TIER})*$"},
    values._check_username: {"allOf": [{"pattern": _PRINTABLE}, {"pattern": r"^\S(.*\S)?$"}]},
    values._check_host: {"pattern": _HOST, "maxLength": 253},
    values._check_advertised_host: {"pattern": _HOST, "maxLength": 253, "not": {"enum": ["0.0.0.0", "::"]}},  # noqa: S104
    values._check_http_url: {"pattern": _URL},
    oauth._check_url: {"pattern": _URL},
    oauth._check_claim: {"pattern": _PRINTABLE},
    kerberos._check_part: {"pattern": _NAME},
    kerberos._check_rule: {"pattern": r"^\s*(DEFAULT|RULE:\[)"},
    principal_mapping._check: {"pattern": r"^\s*(DEFAULT|RULE:)"},
    values._check_principal: {"allOf": [{"pattern": _PRINTABLE}, {"pattern": "^User:."}]},
    acls._check_acl_host: {"pattern": r"^(\*|[0-9]+(\.[0-9]+){3}|[0-9a-fA-F:.]*:[0-9a-fA-F:.]*(%.+)?)$"},
    sni._check_pattern: {"pattern": r"^(?:[a-zA-Z0-9.-]|\{tenant\}|\{node_id\})+$"},
    filter_rule._check_pattern: {"pattern": r"^[a-zA-Z0-9._:*-]+$"},
    masking_config._check_path: {"pattern": rf"^{_PATH_NAME}(\.{_PATH_NAME}){{0,15}}$"},
    policy.OF_TOPICS.func: _configs(TOPIC_CONFIGS),
    policy.OF_GROUPS.func: _configs(GROUP_CONFIGS),
    namespace_policy._check_pattern: {"pattern": r"^(?!.*\*\*)"},
}
"""What a value has to look like, by the function of the loader that checks it. A schema may accept more, never less."""

_ENDPOINT = ("token_endpoint_url", "client_id", "client_secret_file")
_ACCOUNT_KEYS = ("username", "password_file", *sorted({key for keys in KEYS_OF_ONE.values() for key in keys}))


_UNSET = {"const": False}
"""A flag that is off counts as one that is not given."""


def _account(mechanism: str, keys: frozenset[str] | tuple[str, ...], *needed: str) -> Schema:
    others = [one for one in _ACCOUNT_KEYS if one not in keys]
    unused: Schema = {"properties": {one: _UNSET if one == "header_urlencode" else False for one in others}}
    return _if(_has("mechanism", mechanism), unused | (_needs(*needed) if needed else {}))


_FILTERS: Mapping[str, type[Section]] = {
    "RecordHeaders": RecordHeadersConfig,
    "ProducePolicy": ProducePolicyConfig,
    "Masking": MaskingConfig,
    "PythonTransform": PythonTransformConfig,
    "SchemaValidator": SchemaValidatorConfig,
    "EnvelopeEncryption": EnvelopeEncryptionConfig,
}


def _filter(name: str, *needed: str) -> Schema:
    """A filter that has its own keys alone, and one of them at least."""
    own = _FILTERS[name].model_fields
    others = {key for one in _FILTERS.values() for key in one.model_fields} - own.keys()
    config = {"minProperties": 1} | _without(*sorted(others)) | (_needs(*needed) if needed else {})
    return _if(_has("name", name), {"properties": {"config": config}})


_HASHES = {"properties": {"fields": {"contains": _has("action", "hash")}}, "required": ["fields"]}
"""A config with a field that is hashed."""

_FORMAT = _if(_has("format", "schema"), _needs("registry_url"), _without(*sorted(OF_REGISTRY)))

_QUARANTINES = _if(_has("fail", "quarantine"), _needs("quarantine_topic"))


def _for(name: str, direction: str, where: Schema | None = None) -> Schema:
    """A filter that does something on one way only, always or where its other keys are so."""
    named = _has("name", name)
    return _if(
        named if where is None else {"allOf": [named, where]},
        {"properties": {"rules": {"items": {"properties": {"direction": {"const": direction}}}}}},
    )


_TENANT = r"\{tenant\}"


def _hosts(both: Schema) -> Schema:
    return {"properties": {"bootstrap_host": both, "broker_host": both}}


_WHOLE_CONFIGS = [name for name, one in TOPIC_CONFIGS.items() if one.kind in WHOLE]
_RATIO_CONFIGS = [name for name, one in TOPIC_CONFIGS.items() if one.kind is Kind.RATIO]


def _value_of(names: list[str], number: Schema, pattern: str) -> Schema:
    """A forced config that is a number, also written as a text."""
    values = {"anyOf": [number, {"type": "string", "pattern": pattern}]}
    return _if({"properties": {"name": {"enum": names}}}, {"properties": {"value": values}})


SECTIONS: Mapping[str, list[Schema]] = {
    "PolicyOfNamespace": [
        {"properties": {"topic_configs": {"items": {"properties": {"allowed": {"const": False}}}}}},
    ],
    "ForcedConfig": [
        {"properties": {"name": {"enum": list(TOPIC_CONFIGS)}}},
        _value_of(_WHOLE_CONFIGS, {"type": "integer"}, r"^\s*[+-]?[0-9_]+\s*$"),
        _value_of(_RATIO_CONFIGS, {"type": "number"}, r"^\s*[+-]?([0-9_.eE+-]+|inf.*|nan)\s*$"),
    ],
    "Config": [{"oneOf": [_needs("upstream"), _needs("upstreams")]}],
    "ListenerSet": [
        {"oneOf": [_needs("port_range"), _needs("sni")]},
        _if(
            _has("single_address", True),
            {"properties": {"sni": False, "port_range": _without("broker_port_range")}},
        ),
        _if(_protocol("SSL", "SASL_SSL", default="SASL_PLAINTEXT"), _needs("tls"), _without("tls", "sni")),
        _if(_needs("tenant"), {"properties": {"sni": _without("tenants")}}),
        _if(_protocol("PLAINTEXT", "SSL", default="SASL_PLAINTEXT"), _without("sasl_mechanisms")),
        _if(_protocol("PLAINTEXT", default="SASL_PLAINTEXT"), _needs("tenant")),
        _if(
            {"allOf": [_protocol("SSL", default="SASL_PLAINTEXT"), {"not": _needs("tenant")}]},
            {"properties": {"tls": _has("client_auth", "required")}},
        ),
        _if(
            _protocol("SASL_SSL", default="SASL_PLAINTEXT"),
            {"properties": {"tls": _without("principal_mapping_rules")}},
        ),
    ],
    "PortRange": [
        _if({"not": _needs("broker_port_range")}, {"properties": {"broker_id_base": {"const": 0}}})
    ],
    "Sni": [
        {"properties": {"broker_host": {"pattern": r"\{node_id\}"}}},
        {"properties": {"bootstrap_host": {"not": {"pattern": r"\{node_id\}"}}}},
        {"oneOf": [_hosts({"pattern": _TENANT}), _hosts({"not": {"pattern": _TENANT}})]},
        _if(_needs("tenants"), _hosts({"pattern": _TENANT})),
        {"properties": {"tenants": {"uniqueItems": True}}},
    ],
    "ServerTls": [
        _if(
            _has("client_auth", "requested", "required"),
            _needs("client_ca_file"),
            _without("client_ca_file", "client_crl_file", "principal_mapping_rules"),
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
        _if(_protocol("SSL", "SASL_SSL", default="PLAINTEXT"), {}, _without("tls")),
        _if(_protocol("SASL_PLAINTEXT", "SASL_SSL", default="PLAINTEXT"), _needs("sasl"), _without("sasl")),
    ],
    "UpstreamSasl": [
        *(
            _account(one, ("username", "password_file"), "username", "password_file")
            for one in PASSWORD_MECHANISMS
        ),
        *(_account(one, keys) for one, keys in KEYS_OF_ONE.items()),
        _if(_needs("keytab_file"), _needs("principal")),
        _if(_needs("token_file"), _without(*_ENDPOINT, "scope", "token_endpoint_ca_file")),
        {
            "dependentRequired": {"username": ["password_file"], "password_file": ["username"]},
            "minProperties": 1,
        },
        _if(
            {"allOf": [_has("mechanism", "OAUTHBEARER"), {"not": _needs("token_file")}]},
            _needs(*_ENDPOINT),
        ),
    ],
    "Credential": [{"oneOf": [_needs("password_file"), _needs("scram_file")]}],
    "Prefixes": [{"minProperties": 1}],
    "OAuth": [
        {
            "oneOf": [
                {"properties": {"audience": {"minItems": 1}}, "required": ["audience"]},
                _has("any_audience", True),
            ]
        },
        {"not": _needs("jwks_url", "jwks_file")},
        _if(
            {"not": {"anyOf": [_needs("jwks_url"), _needs("jwks_file")]}},
            {"properties": {"issuer": {"pattern": _URL}}},
        ),
    ],
    "ConfigRule": [
        {"anyOf": [_needs(one) for one in ("allowed", "min", "max", "values")]},
        _if(_has("allowed", False), _without("min", "max", "values")),
    ],
    "AclRule": [
        _if(_has("resource_type", "CLUSTER"), {"properties": {"name": {"const": "kafka-cluster"}}}),
        _if(
            _has("resource_type", "NAMESPACE"),
            {
                "properties": {
                    "name": {"pattern": f"^{_TIER}(:{_TIER})*$"},
                    "pattern_type": {"const": "LITERAL"},
                }
            },
        ),
    ],
    "RecordFilter": [
        _filter("RecordHeaders"),
        _filter("ProducePolicy"),
        _filter("Masking", "fields"),
        _filter("PythonTransform"),
        _if(
            _has("name", "PythonTransform"),
            {
                "properties": {
                    "config": {"oneOf": [_needs("transform_file"), _needs("entry_point")]} | _QUARANTINES
                }
            },
        ),
        _filter("SchemaValidator", "registry_url"),
        _if(
            _has("name", "SchemaValidator"),
            {
                "properties": {
                    "config": {
                        "allOf": [
                            _QUARANTINES,
                            _if(_needs("quarantine_topic"), {"properties": {"enforce": {"const": True}}}),
                            _if(
                                _has("level", "rules"),
                                {"properties": {"checks": {"minItems": 1}}} | _needs("checks"),
                                {"properties": {"checks": {"maxItems": 0}}},
                            ),
                        ]
                    }
                }
            },
        ),
        _for("SchemaValidator", "produce"),
        _filter("EnvelopeEncryption", "kms_provider", "key_id"),
        _if(
            _has("name", "EnvelopeEncryption"),
            {
                "properties": {
                    "config": {
                        "allOf": [
                            _if(_needs("sealing_key_file"), _has("mode", "values")),
                            _if(
                                _has("mode", "fields"),
                                {"anyOf": [_some("sealed_fields"), _some("sealed_tags")]},
                                _none("sealed_fields", "sealed_tags"),
                            ),
                            _FORMAT,
                            _if(_has("format", "schema"), _has("mode", "fields"), _none("sealed_tags")),
                        ]
                    }
                }
            },
        ),
        _for("PythonTransform", "produce", {"properties": {"config": _needs("quarantine_topic")}}),
        _for("ProducePolicy", "produce"),
        _for("Masking", "fetch"),
        _if(
            _has("name", "RecordHeaders", "PythonTransform"),
            {"properties": {"rules": {"minItems": 1, "items": _needs("direction")}}} | _needs("rules"),
        ),
        _if(
            _has("name", "Masking"),
            {
                "properties": {
                    "config": {
                        "allOf": [
                            _if(_HASHES, _needs("hash_key_file"), _without("hash_key_file")),
                            _FORMAT,
                        ],
                        "properties": {"fields": {"minItems": 1}},
                    }
                }
            },
        ),
    ],
    "MaskedField": [_if(_has("action", "constant"), _needs("value"), _without("value"))],
    "Tenant": [{"properties": {"allowed_topics": {"uniqueItems": True}}}],
    "Auth": [{"properties": {"principals": {"uniqueItems": True}}}],
}
"""What the keys of a section demand of each other, by the section's class."""
