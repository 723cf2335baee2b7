"""Which topic each topic ID belongs to (KIP-516), for one physical cluster.

IDs are learnt from what the broker says to anybody (Metadata, CreateTopics) and, for an ID nobody has seen, from a
Metadata request by ID that the gateway makes itself. An ID never changes its owner, so nothing here goes stale except
"there is no such topic", which is forgotten after a while: a topic may have been created through another gateway.
"""

from typing import NewType

TopicId = NewType("TopicId", bytes)
"""16 bytes."""

ZERO_TOPIC_ID = TopicId(bytes(16))
"""Kafka's Uuid.ZERO_UUID: no ID is given."""

MAX_TOPIC_IDS = 65_536
"""Bound of the index, about 15 MiB at the worst; a gateway with more topics asks again for those it forgot."""

ABSENT_FOR_MS = 5_000
"""How long "no such ID" is believed: longer than metadata takes to reach a broker, shorter than a person waits."""


class TopicIds:
    """A bounded index from topic ID to physical topic name."""

    def __init__(self, mask_key: bytes) -> None:
        """Start empty. `mask_key`: 16 random bytes, kept from clients for the life of the process."""
        assert len(mask_key) == 16
        self._mask = int.from_bytes(mask_key, "big")
        self._names: dict[bytes, bytes] = {}
        self._absent_until_ms: dict[bytes, int] = {}

    def learn(self, topic_id: bytes, physical_topic: bytes) -> None:
        """Remember that the broker gave `topic_id` to `physical_topic`."""
        if topic_id == ZERO_TOPIC_ID:
            return
        if len(self._names) >= MAX_TOPIC_IDS:
            del self._names[next(iter(self._names))]
        self._names[topic_id] = physical_topic
        self._absent_until_ms.pop(topic_id, None)

    def learn_absent(self, topic_id: bytes, now_ms: int) -> None:
        """Remember for a while that the broker knows no such ID."""
        if len(self._absent_until_ms) >= MAX_TOPIC_IDS:
            del self._absent_until_ms[next(iter(self._absent_until_ms))]
        self._absent_until_ms[topic_id] = now_ms + ABSENT_FOR_MS

    def name_of(self, topic_id: bytes) -> bytes | None:
        """Return the physical topic's name, or None when the ID was not learnt."""
        return self._names.get(topic_id)

    def is_absent(self, topic_id: bytes, now_ms: int) -> bool:
        """Whether the broker lately said that there is no such ID."""
        until_ms = self._absent_until_ms.get(topic_id)
        return until_ms is not None and now_ms < until_ms

    def masked(self, topic_id: bytes) -> bytes:
        """Return an ID that exists nowhere, in place of one that must not be named; masking it again gives it back.

        A foreign ID reaches the broker masked, so the broker itself answers as for an ID that does not exist.
        """
        return (int.from_bytes(topic_id, "big") ^ self._mask).to_bytes(16, "big")
