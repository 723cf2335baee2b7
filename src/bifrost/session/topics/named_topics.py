"""Names and IDs of the topics in a broker's answer, read from its bytes.

To decode thousands of partitions only to get their topics' names would hold up the event loop for tens of milliseconds;
the engine skips the partitions.
"""

from dataclasses import dataclass, field
from typing import Any

from bifrost.tenancy.names import PhysicalTopic
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode
from bifrost.wire.headers import response_body_offset
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.rewriting import Names, rewrite
from bifrost.wire.schema import response_schema

_NAME, _ID, _CURSOR = 1, 2, 3
_SLOTS = {"Topics.Name": _NAME, "Topics.TopicId": _ID}
_PAGE_SLOTS = _SLOTS | {"NextCursor.TopicName": _CURSOR}


@dataclass(slots=True)
class NamedTopics:
    """The topics in an answer to Metadata or DescribeTopicPartitions."""

    topics: list[tuple[bytes, PhysicalTopic]] = field(default_factory=list)
    """ID and physical name of each topic that has both."""
    last_name: PhysicalTopic | None = None
    """The name of the last topic that has one."""
    cursor: PhysicalTopic | None = None
    """The name of the topic that the next page begins with; None: there is no next page."""
    _name: PhysicalTopic | None = None

    def see(self, slot: int, value: bytes) -> bytes:
        """Note the next name or ID. The engine does not show zero IDs and null names."""
        if slot == _NAME:
            self._name = self.last_name = PhysicalTopic(value)
        elif slot == _CURSOR:
            self.cursor = PhysicalTopic(value)
        elif self._name is not None:
            self.topics.append((value, self._name))
            self._name = None
        return value


def named_topics(api_key: int, version: int, frame: bytes) -> NamedTopics:
    """Read the frame of an answer, given without its length.

    Raises:
        WireError: the frame is no such answer.
    """
    schema = response_schema(api_key)
    slots = _PAGE_SLOTS if api_key == ApiKey.DESCRIBE_TOPIC_PARTITIONS else _SLOTS
    offset, _ = response_body_offset(frame, schema.response_header_version(version) >= 1)
    found = NamedTopics()
    if rewrite(compile_program(schema.name, version, slots), frame, offset, Names(found.see)) is not None:
        return found
    # The answer has a tagged field of a newer Kafka, which decoding leaves out.
    response: Any = decode(compile_layout(schema.name, version), frame, offset)
    found = NamedTopics()
    for topic in response.topics:
        if topic.name is not None:
            found.see(_NAME, topic.name.encode())
        if any(topic.topic_id):
            found.see(_ID, topic.topic_id)
    cursor = getattr(response, "next_cursor", None)
    found.cursor = None if cursor is None else PhysicalTopic(cursor.topic_name.encode())
    return found
