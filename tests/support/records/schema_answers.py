"""What a registry would say of schemas, for tests of transforms without one."""

import json
from typing import Any

from bifrost.schemas.build_reader import build_reader
from bifrost.schemas.registered_schema import Reference, RegisteredSchema, SchemaType
from bifrost.schemas.schema_key import RegistrySettings, SchemaAnswer, SchemaKey, SubjectStrategy
from bifrost.transforms.record_transform import Key

REGISTRY = RegistrySettings("http://registry")


def answers(
    schema_id: int,
    kind: SchemaType,
    schema: Any,
    *references: Reference,
    topics: tuple[str, ...] = ("orders",),
) -> dict[Key, object]:
    """Return what is known of a schema: for producers of a topic, and for consumers."""
    answer = SchemaAnswer(None, build_reader(RegisteredSchema(kind, json.dumps(schema), references)))
    return {
        SchemaKey(REGISTRY, schema_id, names, False, SubjectStrategy.TOPIC, True): answer
        for names in (topics, ())
    }


def of_schema(schema_id: int, payload: bytes) -> bytes:
    """Return a value that names its schema."""
    return b"\0" + schema_id.to_bytes(4, "big") + payload
