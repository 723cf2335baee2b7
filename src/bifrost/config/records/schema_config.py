"""What SchemaValidator does: the keys of its `config`."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StrictStr

from bifrost.config.records.fail_mode import FailureConfig, check_failure
from bifrost.config.section import Section
from bifrost.config.values import Count, DurationMs, Flag, HttpUrl, Name, SizeBytes, Text

MAX_CHECKS = 100
"""Most rules of one filter: each is applied to each record."""

Expression = Annotated[StrictStr, Field(min_length=1, max_length=4096)]


class SchemaLevel(StrEnum):
    """How much of a record is looked at."""

    ID = "id"
    SCHEMA = "schema"
    RULES = "rules"


class SchemaPart(StrEnum):
    """What of a record has a schema."""

    KEY = "key"
    VALUE = "value"


class SubjectName(StrEnum):
    """How the subject of a topic is called: as clients' setting `value.subject.name.strategy`."""

    TOPIC = "topic"
    RECORD = "record"
    TOPIC_RECORD = "topic_record"


class SchemaCheck(Section):
    """A rule over the fields of a record."""

    name: Name = Field(examples=["adult"])
    """What clients are told that a record breaks. Required."""

    expression: Expression = Field(examples=["value.age >= 18"])
    """An expression in CEL that is true for a record that may pass; `value` and `key` are its parts. Required."""


class SchemaValidatorConfig(FailureConfig):
    """What SchemaValidator does."""

    registry_url: HttpUrl | None = Field(default=None, examples=["https://registry.internal:8081"])
    """Of `SchemaValidator`: the URL of the schema registry, up to `/schemas`, such as
    `https://registry.internal:8081`, or `https://apicurio.internal/apis/ccompat/v7`. Required there, no
    default."""

    registry_username: Text | None = Field(default=None, examples=["gateway"])
    """Of `SchemaValidator`: the user by whom the gateway logs in, with `registry_password_file`. Default: none."""

    registry_password_file: Text | None = None
    """Of `SchemaValidator`: the file that has this user's password. It is read for each request. Default: none."""

    registry_token_file: Text | None = None
    """Of `SchemaValidator`: the file that has a bearer token, in place of a user. It is read for each request.
    Default: none."""

    registry_ca_file: Text | None = None
    """Of `SchemaValidator`: certificates, as PEM, of those who may vouch for the registry. Default: those of the
    system."""

    registry_timeout_ms: DurationMs = Field(default=3_000, ge=1, le=60_000)
    """Of `SchemaValidator`: how long one request to the registry may take, in milliseconds. Default 3 s, so that a
    second try fits into `max_record_wait_ms`."""

    enforce: Flag = True
    """Of `SchemaValidator`: whether records that are not valid are rejected. With false they pass, and are counted.
    Default true."""

    level: SchemaLevel = SchemaLevel.SCHEMA
    """Of `SchemaValidator`: how much is looked at. `id`: the ID of a schema, which must be one of the topic's subject.
    `schema`: also the payload, which must read under it. `rules`: also `checks`. Default `schema`."""

    parts: tuple[SchemaPart, ...] = Field(default=(SchemaPart.VALUE,), min_length=1, max_length=2)
    """Of `SchemaValidator`: what has a schema: `value`, `key` or both. Default `value`."""

    subject: SubjectName = SubjectName.TOPIC
    """Of `SchemaValidator`: what subjects are called: `topic`, such as orders-value; `record`, the full name of the
    record; `topic_record`, both. Default `topic`, as clients do it by default."""

    checks: tuple[SchemaCheck, ...] = Field(
        default=(), max_length=MAX_CHECKS, examples=['[{ name: adult, expression: "value.age >= 18" }]']
    )
    """Of `SchemaValidator`: with `level: rules`, what must be true for each record that has a value. Default: none."""

    max_payload_bytes: SizeBytes = Field(default=4 * 1024 * 1024, ge=1, le=2**31 - 1)
    """Of `SchemaValidator`: the largest key or value that is read; a larger one is not valid. A large one is read in a
    process of its own, which may take 64 times as much memory. Default 4 MiB, four times what brokers take by default
    (`message.max.bytes`)."""

    max_schemas: Count = Field(default=1_000, ge=1, le=1_000_000)
    """Of `SchemaValidator`: how many answers of the registry are kept; the one that was used least recently makes room.
    Default 1,000."""

    schema_cache_ms: DurationMs = Field(default=300_000, ge=1_000, le=86_400_000)
    """Of `SchemaValidator`: how long an answer serves, in milliseconds: so long a schema that was deleted from its
    subject stays valid. Default 5 min. While the registry is away it serves for an hour more."""

    unknown_schema_cache_ms: DurationMs = Field(default=10_000, ge=1, le=86_400_000)
    """Of `SchemaValidator`: how long the answer serves that there is no such schema, in milliseconds: so long a schema
    that is registered after its first record is unknown. Default 10 s."""


def check_schemas(config: SchemaValidatorConfig) -> None:
    """Check what needs more than one key.

    Raises:
        ValueError: something is missing, or too much.
    """
    check_failure(config)
    if config.quarantine_topic is not None and not config.enforce:
        raise ValueError("quarantine_topic is for records that are refused: with enforce: false none is")
    if config.registry_url is None:
        raise ValueError("config has no registry_url, which SchemaValidator needs")
    if (config.registry_username is None) != (config.registry_password_file is None):
        raise ValueError("registry_username and registry_password_file need each other")
    if config.registry_token_file is not None and config.registry_username is not None:
        raise ValueError("there are registry_token_file and registry_username: remove one of them")
    if bool(config.checks) != (config.level is SchemaLevel.RULES):
        raise ValueError("level: rules needs checks, and no other level does")
    if len(set(config.parts)) != len(config.parts):
        raise ValueError("parts has one of them twice")
    names = [one.name for one in config.checks]
    if len(set(names)) != len(names):
        raise ValueError("two checks have the same name")
