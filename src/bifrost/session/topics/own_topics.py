"""Lists of one tenant's topics, which the gateway asks a broker for itself, one request at a time.

The cost of a list depends on the number of the tenant's topics. `PagesOfTopics` asks for pages of
DescribeTopicPartitions from the tenant's first possible name on, `AllowedTopics` for the names of an allow-list;
`AllTopics` asks an older broker for all topics. Topics that begin otherwise, because they were moved or are shared, are
asked for by name. The counterpart for clients that ask for all topics is
session/topics/topic_listing.py.
"""

from typing import Protocol

from bifrost.filters.topics.automatic_creation import CAN_FORBID_CREATION
from bifrost.session.topics.named_topics import NamedTopics
from bifrost.tenancy.namespace import Namespace
from bifrost.tenancy.topic_pages import next_name
from bifrost.wire.message import Message
from bifrost.wire.messages import DescribeTopicPartitionsRequest, MetadataRequest

LARGEST_PAGE = 1_000
"""Partitions on a page: some 50 KB, which the gateway reads in 1 ms."""

MAX_PAGES = 1_000
"""Pages of one list: a million partitions."""

NAMES_AT_ONCE = 500
"""Names of an allow-list in one request."""


class OwnTopics(Protocol):
    """A list under way."""

    def request(self) -> tuple[Message, int]:
        """Return what to ask the broker, and the version."""

    def receive(self, found: NamedTopics) -> bool:
        """Take the answer; return whether the list is complete."""


class AllowedTopics:
    """The topics of a tenant with an allow-list; of another tenant, those that its pages do not have."""

    def __init__(self, namespace: Namespace, version: int) -> None:
        """Begin; `version` is that of Metadata."""
        names = namespace.names
        if names.allowed_topics is None:
            physical = names.topics_elsewhere
        else:
            physical = [names.physical_topic(name) for name in sorted(names.allowed_topics)]
        self._names = [name.decode() for name in physical]
        self._version = version

    def request(self) -> tuple[Message, int]:
        """Return what to ask the broker, and the version."""
        names = self._names[:NAMES_AT_ONCE]
        topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
        return MetadataRequest(topics=topics, allow_auto_topic_creation=False), self._version

    def receive(self, found: NamedTopics) -> bool:
        """Take the answer; return whether the list is complete."""
        del self._names[:NAMES_AT_ONCE]
        return not self._names


class PagesOfTopics:
    """The topics that a tenant may own, on a broker that lists topics by pages."""

    def __init__(self, namespace: Namespace, version: int) -> None:
        """Begin; `version` is that of Metadata."""
        self._topics, self._pages = namespace.names.topics, namespace.topic_pages
        self._elsewhere: AllowedTopics | None = None
        if version >= CAN_FORBID_CREATION and namespace.names.topics_elsewhere:
            self._elsewhere = AllowedTopics(namespace, version)
        self._is_past_pages = False
        self._first, self._page = self._topics.first_possible_name, 0

    def request(self) -> tuple[Message, int]:
        """Return what to ask the broker, and the version."""
        if self._is_past_pages and self._elsewhere is not None:
            return self._elsewhere.request()
        size = min(LARGEST_PAGE, self._pages.size(self._page))
        cursor = DescribeTopicPartitionsRequest.Cursor(topic_name=self._first.decode(), partition_index=0)
        return DescribeTopicPartitionsRequest(topics=[], response_partition_limit=size, cursor=cursor), 0

    def receive(self, found: NamedTopics) -> bool:
        """Take the answer; return whether the list is complete."""
        if self._is_past_pages and self._elsewhere is not None:
            return self._elsewhere.receive(found)
        self._is_past_pages = self._has_all_pages(found)
        return self._is_past_pages and self._elsewhere is None

    def _has_all_pages(self, found: NamedTopics) -> bool:
        self._page += 1
        cursor = found.cursor
        if cursor is None or found.last_name is None or self._topics.is_past_all(cursor):
            return True
        # If the page ends within a topic, the name of that topic is known by now.
        self._first = max(cursor, next_name(found.last_name))
        return self._page >= MAX_PAGES


class AllTopics:
    """All topics of the cluster, for a broker that has no better list."""

    def __init__(self, version: int) -> None:
        """Begin; `version` is that of Metadata."""
        self._version = version

    def request(self) -> tuple[Message, int]:
        """Return what to ask the broker, and the version."""
        # Before v4 the field is absent, and null topics create nothing.
        creates = self._version < CAN_FORBID_CREATION
        return MetadataRequest(topics=None, allow_auto_topic_creation=creates), self._version

    def receive(self, found: NamedTopics) -> bool:
        """Take the answer, which is the whole list."""
        return True
