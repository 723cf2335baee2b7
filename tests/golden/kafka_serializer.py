"""Kafka's own serializer, in a process of its own: the other side is oracle.py.

    python -m golden.kafka_serializer RELEASE SEED MESSAGES

A process can hold one Kafka release, and a Java VM uses SIGSEGV for itself: so this is not done in pytest's.

    out   {"combinations": [[api_key or name, kind, version], ...]}     what brokers of this release serve
    in    [[name, version], ...]                                        what to make messages of
    out   {"name", "version", "index", "json", "body", "records",       per message; bodies and records in base64
           "renamed", "unknown", "schema"}
    out   {"end": number of messages}

Every message goes random JSON -> `*JsonConverter.read` -> a message of Kafka's -> `write` -> body, and back to JSON
by `*JsonConverter.write`. `renamed` is the body with other names, `unknown` the body with unknown tagged fields added
somewhere (null where the version has no tagged fields); `schema`, with the first message of a combination, is what
Kafka's `SCHEMAS` say of it (schema_text.py).
"""

import json
import os
import random
import sys
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from bifrost.jars import locked_jars
from bifrost.wire.schema import Field, FieldType, MessageSchema, message_schema
from golden.kafka_json import json_name, with_other_names
from golden.random_messages import MessageMaker, mood_of
from golden.schema_text import java_schema_text
from java_vm import java_class, start_java

MESSAGES = "org.apache.kafka.common.message"
DATA_NAMES = {
    "RequestHeader": "RequestHeaderData",
    "ResponseHeader": "ResponseHeaderData",
    "ConsumerProtocolSubscription": "ConsumerProtocolSubscription",
    "ConsumerProtocolAssignment": "ConsumerProtocolAssignment",
}
"""The Java classes of what belongs to no API."""
UNKNOWN_TAGS = (0, 1, 2, 3, 4, 5, 126, 127, 128, 16383, 16384, 2**31 - 2)
UNKNOWN_SIZES = (0, 1, 5, 127, 128, 300)


def main() -> None:
    """Answer the one question that is asked on standard input."""
    release, seed, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # a Java VM warns on standard output
    start_java(locked_jars.resolve(locked_jars.converter_coordinates(release)))

    def answer(value: dict[str, Any]) -> None:
        answers.write(json.dumps(value) + "\n")

    answer({"combinations": list(served_combinations())})
    answers.flush()
    made = 0
    serializer = Serializer(seed)
    for name, version in json.load(sys.stdin):
        for index in range(count):
            answer(serializer.sample(name, version, index))
            made += 1
    answer({"end": made})
    answers.flush()
    # Java's own threads would only delay the end.
    os._exit(0)


def served_combinations() -> Iterator[tuple[int | str, str, int]]:
    """Yield what this release's brokers serve, by Java's own word: (API key, direction, version), and the
    headers and payloads by name."""
    broker = java_class(f"{MESSAGES}.ApiMessageType$ListenerType").BROKER
    for api in java_class("org.apache.kafka.common.protocol.ApiKeys").values():
        if api.inScope(broker):
            for version in range(int(api.oldestVersion()), int(api.latestVersion(True)) + 1):
                yield int(api.id), "request", version
                yield int(api.id), "response", version
    for name, java_name in DATA_NAMES.items():
        java = java_class(f"{MESSAGES}.{java_name}")
        for version in range(int(java.LOWEST_SUPPORTED_VERSION), int(java.HIGHEST_SUPPORTED_VERSION) + 1):
            yield name, message_schema(name).kind, version


class Serializer:
    """Makes random messages and lets Kafka write them; the same seed gives the same messages."""

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._mapper = _json_mapper()
        self._cache = java_class("org.apache.kafka.common.protocol.ObjectSerializationCache")
        self._accessor = java_class("org.apache.kafka.common.protocol.ByteBufferAccessor")
        self._buffer = java_class("java.nio.ByteBuffer")
        self._raw_field = java_class("org.apache.kafka.common.protocol.types.RawTaggedField")
        self._batches = list(_record_batches())
        self._converters: dict[str, Any] = {}

    def sample(self, name: str, version: int, index: int) -> dict[str, Any]:
        """Make the `index`-th message of a combination."""
        schema = message_schema(name)
        chance = random.Random(f"{self._seed} {name} {version} {index}")
        node = MessageMaker(schema, version, mood_of(index), chance, self._batches).make()
        converter = self._converter(schema)
        message = self._read(converter, node, version)
        sample = {
            "name": name,
            "version": version,
            "index": index,
            "json": bytes(self._mapper.writeValueAsBytes(converter.write(message, version, False))).decode(),
            "body": self._write(message, version),
            "records": list(_records_of(node, schema.fields)),
            "renamed": self._write(
                self._read(converter, with_other_names(node, schema.fields, version), version), version
            ),
            "unknown": None,
            "schema": java_schema_text(message.SCHEMAS[version]) if index == 0 else None,
        }
        if schema.is_flexible(version):
            self._add_unknown_fields(message, schema.fields, version, chance)
            sample["unknown"] = self._write(message, version)
        return sample

    def _converter(self, schema: MessageSchema) -> Any:
        if schema.name not in self._converters:
            if schema.api_key is None:
                java_name = f"{MESSAGES}.{DATA_NAMES[schema.name]}"
            else:
                api = java_class(f"{MESSAGES}.ApiMessageType").fromApiKey(schema.api_key)
                fresh = api.newRequest() if schema.kind == "request" else api.newResponse()
                java_name = str(fresh.getClass().getName())
            self._converters[schema.name] = java_class(java_name + "JsonConverter")
        return self._converters[schema.name]

    def _read(self, converter: Any, node: dict[str, Any], version: int) -> Any:
        return converter.read(self._mapper.readTree(json.dumps(node).encode()), version)

    def _write(self, message: Any, version: int) -> str:
        cache = self._cache()
        buffer = self._buffer.allocate(message.size(cache, version))
        message.write(self._accessor(buffer), cache, version)
        assert not buffer.hasRemaining()
        return b64encode(bytes(buffer.array())).decode()

    def _add_unknown_fields(
        self, message: Any, fields: Sequence[Field], version: int, chance: random.Random
    ) -> None:
        structs = list(_structs_of(message, fields, version))
        for struct, known in chance.sample(structs, min(len(structs), chance.choice((1, 1, 1, 3)))):
            tags = [tag for tag in UNKNOWN_TAGS if tag not in known]
            for tag in sorted(chance.sample(tags, chance.choice((1, 1, 2)))):
                content = chance.randbytes(chance.choice(UNKNOWN_SIZES))
                struct.unknownTaggedFields().add(self._raw_field(tag, content))


def _json_mapper() -> Any:
    mapper = java_class("com.fasterxml.jackson.databind.ObjectMapper")()
    parser = java_class("com.fasterxml.jackson.core.JsonParser$Feature")
    generator = java_class("com.fasterxml.jackson.core.JsonGenerator$Feature")
    # NaN and Infinity, as Python reads and writes them.
    mapper.configure(parser.ALLOW_NON_NUMERIC_NUMBERS, True)
    return mapper.configure(generator.QUOTE_NON_NUMERIC_NUMBERS, False)


def _record_batches() -> Iterator[bytes]:
    """Yield runs of record batches: small, compressed, larger than the engine copies, several."""
    compression = java_class("org.apache.kafka.common.compress.Compression")
    package = _records_package()
    memory_records, record = java_class(f"{package}.MemoryRecords"), java_class(f"{package}.SimpleRecord")
    to_bytes = java_class("org.apache.kafka.common.utils.Utils").toArray
    chance = random.Random(0)
    batches = []
    for codec, count, size in (("none", 1, 10), ("gzip", 3, 200), ("none", 2, 5000)):
        records = [record(1_700_000_000_000 + i, b"key", chance.randbytes(size)) for i in range(count)]
        batch = memory_records.withRecords(compression.of(codec).build(), *records)
        batches.append(bytes(to_bytes(batch.buffer())))
    yield from batches
    yield b"".join(batches)


def _records_package() -> str:
    # Kafka 4 moved it.
    for package in ("org.apache.kafka.common.record.internal", "org.apache.kafka.common.record"):
        with suppress(LookupError):
            java_class(f"{package}.MemoryRecords")
            return package
    raise LookupError("MemoryRecords")


def _records_of(node: dict[str, Any], fields: Sequence[Field]) -> Iterator[str | None]:
    """Yield the records of a message in Kafka's JSON form, in the order of its fields."""
    for field in fields:
        value = node.get(json_name(field))
        if field.type is FieldType.RECORDS:
            yield value
        elif field.type is FieldType.STRUCT and value is not None:
            for item in value if field.is_array else [value]:
                yield from _records_of(item, field.fields)


def _structs_of(struct: Any, fields: Sequence[Field], version: int) -> Iterator[tuple[Any, set[int | None]]]:
    """Yield the message and every struct that is written with it, and their known tags."""
    yield struct, {field.tag for field in fields if field.is_tagged(version)}
    for field in fields:
        if field.type is not FieldType.STRUCT or version not in field.versions:
            continue
        value = getattr(struct, json_name(field))()
        if value is None or (not field.is_array and field.is_tagged(version)):
            continue  # a tagged struct may be at its default and then is not written
        for item in value if field.is_array else [value]:
            yield from _structs_of(item, field.fields, version)


if __name__ == "__main__":
    main()
