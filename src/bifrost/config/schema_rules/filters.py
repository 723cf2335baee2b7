"""What the keys of a filter of records demand of each other, and what filters of a tenant do."""

from collections.abc import Mapping

from bifrost.config.records.encryption_config import EnvelopeEncryptionConfig
from bifrost.config.records.filter_configs import ProducePolicyConfig, RecordHeadersConfig
from bifrost.config.records.masking_config import MaskingConfig
from bifrost.config.records.python_transform_config import PythonTransformConfig
from bifrost.config.records.record_filter import EVERYONE, FilterName
from bifrost.config.records.registry_config import OF_REGISTRY
from bifrost.config.records.schema_config import SchemaValidatorConfig
from bifrost.config.schema_rules.pieces import (
    Schema,
    any_of,
    at_most_one,
    empty,
    given,
    has,
    needs,
    same,
    some,
    when,
    within,
    without,
)
from bifrost.config.section import Section

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
    config: Schema = {"minProperties": 1} | without(*sorted(others)) | (needs(*needed) if needed else {})
    if all(not field.default for field in own.values()):
        config["anyOf"] = [given(key, {"not": {"enum": [False, []]}}) for key in own]
    return when(has("name", name), {"properties": {"config": config}})


_HASHES = {"properties": {"fields": {"contains": has("action", "hash")}}, "required": ["fields"]}
"""A config with a field that is hashed."""

_FORMAT = when(has("format", "schema"), needs("registry_url"), without(*sorted(OF_REGISTRY)))

_QUARANTINES = when(has("fail", "quarantine"), needs("quarantine_topic"))


_LOGIN: Schema = {
    "dependentRequired": {
        "registry_username": ["registry_password_file"],
        "registry_password_file": ["registry_username"],
    },
    "not": needs("registry_token_file", "registry_username"),
}
"""How the gateway logs in to a registry: by a user, by a token, or not."""


def _for(name: str, direction: str, where: Schema | None = None) -> Schema:
    """A filter that does something on one way only, always or where its other keys are so."""
    named = has("name", name)
    return when(
        named if where is None else {"allOf": [named, where]},
        {"properties": {"rules": {"items": {"properties": {"direction": {"const": direction}}}}}},
    )


FILTER: list[Schema] = [
    _filter("RecordHeaders"),
    _filter("ProducePolicy"),
    _filter("Masking", "fields"),
    _filter("PythonTransform"),
    when(
        has("name", "PythonTransform"),
        {"properties": {"config": {"oneOf": [needs("transform_file"), needs("entry_point")]} | _QUARANTINES}},
    ),
    _filter("SchemaValidator", "registry_url"),
    when(
        has("name", "SchemaValidator"),
        {
            "properties": {
                "config": {
                    "allOf": [
                        _QUARANTINES,
                        when(needs("quarantine_topic"), {"properties": {"enforce": {"const": True}}}),
                        when(
                            has("level", "rules"),
                            {"properties": {"checks": {"minItems": 1}}} | needs("checks"),
                            {"properties": {"checks": {"maxItems": 0}}},
                        ),
                    ]
                }
            }
        },
    ),
    _for("SchemaValidator", "produce"),
    _filter("EnvelopeEncryption", "kms_provider", "key_id"),
    when(
        has("name", "EnvelopeEncryption"),
        {
            "properties": {
                "config": {
                    "allOf": [
                        when(needs("sealing_key_file"), has("mode", "values")),
                        when(
                            has("mode", "fields"),
                            {"anyOf": [some("sealed_fields"), some("sealed_tags")]},
                            empty("sealed_fields", "sealed_tags"),
                        ),
                        _FORMAT,
                        when(has("format", "schema"), has("mode", "fields"), empty("sealed_tags")),
                        when(has("kms_provider", "Vault"), without("aws_kms", "key_file")),
                        when(has("kms_provider", "AwsKms"), without("vault", "key_file")),
                        when(
                            has("kms_provider", "KeyFile"),
                            {"properties": {"vault": False, "aws_kms": False}} | needs("key_file"),
                        ),
                    ]
                },
                "rules": {"items": same("principals", list(EVERYONE))},
            }
        },
    ),
    within("config", _LOGIN),
    _for("PythonTransform", "produce", {"properties": {"config": needs("quarantine_topic")}}),
    _for("ProducePolicy", "produce"),
    _for("Masking", "fetch"),
    when(
        has("name", "RecordHeaders", "PythonTransform"),
        {"properties": {"rules": {"minItems": 1, "items": needs("direction")}}} | needs("rules"),
    ),
    when(
        has("name", "Masking"),
        {
            "properties": {
                "config": {
                    "allOf": [
                        when(_HASHES, needs("hash_key_file"), without("hash_key_file")),
                        _FORMAT,
                    ],
                    "properties": {"fields": {"minItems": 1}},
                }
            }
        },
    ),
]
"""The rules of one filter."""

_SEALING = has("name", "EnvelopeEncryption")
_WHOLE: Schema = {
    "anyOf": [
        {"not": needs("rules")},
        within("rules", {"maxItems": 0}),
        any_of(
            "rules",
            {
                "allOf": [
                    without("namespace"),
                    {"anyOf": [{"not": needs("topics")}, any_of("topics", {"const": "*"})]},
                ]
            },
        ),
    ]
}
"""A filter that is for every topic of the tenant."""
_PUTS_ASIDE = given("config", needs("quarantine_topic"))


def _called(name: str) -> Schema:
    """A filter that metrics call so: by its label, or without one by its name."""
    return {"anyOf": [has("label", name), {"allOf": [has("name", name), without("label")]}]}


FILTERS: list[Schema] = [
    {"uniqueItems": True},
    *(at_most_one(_called(name.value)) for name in FilterName),
    when(
        {"contains": {"allOf": [_SEALING, _WHOLE]}},
        at_most_one(_SEALING) | {"not": {"contains": _PUTS_ASIDE}},
    ),
    when(
        {"contains": {"allOf": [_PUTS_ASIDE, _WHOLE]}},
        {"not": {"contains": _SEALING}},
    ),
]
"""The rules of all filters of a tenant together."""
