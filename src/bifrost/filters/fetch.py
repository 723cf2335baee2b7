"""Fetch: no client replicates through the gateway or continues a fetch session that is not its own (KIP-227).

A broker identifies sessions by a number only: a client that sends the number and the next epoch gets the partitions of
the session. The gateway therefore remembers the owner of each session (session/fetch_sessions.py); this module has its
answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bifrost.filters.filter import Exchange, Note, RequestFilter
from bifrost.filters.steps import FORWARD, Answer, RequestStep
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import FetchResponse
from bifrost.wire.steps import in_steps

if TYPE_CHECKING:
    from bifrost.wire.messages import FetchRequest


NO_SESSION = 0
INITIAL_EPOCH, FINAL_EPOCH = 0, -1
"""FetchMetadata: epochs that name a session only to end it; a full fetch follows (or stands alone)."""

FOREIGN_SESSION: Note[bool] = Note("foreign_fetch_session")
"""Whether the request names a session of another namespace."""

LOST_SHARE_SESSION: Note[bool] = Note("lost_share_session")
"""Whether ACLs have changed since the last ShareFetch of the connection: its share session has to begin anew."""

_FIRST_WITH_DIRECTORIES = 17
"""Version of Fetch from which a follower names the directory of a replica."""


def session_not_found() -> Message:
    """Return a broker's answer to an unknown session; the client then starts a new one (v7+)."""
    return FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND, session_id=NO_SESSION)


class FetchFilter(RequestFilter):
    """Answers followers as Kafka answers a principal without CLUSTER_ACTION, topic by topic."""

    ENTITIES: ClassVar[frozenset[Entity]] = frozenset({Entity.FOLLOWER})

    def on_request(self, exchange: Exchange, request: FetchRequest) -> RequestStep:
        """Refuse a replica's fetch; remove the ID of a foreign session from a request that would only close it."""
        if exchange.find(FOREIGN_SESSION):
            request.session_id = NO_SESSION
        if exchange.api_version >= _FIRST_WITH_DIRECTORIES:
            for topic in in_steps(request.topics):
                for partition in in_steps(topic.partitions):
                    partition.replica_directory_id = bytes(16)  # KIP-853: only followers send it
        if request.replica_id < 0 and request.replica_state.replica_id < 0:
            return FORWARD
        response = FetchResponse(session_id=NO_SESSION)
        for topic in in_steps(request.topics):
            partitions = [_refused_partition(partition.partition) for partition in in_steps(topic.partitions)]
            response.responses.append(
                FetchResponse.FetchableTopicResponse(
                    topic=topic.topic, topic_id=topic.topic_id, partitions=partitions
                )
            )
        return Answer(response)


def _refused_partition(partition_index: int) -> Any:
    return FetchResponse.PartitionData(
        partition_index=partition_index,
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        high_watermark=-1,
        records=b"",
    )
