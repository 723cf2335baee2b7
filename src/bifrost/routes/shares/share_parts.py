"""The messages of share sessions (KIP-932) at a single address: requests to brokers, and answers to the client.

    client's ShareFetch ──▶ ShareAcknowledge to each broker whose records it acknowledges
                        └─▶ ShareFetch to each leader, without acknowledgements: a poll, which may outlast the answer

Acknowledgements have a request of their own, for an answer must have their results, and does not wait for polls.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from bifrost.routes.shares.share_answers import RELEASE, Found
from bifrost.routes.shares.share_session import Key
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from bifrost.wire.steps import in_steps

_NO_LEADER = -1
"""Clients then ask for the metadata; of the brokers they know none."""

Batches = Sequence[Any]
"""Acknowledgements of a partition, as any of the two requests has them."""


class Result(NamedTuple):
    """What became of the acknowledgements of a partition."""

    error_code: int
    message: str | None = None


DONE = Result(ErrorCode.NONE)


def named(request: ShareFetchRequest | ShareAcknowledgeRequest) -> dict[Key, Batches]:
    """Return the partitions that a request names, each with its acknowledgements."""
    topics: Sequence[Any] = request.topics
    return {
        (topic.topic_id, one.partition_index): one.acknowledgement_batches
        for topic in in_steps(topics)
        for one in in_steps(topic.partitions)
    }


def forgotten(request: ShareFetchRequest) -> list[Key]:
    """Return the partitions that leave the session."""
    return [
        (topic.topic_id, one)
        for topic in in_steps(request.forgotten_topics_data)
        for one in in_steps(topic.partitions)
    ]


def _by_topic(keys: Iterable[Key]) -> dict[bytes, list[Key]]:
    topics: dict[bytes, list[Key]] = {}
    for key in keys:
        topics.setdefault(key[0], []).append(key)
    return topics


def poll(
    asked: ShareFetchRequest,
    epoch: int,
    changes: tuple[Iterable[Key], Iterable[Key]],
    *,
    wait_ms: int,
    max_bytes: int,
) -> ShareFetchRequest:
    """Return the ShareFetch for one broker.

    Args:
        asked: the client's, whose other limits it has.
        epoch: that of the session with the broker.
        changes: the partitions that join the session, and those that leave it.
        wait_ms: how long the broker may wait for records.
        max_bytes: how many bytes of records it may answer.
    """
    added, left = changes
    made = ShareFetchRequest
    return made(
        group_id=asked.group_id,
        member_id=asked.member_id,
        share_session_epoch=epoch,
        max_wait_ms=wait_ms,
        min_bytes=asked.min_bytes,
        max_bytes=max_bytes,
        max_records=asked.max_records,
        batch_size=asked.batch_size,
        share_acquire_mode=asked.share_acquire_mode,
        topics=[
            made.FetchTopic(
                topic_id=topic_id,
                partitions=[made.FetchPartition(partition_index=index) for _, index in keys],
            )
            for topic_id, keys in _by_topic(added).items()
        ],
        forgotten_topics_data=[
            made.ForgottenTopic(topic_id=topic_id, partitions=[index for _, index in keys])
            for topic_id, keys in _by_topic(left).items()
        ],
    )


def acknowledgement(
    asked: ShareFetchRequest | ShareAcknowledgeRequest,
    epoch: int,
    batches: Mapping[Key, Batches],
    *,
    is_renew_ack: bool,
) -> ShareAcknowledgeRequest:
    """Return the ShareAcknowledge for one broker, of these partitions.

    Args:
        asked: the client's request.
        epoch: that of the session with the broker.
        batches: the acknowledgements of each partition.
        is_renew_ack: whether locks are renewed among them (KIP-1222).
    """
    made = ShareAcknowledgeRequest
    return made(
        group_id=asked.group_id,
        member_id=asked.member_id,
        share_session_epoch=epoch,
        is_renew_ack=is_renew_ack,
        topics=[
            made.AcknowledgeTopic(
                topic_id=topic_id,
                partitions=[
                    made.AcknowledgePartition(
                        partition_index=key[1],
                        acknowledgement_batches=[
                            made.AcknowledgementBatch(
                                first_offset=one.first_offset,
                                last_offset=one.last_offset,
                                acknowledge_types=list(one.acknowledge_types),
                            )
                            for one in in_steps(batches[key])
                        ],
                    )
                    for key in keys
                ],
            )
            for topic_id, keys in _by_topic(batches).items()
        ],
    )


def released(found: Mapping[Key, Found]) -> dict[Key, Batches]:
    """Return acknowledgements that give back all that a broker has acquired for a member."""
    made = ShareAcknowledgeRequest.AcknowledgementBatch
    return {
        key: [
            made(
                first_offset=one.first_offset,
                last_offset=one.last_offset,
                acknowledge_types=[RELEASE],
            )
            for one in in_steps(partition.acquired_records)
        ]
        for key, partition in found.items()
    }


def results_of(response: ShareAcknowledgeResponse) -> dict[Key, Result]:
    """Return what a broker's answer says of each partition."""
    return {
        (topic.topic_id, one.partition_index): Result(one.error_code, one.error_message)
        for topic in in_steps(response.responses)
        for one in in_steps(topic.partitions)
    }


def failed(codes: Mapping[Key, ErrorCode]) -> dict[Key, Found]:
    """Return the errors of these partitions, as brokers have them: without a text."""
    return {
        key: Found(partition_index=key[1], error_code=code, records=b"")
        for key, code in in_steps(codes.items())
    }


def fetched(found: Mapping[Key, Found], results: Mapping[Key, Result], lock_ms: int) -> ShareFetchResponse:
    """Return the answer to a ShareFetch: what brokers have found, and the results of acknowledgements."""
    parts = dict(found)
    for key, result in results.items():
        part = parts.get(key)
        if part is None:
            part = parts[key] = Found(partition_index=key[1], records=b"")
        part.acknowledge_error_code, part.acknowledge_error_message = result
    for part in parts.values():
        _hide_leader(part)
    return ShareFetchResponse(
        acquisition_lock_timeout_ms=lock_ms,
        responses=[
            ShareFetchResponse.ShareFetchableTopicResponse(
                topic_id=topic_id, partitions=[parts[key] for key in keys]
            )
            for topic_id, keys in _by_topic(parts).items()
        ],
    )


def acknowledged(results: Mapping[Key, Result], lock_ms: int) -> ShareAcknowledgeResponse:
    """Return the answer to a ShareAcknowledge."""
    made = ShareAcknowledgeResponse
    topics = _by_topic(results)
    response = made(
        acquisition_lock_timeout_ms=lock_ms,
        responses=[
            made.ShareAcknowledgeTopicResponse(
                topic_id=topic_id,
                partitions=[
                    made.PartitionData(
                        partition_index=key[1],
                        error_code=results[key].error_code,
                        error_message=results[key].message,
                    )
                    for key in keys
                ],
            )
            for topic_id, keys in topics.items()
        ],
    )
    for topic in response.responses:
        for part in topic.partitions:
            _hide_leader(part)
    return response


def _hide_leader(part: Any) -> None:
    """Take out which broker leads a partition: the client knows one broker, and asks for the metadata then."""
    has_error = part.error_code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
    part.current_leader.leader_id = part.current_leader.leader_epoch = _NO_LEADER if has_error else 0
