"""What a filter asks for: whether an ID is a schema of a topic's subject, and what reads its payloads."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from bifrost.schemas.readers.reader import Reader
from bifrost.schemas.wire_format import SchemaId


class SubjectStrategy(StrEnum):
    """How clients name the subject of a schema (`value.subject.name.strategy`)."""

    TOPIC = "topic"
    """`<topic>-value`: TopicNameStrategy."""
    RECORD = "record"
    """The full name of the record: RecordNameStrategy."""
    TOPIC_RECORD = "topic_record"
    """`<topic>-<full name>`: TopicRecordNameStrategy."""


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """A registry as one filter asks it."""

    url: str
    username: str | None = None
    password_file: Path | None = None
    token_file: Path | None = None
    ca_file: Path | None = None
    """PEM; None: the system's certificates."""
    timeout_ms: int = 3_000
    """Of one request."""
    max_schemas: int = 1_000
    cache_ms: int = 300_000
    """How long an answer serves."""
    unknown_cache_ms: int = 10_000
    """How long the answer serves that there is no such schema, or that it is not the topic's."""


@dataclass(frozen=True, slots=True)
class SchemaKey:
    """A schema for the keys or values of one topic; a `Key` of transforms."""

    source: ClassVar[str] = "schemas"
    registry: RegistrySettings
    schema_id: SchemaId
    topics: tuple[str, ...]
    """What clients call the topic: by the path from the tenant, or from a namespace. None: any schema will do."""
    is_key: bool
    strategy: SubjectStrategy
    is_read: bool
    """Whether payloads are to be read."""


@dataclass(frozen=True, slots=True)
class SchemaAnswer:
    """What the registry says to a SchemaKey."""

    reason: str | None = None
    """Why no record may have this ID; None: records may."""
    reader: Reader | None = None
    """What reads payloads, where that was asked for."""


def subjects_of(key: SchemaKey, names: Collection[str]) -> list[str]:
    """Return the subjects of which a schema must have one.

    Args:
        key: the topic and the strategy.
        names: those of what the schema describes (`Reader.names`); not needed by SubjectStrategy.TOPIC.
    """
    if key.strategy is SubjectStrategy.TOPIC:
        return [f"{topic}-{'key' if key.is_key else 'value'}" for topic in key.topics]
    if key.strategy is SubjectStrategy.RECORD:
        return sorted(names)
    return [f"{topic}-{name}" for topic in key.topics for name in sorted(names)]


def is_of_subject(subjects: Collection[str], wanted: Collection[str]) -> bool:
    """Whether one of the subjects that a schema has is one that is wanted.

    A registry may name the context before the subject, `:.context:subject` (Confluent's contexts).
    """
    own = {one.partition(":")[2].partition(":")[2] if one.startswith(":.") else one for one in subjects}
    return not own.isdisjoint(wanted)
