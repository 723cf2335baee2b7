"""A request by topic and partition, at any version, with what brokers answer to its parts."""

import random
from typing import Any

from bifrost.routes.leaders import LeaderTable
from bifrost.routes.shapes import shapes_of
from bifrost.routes.split import Split
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, encode
from bifrost.wire.headers import REQUEST_PREFIX
from bifrost.wire.message import message_class
from bifrost.wire.programs import compile_layout
from bifrost.wire.schema import request_schema, response_schema

NODES = (1, 2, 3)
NOT_LEADER = 6


def field(struct: Any, *names: str) -> str:
    return next(name for name in names if hasattr(struct, name))


def topics_field(message: Any) -> str:
    return field(message, "topic_data", "topics", "responses")


def partitions_field(topic: Any) -> str:
    return field(topic, "partition_data", "partitions", "partition_indexes", "partition_responses")


def index_of(partition: Any) -> int:
    if isinstance(partition, int):
        return partition
    return int(getattr(partition, field(partition, "index", "partition", "partition_index")))


class Case:
    """A request of an API at a version, with random topics, and what brokers answer to it."""

    def __init__(
        self, key: ApiKey, version: int, seed: int, topics: int = 4, record_bytes: int = 9000
    ) -> None:
        self.random = random.Random(seed)
        self.key, self.version, self.record_bytes = key, version, record_bytes
        self.schemas = request_schema(key), response_schema(key)
        self.by_id = any(
            one.kafka_name == "TopicId" and version in one.versions
            for top in self.schemas[0].fields
            if top.kafka_name in ("Topics", "TopicData")
            for one in top.fields
        )
        self.leaders: dict[bytes, list[int]] = {}
        for number in range(topics):
            name = self.random.randbytes(16) if self.by_id else b"topic-%d" % number
            self.leaders[name] = [self.random.choice(NODES) for _ in range(self.random.randint(1, 6))]
        self.request = self.build(0, self.named())
        self.head = REQUEST_PREFIX.pack(key, version, 77, 3) + b"abc"
        if self.schemas[0].request_header_version(version) >= 2:
            self.head += b"\0"
        self.response_head = (77).to_bytes(4, "big")
        if self.schemas[1].response_header_version(version) >= 1:
            self.response_head += b"\0"

    def named(self) -> list[tuple[bytes, list[int]]]:
        return [
            (name, self.random.sample(range(len(nodes)), self.random.randint(1, len(nodes))))
            for name, nodes in self.leaders.items()
        ]

    def build(self, which: int, named: list[tuple[bytes, list[int]]], error_code: int = 0) -> Any:
        schema = self.schemas[which]
        message: Any = message_class(schema.name)()
        outer = next(one for one in schema.fields if one.name == topics_field(message))
        items = []
        for name, indexes in named:
            topic: Any = getattr(message_class(schema.name), str(outer.struct_name))()
            if self.by_id:
                topic.topic_id = name
            else:
                setattr(topic, field(topic, "name", "topic"), name.decode())
            inner = next(one for one in outer.fields if one.name == partitions_field(topic))
            made: list[Any] = []
            for index in indexes:
                if inner.struct_name is None:
                    made.append(index)
                    continue
                partition: Any = getattr(message_class(schema.name), inner.struct_name)()
                setattr(partition, field(partition, "index", "partition", "partition_index"), index)
                if hasattr(partition, "records"):
                    partition.records = self.random.randbytes(self.random.choice((1, 60, self.record_bytes)))
                if which and hasattr(partition, "error_code"):
                    partition.error_code = error_code
                made.append(partition)
            setattr(topic, inner.name, made)
            items.append(topic)
        setattr(message, outer.name, items)
        return message

    def frame(self, which: int, message: Any) -> bytes:
        head = self.response_head if which else self.head
        return bytes(encode(compile_layout(self.schemas[which].name, self.version), message, head))

    def read(self, which: int, frame: bytes) -> Any:
        start = len(self.response_head) if which else 4 + len(self.head)
        return decode(compile_layout(self.schemas[which].name, self.version), frame, start)

    def listed(self, message: Any) -> list[tuple[bytes, Any]]:
        found = []
        for topic in getattr(message, topics_field(message)):
            name = topic.topic_id if self.by_id else getattr(topic, field(topic, "name", "topic")).encode()
            found += [(name, one) for one in getattr(topic, partitions_field(topic))]
        return found

    def table(self) -> LeaderTable:
        table = LeaderTable(10_000)
        for name, nodes in self.leaders.items():
            table.put(name, nodes, 0)
        return table

    def made(self, segments: list[bytes | memoryview] | None = None) -> Split:
        """Return the request taken apart, in some steps."""
        shapes = shapes_of(self.key, self.version)
        frame, most = self.frame(0, self.request), self.random.choice((1, 2, 5, 1000))
        split = Split(shapes.request, shapes.template, segments or [frame], 4 + len(self.head), most)
        while split.is_open:
            before = split.partitions
            assert split.go_on(most) == split.is_open
            assert split.partitions - before <= most
        return split

    def split(self, segments: list[bytes | memoryview] | None = None) -> Split:
        made = self.made(segments)
        assert made.lead(self.table(), 9, -1) == []
        return made

    def answer(self, part: bytes, error_code: int = 0) -> bytes:
        """What a broker answers to its part, with the topics and partitions in another order."""
        named: dict[bytes, list[int]] = {}
        for name, one in self.listed(self.read(0, part)):
            named.setdefault(name, []).append(index_of(one))
        pairs = [(name, indexes[::-1]) for name, indexes in named.items()][::-1]
        return self.frame(1, self.build(1, pairs, error_code))[4:]
