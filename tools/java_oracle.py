"""Compare the schemas and message classes with Kafka's own generated classes.

    python tools/java_oracle.py 4.3.1

For one release: the header versions of every API and version (ApiMessageType), and the default of every field
of every message and struct (a fresh `*Data` object). What this release lacks is another's and not compared;
neither is what frames look like. Exits 1 and names each difference.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

from bifrost.jars import locked_jars
from bifrost.jars.errors import JvmError
from bifrost.wire.message import Message, Struct, message_class
from bifrost.wire.schema import Field, FieldType, all_schemas, request_schema, response_schema
from java_vm import java_class, start_java

_MESSAGES = "org.apache.kafka.common.message"
_CONVERSIONS: dict[FieldType, Callable[[Any], object]] = {
    FieldType.BOOL: bool,
    FieldType.FLOAT64: float,
    FieldType.STRING: str,
    FieldType.BYTES: lambda value: bytes(value.array() if hasattr(value, "array") else value),
    FieldType.UUID: lambda value: b"".join(
        int(half).to_bytes(8, "big", signed=True)
        for half in (value.getMostSignificantBits(), value.getLeastSignificantBits())
    ),
}


def main() -> int:
    """Run the comparison for the release in the arguments; return the exit code."""
    if len(sys.argv) != 2:
        print("usage: python tools/java_oracle.py RELEASE", file=sys.stderr)
        return 2
    try:
        start_java(locked_jars.resolve(locked_jars.client_coordinates(sys.argv[1])))
    except JvmError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    differences = []
    for what, results in (("header versions", compare_headers()), ("defaults", compare_defaults())):
        found = list(results)
        differences += [line for line in found if line]
        print(f"{len(found)} {what} compared with Kafka {sys.argv[1]}")
    for line in differences:
        print(line, file=sys.stderr)
    return 1 if differences else 0


def compare_headers() -> Iterator[str]:
    """Yield for each version of each API that brokers serve what differs, or an empty line."""
    for api in java_class(f"{_MESSAGES}.ApiMessageType").values():
        api_key = int(api.apiKey())
        try:
            request, response = request_schema(api_key), response_schema(api_key)
        except KeyError:
            continue
        for version in range(int(api.lowestSupportedVersion()), int(api.highestSupportedVersion(True)) + 1):
            theirs = int(api.requestHeaderVersion(version)), int(api.responseHeaderVersion(version))
            ours = request.request_header_version(version), response.response_header_version(version)
            yield "" if ours == theirs else f"{request.name} v{version}: headers {ours}, in Kafka {theirs}"


def compare_defaults() -> Iterator[str]:
    """Yield for each field of each message and struct what differs, or an empty line."""
    for schema in all_schemas():
        ours = message_class(schema.name)
        theirs = f"{_MESSAGES}.{schema.name}{'' if schema.kind == 'data' else 'Data'}"
        yield from _compare_struct(ours, theirs)
        for name, struct in _structs(ours):
            yield from _compare_struct(struct, f"{theirs}${name}")


def _structs(message: type[Message]) -> Iterator[tuple[str, type[Struct]]]:
    for name, value in vars(message).items():
        if isinstance(value, type) and issubclass(value, Struct):
            yield name, value


def _compare_struct(struct: type[Struct], java_name: str) -> Iterator[str]:
    try:
        theirs = java_class(java_name)()
    except LookupError:
        return
    fresh = struct()
    for field in struct.FIELDS:
        getter = getattr(theirs, field.kafka_name[0].lower() + field.kafka_name[1:], None)
        if getter is None:
            continue
        expected, found = _convert(getter(), field), getattr(fresh, field.name)
        if isinstance(found, Struct):
            found = type(found).__name__
        same = type(found) is type(expected) and found == expected
        yield "" if same else f"{struct.__qualname__}.{field.name} is {found!r}, in Kafka {expected!r}"


def _convert(value: Any, field: Field) -> object:
    if value is None:
        return None
    if field.is_array:
        return list(value)
    if field.type is FieldType.STRUCT:
        return str(type(value).class_.getSimpleName())
    return _CONVERSIONS.get(field.type, int)(value)


if __name__ == "__main__":
    sys.exit(main())
