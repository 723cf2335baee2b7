"""What SchemaValidator does: the keys of its `config`."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field, StrictStr

from bifrost.config.records.fail_mode import FailureConfig, check_failure
from bifrost.config.records.registry_config import SubjectConfig, check_registry
from bifrost.config.section import Section
from bifrost.config.values import Flag, Name, SizeBytes

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


class SchemaCheck(Section):
    """A rule over the fields of a record."""

    name: Name = Field(examples=["adult"])
    """What clients are told that a record breaks. Required."""

    expression: Expression = Field(examples=["value.age >= 18"])
    """An expression in CEL that is true for a record that may pass; `value` and `key` are its parts. Required."""


class SchemaValidatorConfig(FailureConfig, SubjectConfig):
    """What SchemaValidator does."""

    enforce: Flag = True
    """Of `SchemaValidator`: whether records that are not valid are rejected. With false they pass, and are counted.
    Default true."""

    level: SchemaLevel = SchemaLevel.SCHEMA
    """Of `SchemaValidator`: how much is looked at. `id`: the ID of a schema, which must be one of the topic's subject.
    `schema`: also the payload, which must read under it. `rules`: also `checks`. Default `schema`."""

    parts: tuple[SchemaPart, ...] = Field(default=(SchemaPart.VALUE,), min_length=1, max_length=2)
    """Of `SchemaValidator`: what has a schema: `value`, `key` or both. Default `value`."""

    checks: tuple[SchemaCheck, ...] = Field(
        default=(), max_length=MAX_CHECKS, examples=['[{ name: adult, expression: "value.age >= 18" }]']
    )
    """Of `SchemaValidator`: with `level: rules`, what must be true for each record that has a value. Default: none."""

    max_payload_bytes: SizeBytes = Field(default=4 * 1024 * 1024, ge=1, le=2**31 - 1)
    """Of `SchemaValidator`: the largest key or value that is read; a larger one is not valid. A large one is read in a
    process of its own, which may take 64 times as much memory. Default 4 MiB, four times what brokers take by default
    (`message.max.bytes`)."""


def check_schemas(config: SchemaValidatorConfig) -> None:
    """Check what needs more than one key.

    Raises:
        ValueError: something is missing, or too much.
    """
    check_failure(config)
    if config.quarantine_topic is not None and not config.enforce:
        raise ValueError("quarantine_topic is for records that are refused: with enforce: false none is")
    check_registry(config)
    if bool(config.checks) != (config.level is SchemaLevel.RULES):
        raise ValueError("level: rules needs checks, and no other level does")
    if len(set(config.parts)) != len(config.parts):
        raise ValueError("parts has one of them twice")
    names = [one.name for one in config.checks]
    if len(set(names)) != len(names):
        raise ValueError("two checks have the same name")
