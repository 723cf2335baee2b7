"""The schema registry that a filter asks: the keys of all filters that do."""

from enum import StrEnum

from pydantic import Field

from bifrost.config.section import Section
from bifrost.config.values import Count, DurationMs, HttpUrl, Text


class SubjectName(StrEnum):
    """How the subject of a topic is called: as clients' setting `value.subject.name.strategy`."""

    TOPIC = "topic"
    RECORD = "record"
    TOPIC_RECORD = "topic_record"


class ValueFormat(StrEnum):
    """What values are."""

    JSON = "json"
    SCHEMA = "schema"


class RegistryConfig(Section):
    """Where the schemas of records are."""

    registry_url: HttpUrl | None = Field(default=None, examples=["https://registry.internal:8081"])
    """Of filters that read schemas: the URL of the schema registry, up to `/schemas`, such as
    `https://registry.internal:8081`, or `https://apicurio.internal/apis/ccompat/v7`. Required with
    `SchemaValidator` and with `format: schema`. Default: the key is absent."""

    registry_username: Text | None = Field(default=None, examples=["gateway"])
    """Of filters that read schemas: the user by whom the gateway logs in, with `registry_password_file`. Default:
    none."""

    registry_password_file: Text | None = None
    """Of filters that read schemas: the file that has this user's password. It is read for each request. Default:
    none."""

    registry_token_file: Text | None = None
    """Of filters that read schemas: the file that has a bearer token, in place of a user. It is read for each request.
    Default: none."""

    registry_ca_file: Text | None = None
    """Of filters that read schemas: certificates, as PEM, of those who may vouch for the registry. Default: those of
    the system."""

    registry_timeout_ms: DurationMs = Field(default=3_000, ge=1, le=60_000)
    """Of filters that read schemas: how long one request to the registry may take, in milliseconds. Default 3 s, so
    that a second try fits into `max_record_wait_ms`."""

    max_schemas: Count = Field(default=1_000, ge=1, le=1_000_000)
    """Of filters that read schemas: how many answers of the registry are kept; the one that was used least recently
    makes room. Default 1,000."""

    schema_cache_ms: DurationMs = Field(default=300_000, ge=1_000, le=86_400_000)
    """Of filters that read schemas: how long an answer serves, in milliseconds: so long a schema that was deleted from
    its subject stays valid. Default 5 min. While the registry is away it serves for an hour more."""

    unknown_schema_cache_ms: DurationMs = Field(default=10_000, ge=1, le=86_400_000)
    """Of filters that read schemas: how long the answer serves that there is no such schema, in milliseconds: so long
    a schema that is registered after its first record is unknown. Default 10 s."""


OF_REGISTRY = frozenset(RegistryConfig.model_fields) | {"subject"}
"""Keys that mean nothing where no schema is read."""


class FormatConfig(RegistryConfig):
    """How fields of values are found."""

    format: ValueFormat = ValueFormat.JSON
    """Of filters for fields: what values are. `json`: JSON, also with the ID of a schema before it. `schema`: Avro or
    JSON, as the schema says that each value names; that needs `registry_url`. Default `json`."""


class SubjectConfig(RegistryConfig):
    """Which schemas producers may name."""

    subject: SubjectName = SubjectName.TOPIC
    """Of `SchemaValidator`, and of `EnvelopeEncryption` with `format: schema`: what subjects are called: `topic`, such
    as orders-value; `record`, the full name of the record; `topic_record`, both. Default `topic`, as clients do
    it by default."""


def check_registry(config: RegistryConfig) -> None:
    """Check what needs more than one key.

    Raises:
        ValueError: something is missing, or too much.
    """
    if config.registry_url is None:
        raise ValueError("config has no registry_url, and there are the schemas that it needs")
    if (config.registry_username is None) != (config.registry_password_file is None):
        raise ValueError("registry_username and registry_password_file need each other")
    if config.registry_token_file is not None and config.registry_username is not None:
        raise ValueError("there are registry_token_file and registry_username: remove one of them")


def check_format(config: FormatConfig) -> None:
    """Check that there is a registry where schemas say what values are, and only there.

    Raises:
        ValueError: something is missing, or too much.
    """
    if config.format is ValueFormat.SCHEMA:
        check_registry(config)
        return
    foreign = sorted(config.model_fields_set & OF_REGISTRY)
    if foreign:
        raise ValueError(f"config.{foreign[0]} is for format: schema")
