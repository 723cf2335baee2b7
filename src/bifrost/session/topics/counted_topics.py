"""Counts the partitions of each topic of a tenant: a list that the gateway asks a broker for, one request at a time.

Like session/topics/own_topics.py, but when a page ends within a topic, the next page continues that topic, because all
its partitions count.

    pages        DescribeTopicPartitions from the tenant's first possible name on (KIP-966, Kafka 3.8 with KRaft)
    allow-list   Metadata of the listed names
    all          Metadata of all topics, for a broker that has no better list; other tenants' topics are skipped unread
    moved in     then Metadata of the topics that the tenant owns under other tenants' prefixes

What was moved away is another tenant's, and not counted.
"""

from collections import Counter
from typing import Any

from bifrost.filters.topics.automatic_creation import CAN_FORBID_CREATION
from bifrost.session.topics.own_topics import LARGEST_PAGE
from bifrost.tenancy.names import PhysicalTopic
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.namespaces.topic_owners import owns_topic, topics_moved_in
from bifrost.tenancy.topic_bounds import TopicBounds
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode, release
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.headers import response_body_offset
from bifrost.wire.message import Message
from bifrost.wire.messages import DescribeTopicPartitionsRequest, MetadataRequest
from bifrost.wire.program import prune
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.schema import response_schema

NAMES_AT_ONCE = 50
"""Names in one request: their partitions are read without a pause."""


class CountedTopics:
    """A count under way."""

    def __init__(
        self, namespace: Namespace, bounds: TopicBounds, *, has_pages: bool, metadata_version: int
    ) -> None:
        """Prepare the first request.

        Args:
            namespace: of the tenant, with all namespaces below it.
            bounds: of the tenant; beyond them there is no need to count.
            has_pages: whether the broker lists topics by pages.
            metadata_version: the version of Metadata to ask with otherwise.
        """
        self._namespace, self._bounds, self._version = namespace, bounds, metadata_version
        names = namespace.names
        allowed = names.allowed_topics if metadata_version >= CAN_FORBID_CREATION else None
        self._named = None if allowed is None else sorted(map(names.physical_topic, allowed))
        """The topics that are asked for by their names and are still to be asked for; None: all come first."""
        self._elsewhere = topics_moved_in(names) if self._named is None else []
        self._has_pages = has_pages and self._named is None
        self._first, self._partition = names.topics.first_possible_name.decode(), 0
        self.partitions: Counter[PhysicalTopic] = Counter()
        """Number of partitions of each topic, by its physical name."""
        self.topic_ids: list[tuple[bytes, PhysicalTopic]] = []
        """ID and physical name of the topics that the last answer named."""

    def request(self) -> tuple[Message, int]:
        """Return the next request to the broker, and its version."""
        if self._has_pages:
            cursor = DescribeTopicPartitionsRequest.Cursor(
                topic_name=self._first, partition_index=self._partition
            )
            return DescribeTopicPartitionsRequest(
                topics=[], response_partition_limit=LARGEST_PAGE, cursor=cursor
            ), 0
        if self._named is None:
            # Before v4 the field is absent, and null topics create nothing.
            creates = self._version < CAN_FORBID_CREATION
            return MetadataRequest(topics=None, allow_auto_topic_creation=creates), self._version
        topics = [
            MetadataRequest.MetadataRequestTopic(name=one.decode()) for one in self._named[:NAMES_AT_ONCE]
        ]
        return MetadataRequest(topics=topics, allow_auto_topic_creation=False), self._version

    def receive(self, api_key: int, version: int, frame: bytes) -> bool:
        """Take the answer's frame, without its length; return whether the count is complete.

        Raises:
            WireError: the frame could not be read.
        """
        schema = response_schema(api_key)
        offset, _ = response_body_offset(frame, schema.response_header_version(version) >= 1)
        if api_key == ApiKey.METADATA and self._named is None:
            program = compile_program(schema.name, version, {"Topics.Name": 1})
            frame = bytes(prune(program, frame, offset, self._namespace.names.topics.shared_prefix))
        layout = compile_layout(schema.name, version)
        response: Any = decode(layout, frame, offset)
        self.topic_ids = []
        for topic in response.topics:
            name = PhysicalTopic((topic.name or "").encode())
            if topic.error_code == ErrorCode.NONE and owns_topic(self._namespace.names, name):
                self.partitions[name] += len(topic.partitions)
                self.topic_ids.append((topic.topic_id, name))
        is_complete = self._has_ended(response)
        release(layout, response)
        return is_complete or self._bounds.is_reached_by(len(self.partitions), self.partitions.total())

    def _has_ended(self, response: Any) -> bool:
        if self._named is not None:
            del self._named[:NAMES_AT_ONCE]
            return not self._named
        if not self._have_all_come(response):
            return False
        # A broker without this version is older than Kafka 1.0, and would create what is missing.
        if self._elsewhere and self._version >= CAN_FORBID_CREATION:
            self._named, self._has_pages = self._elsewhere, False
        return self._named is None

    def _have_all_come(self, response: Any) -> bool:
        """Whether an answer has the last topics with the tenant's own prefix."""
        if not self._has_pages:
            return True
        cursor = response.next_cursor
        if not response.topics and not self.partitions:
            # A broker answers like this when it has failed, or when there are no topics from the first name on.
            self._has_pages = False
            return False
        topics = self._namespace.names.topics
        if cursor is None or topics.is_past_all(PhysicalTopic(cursor.topic_name.encode())):
            return True
        self._first, self._partition = cursor.topic_name, cursor.partition_index
        return False
