"""Messages as the tests write them: by Kafka's names, structs as plain dictionaries.

    messages.MetadataRequest(topics=[{"name": "orders"}])

is the message class of that name with its structs built from the dictionaries. Below it the few messages that many
tests need, in one line each.
"""

from collections.abc import Mapping
from typing import Any

from bifrost.wire.codec import encode_body
from bifrost.wire.message import Message, Struct, message_class
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import Field, FieldType
from support.physical_names import physical_name


def __getattr__(name: str) -> Any:
    try:
        message_class(name)
    except KeyError:
        raise AttributeError(name) from None
    return lambda **values: build(name, values)


def build(name: str, values: Mapping[str, Any], version: int | None = None) -> Any:
    """Build a message from plain values.

    Args:
        name: Kafka's name of the message.
        values: its fields; structs are mappings.
        version: leave out the fields that this version lacks; None: take them all.
    """
    cls = message_class(name)
    return _struct(cls, cls, values, version)


def _struct(message: type[Message], cls: type[Struct], values: Mapping[str, Any], version: int | None) -> Any:
    fields = {field.name: field for field in cls.FIELDS}
    unknown = set(values) - set(fields)
    assert not unknown, f"{cls.__qualname__} has no field {min(unknown)}"
    present = {
        name: _value(message, fields[name], value, version)
        for name, value in values.items()
        if version is None or version in fields[name].versions
    }
    return cls(**present)


def _value(message: type[Message], field: Field, value: Any, version: int | None) -> Any:
    if value is None or field.type is not FieldType.STRUCT:
        return value
    cls = getattr(message, str(field.struct_name))
    one = value if field.is_array else [value]
    built = [item if isinstance(item, Struct) else _struct(message, cls, item, version) for item in one]
    return built if field.is_array else built[0]


def topic_id(text: str) -> bytes:
    """Give the topic ID that the tests use for a physical topic or any other text."""
    return text.encode().ljust(16, b".")[-16:]


def consumer_payload(kind: str, version: int, **values: Any) -> bytes:
    """Give a payload of the consumer protocol: `kind` is Subscription or Assignment."""
    name = f"ConsumerProtocol{kind}"
    layout = compile_layout(name, min(version, 3))
    return version.to_bytes(2, "big", signed=True) + encode_body(layout, build(name, values, min(version, 3)))


def metadata(*topics: str, **fields: Any) -> Message:
    """Ask for the metadata of topics by name."""
    return build("MetadataRequest", {"topics": [{"name": name} for name in topics], **fields})


def metadata_of(*topics: str, tenant: str | None = None, **fields: Any) -> Message:
    """Answer with the metadata of topics that exist, each with one partition on broker 1.

    Their IDs are those of the physical topics: of the same names, or of the tenant's.
    """
    entries = [
        {
            "name": name,
            "topic_id": topic_id(name if tenant is None else physical_name(tenant, name)),
            "partitions": [{"leader_id": 1, "replica_nodes": [1], "isr_nodes": [1]}],
        }
        for name in topics
    ]
    return build("MetadataResponse", {"controller_id": 1, "topics": entries, **fields})


def produce(*topics: str, acks: int = -1, records: bytes = b"a batch", **fields: Any) -> Message:
    """Produce one batch to partition 0 of topics by name (to v12)."""
    return _produce("name", topics, acks, records, fields)


def produce_by_id(*topic_ids: bytes, acks: int = -1, records: bytes = b"a batch", **fields: Any) -> Message:
    """Produce one batch to partition 0 of topics by ID (from v13)."""
    return _produce("topic_id", topic_ids, acks, records, fields)


def _produce(key: str, topics: tuple[Any, ...], acks: int, records: bytes, fields: dict[str, Any]) -> Message:
    partitions = [{"index": 0, "records": records}]
    data = [{key: topic, "partition_data": partitions} for topic in topics]
    return build("ProduceRequest", {"acks": acks, "timeout_ms": 1500, "topic_data": data, **fields})


def produced(*topics: str | bytes, error_code: int = 0, **fields: Any) -> Message:
    """Answer a Produce; topics are given as they were named, by name or by ID."""
    entries = [
        {
            "topic_id" if isinstance(topic, bytes) else "name": topic,
            "partition_responses": [{"index": 0, "error_code": error_code, "base_offset": 42}],
        }
        for topic in topics
    ]
    return build("ProduceResponse", {"responses": entries, **fields})


def fetch(*topics: str | bytes, **fields: Any) -> Message:
    """Fetch partition 0 of topics, by name (to v12) or by ID (from v13)."""
    entries = [
        {
            "topic_id" if isinstance(topic, bytes) else "topic": topic,
            "partitions": [{"partition": 0, "fetch_offset": 5, "partition_max_bytes": 1024}],
        }
        for topic in topics
    ]
    return build("FetchRequest", {"max_wait_ms": 500, "min_bytes": 1, "topics": entries, **fields})


def fetched(*topics: str | bytes, error_code: int = 0, records: bytes = b"a batch", **fields: Any) -> Message:
    """Answer a Fetch; `error_code` is that of the partitions."""
    entries = [
        {
            "topic_id" if isinstance(topic, bytes) else "topic": topic,
            "partitions": [{"error_code": error_code, "high_watermark": 9, "records": records}],
        }
        for topic in topics
    ]
    return build("FetchResponse", {"responses": entries, **fields})
