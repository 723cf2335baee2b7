"""Which topic each topic ID belongs to (KIP-516), for one physical cluster.

The gateway learns IDs from brokers' answers to any client (Metadata, CreateTopics) and, for an ID that it has not seen,
from requests of its own (gateway/brokers/topic_look_ups.py). An ID never changes its owner, so nothing here becomes
stale except "this is not a topic of the tenant", which is forgotten after a while: another gateway may have created the
topic.
"""

from collections.abc import Callable
from typing import NewType

from bifrost.tenancy.bounded_map import BoundedMap
from bifrost.tenancy.names import PhysicalTopic

TopicId = NewType("TopicId", bytes)
"""16 bytes."""

ZERO_TOPIC_ID = TopicId(bytes(16))
"""Kafka's Uuid.ZERO_UUID: no ID is given."""

MAX_TOPIC_IDS = 65_536
"""Bound of the index, about 15 MiB at the worst; a gateway with more topics asks again for those it forgot."""

FEW_IDS = 16
"""Most IDs that one look-up asks a broker for. Kafka's work for its answer grows with the cube of the IDs that do not
exist: their entries have no name, and names are the hash keys of MetadataResponse's topic collection. 16 take less than
1 ms, 2,000 take 2.5 s of the broker's CPU (measured on 4.3.1). For more IDs the gateway lists the tenant's topics."""

LISTED_FOR_MS = 1_000
"""How long a list of the tenant's topics answers for messages with many unknown IDs. Clients learn an ID from an answer
that passes through the gateway, or name it alone; many unknown IDs in one message are old or invented."""

MAX_MASKED_IDS = 16_384
"""Bound of the masks of one tenant, and of the IDs it asked for in vain; 4 MiB each at most. An answer about an ID
whose mask was forgotten is left out."""

ABSENT_FOR_MS = 5_000
"""How long "not the tenant's" is valid: longer than metadata takes to reach a broker, shorter than a person waits."""


class AbsentIds:
    """A bounded set of topic IDs that were recently looked up in vain."""

    def __init__(self, limit: int) -> None:
        """Start empty; beyond `limit` the one learnt first is forgotten."""
        self._absent_until_ms: BoundedMap[bytes, int] = BoundedMap(limit)

    def learn_absent(self, topic_id: bytes, now_ms: int) -> None:
        """Remember for a while that no topic of the tenant has this ID."""
        self._absent_until_ms.put(topic_id, now_ms + ABSENT_FOR_MS)

    def is_absent(self, topic_id: bytes, now_ms: int) -> bool:
        """Whether a look-up found lately that no topic of the tenant has this ID."""
        until_ms = self._absent_until_ms.get(topic_id)
        return until_ms is not None and now_ms < until_ms


class TopicIds:
    """A bounded index from topic ID to physical topic name."""

    def __init__(self) -> None:
        """Start empty."""
        self._names: BoundedMap[bytes, PhysicalTopic] = BoundedMap(MAX_TOPIC_IDS)

    def learn(self, topic_id: bytes, topic: PhysicalTopic) -> None:
        """Remember that the broker gave `topic_id` to `topic`."""
        if topic_id == ZERO_TOPIC_ID:
            return
        self._names.put(topic_id, topic)

    def name_of(self, topic_id: bytes) -> PhysicalTopic | None:
        """Return the topic's name, or None when the ID was not learnt."""
        return self._names.get(topic_id)


class MaskedIds:
    """The masks that the broker gets for topic IDs that one tenant named and may not use.

    Each is replaced by an ID that no topic has, so the broker itself answers as for an ID that does not exist; its
    answer is given back under the ID that was sent. The replacements are random: one tells nothing of another.
    """

    def __init__(self, new_id: Callable[[], bytes]) -> None:
        """Start empty. `new_id` makes 16 random bytes."""
        self._new_id = new_id
        self._masks: BoundedMap[bytes, bytes] = BoundedMap(MAX_MASKED_IDS)
        self._originals: dict[bytes, bytes] = {}

    def mask(self, topic_id: bytes) -> bytes:
        """Return the mask of an ID, the same every time while it is remembered."""
        mask = self._masks.get(topic_id)
        if mask is None:
            mask = self._new_id()
            forgotten = self._masks.put(topic_id, mask)
            if forgotten is not None:
                del self._originals[forgotten[1]]
            self._originals[mask] = topic_id
        return mask

    def original(self, mask: bytes) -> bytes | None:
        """Return the ID that a mask stands for, None when it is not a mask."""
        return self._originals.get(mask)
