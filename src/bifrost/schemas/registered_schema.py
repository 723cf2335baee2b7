"""A schema as a registry gives it out."""

from dataclasses import dataclass, field
from enum import StrEnum


class SchemaType(StrEnum):
    """The kinds of schemas, as registries write them."""

    AVRO = "AVRO"
    JSON = "JSON"
    PROTOBUF = "PROTOBUF"


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another one uses."""

    name: str
    """By which the other one names it."""
    text: str


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema with all that it uses."""

    kind: SchemaType
    text: str
    references: tuple[Reference, ...] = ()
    """Each before those that use it."""
    descriptors: bytes = field(default=b"", repr=False)
    """Of Protobuf: the FileDescriptorSet that its text was compiled to, its own file last."""
