"""What brokers have answered to the polls of a share session (KIP-932) and the client was not told yet.

An answer to the client has the records of one broker, so that it has no more of them than the client asked one broker
for; those of another one stay for the next answer. Records whose locks have ended are dropped: the broker gives them to
a member again, as it does when a client leaves records in its buffer for too long.
"""

from collections.abc import Container
from typing import NamedTuple

from bifrost.routes.shares.share_session import Key
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ShareFetchResponse
from bifrost.wire.steps import in_steps

Found = ShareFetchResponse.PartitionData
"""A broker's answer for a partition."""

STALE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INCONSISTENT_TOPIC_ID,
    }
)
"""Errors that say that the leader of a partition may be another one (leaders.pxd has the same)."""

RELEASE = 2
"""AcknowledgeType.RELEASE: the record is free for any member again."""


class Kept(NamedTuple):
    """The answer of one broker to one poll."""

    node_id: int
    found: dict[Key, Found]
    has_records: bool
    has_news: bool
    """Whether the client should be told at once: there are records, or an error."""
    until_ms: float
    """When the locks of its records end."""


class Taken(NamedTuple):
    """What goes into an answer to the client."""

    found: dict[Key, Found]
    node_id: int | None
    """The broker whose records are in it."""
    unwanted: dict[int, dict[Key, Found]]
    """Records of partitions that are no longer in the session, by broker: they are to be released."""


def read_found(response: ShareFetchResponse) -> dict[Key, Found]:
    """Return what a broker's answer has of each partition."""
    return {
        (topic.topic_id, one.partition_index): one
        for topic in in_steps(response.responses)
        for one in in_steps(topic.partitions)
    }


class ShareAnswers:
    """The answers that are kept: of each broker one at most."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._kept: dict[int, Kept] = {}

    @property
    def has_news(self) -> bool:
        """Whether there are records, or errors."""
        return any(one.has_news for one in self._kept.values())

    def keep(self, node_id: int, found: dict[Key, Found], until_ms: float) -> None:
        """Keep what a broker has answered; what it had for other partitions before, without records, stays.

        Args:
            node_id: the broker, which has no records here yet.
            found: its answer.
            until_ms: when the locks of its records end, by the clock of `take`.
        """
        before = self._kept.pop(node_id, None)
        if before is not None:
            found = before.found | found
        if not found:
            return
        has_records = any(one.acquired_records for one in found.values())
        has_news = has_records or any(one.error_code for one in found.values())
        self._kept[node_id] = Kept(node_id, found, has_records, has_news, until_ms)

    def drop_late(self, now_ms: float) -> None:
        """Drop records whose locks have ended."""
        for node_id, kept in self._kept.items():
            if kept.has_records and now_ms >= kept.until_ms:
                self._kept[node_id] = _without_records(kept)

    def take(self, partitions: Container[Key], now_ms: float) -> Taken:
        """Take what the next answer has: the records of the broker that came first, and all that has no records.

        Args:
            partitions: those of the session; what was found in others is left out.
            now_ms: the time.
        """
        taken = Taken({}, None, {})
        left: dict[int, Kept] = {}
        self.drop_late(now_ms)
        for node_id, kept in self._kept.items():
            if not kept.has_records:
                self._add(taken, kept, partitions)
                continue
            unwanted = {
                key: found
                for key, found in kept.found.items()
                if key not in partitions and found.acquired_records
            }
            if unwanted:
                taken.unwanted[node_id] = unwanted
            if len(unwanted) == sum(bool(one.acquired_records) for one in kept.found.values()):
                self._add(taken, kept, partitions)
            elif taken.node_id is None:
                self._add(taken, kept, partitions)
                taken = taken._replace(node_id=node_id)
            else:
                found = {key: one for key, one in kept.found.items() if key not in unwanted}
                left[node_id] = kept._replace(found=found)
        self._kept = left
        return taken

    @staticmethod
    def _add(taken: Taken, kept: Kept, partitions: Container[Key]) -> None:
        for key, one in kept.found.items():
            if key not in partitions:
                continue
            other = taken.found.get(key)
            if other is None or one.acquired_records or not (other.acquired_records or other.error_code):
                taken.found[key] = one


def _without_records(kept: Kept) -> Kept:
    found = {key: one for key, one in kept.found.items() if not one.acquired_records}
    has_news = any(one.error_code for one in found.values())
    return kept._replace(found=found, has_records=False, has_news=has_news)
