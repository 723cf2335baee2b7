"""The requests of share sessions to brokers, and the answers that the client gets."""

from typing import Any

from bifrost.routes.shares import share_parts
from bifrost.routes.shares.share_answers import RELEASE, Found
from bifrost.routes.shares.share_parts import DONE, Result
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)

ONE, OTHER = bytes(15) + b"1", bytes(15) + b"2"
BATCH = {"first_offset": 3, "last_offset": 5, "acknowledge_types": [1]}


def asked() -> ShareFetchRequest:
    made = ShareFetchRequest
    batch = made.AcknowledgementBatch(**BATCH)  # type: ignore[arg-type]
    return made(
        group_id="group",
        member_id="member",
        share_session_epoch=7,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=900,
        max_records=100,
        batch_size=50,
        share_acquire_mode=1,
        topics=[
            made.FetchTopic(
                topic_id=ONE,
                partitions=[
                    made.FetchPartition(partition_index=0, acknowledgement_batches=[batch]),
                    made.FetchPartition(partition_index=1),
                ],
            )
        ],
        forgotten_topics_data=[made.ForgottenTopic(topic_id=OTHER, partitions=[4, 5])],
    )


def test_what_a_request_names() -> None:
    named = share_parts.named(asked())

    assert list(named) == [(ONE, 0), (ONE, 1)]
    assert [len(batches) for batches in named.values()] == [1, 0]
    assert share_parts.forgotten(asked()) == [(OTHER, 4), (OTHER, 5)]


def test_a_poll_has_the_clients_limits_and_no_acknowledgements() -> None:
    poll = share_parts.poll(
        asked(), 3, ([(ONE, 0), (OTHER, 2), (ONE, 1)], [(OTHER, 4)]), wait_ms=9, max_bytes=300
    )

    wanted = ShareFetchRequest
    assert poll == wanted(
        group_id="group",
        member_id="member",
        share_session_epoch=3,
        max_wait_ms=9,
        min_bytes=1,
        max_bytes=300,
        max_records=100,
        batch_size=50,
        share_acquire_mode=1,
        topics=[
            wanted.FetchTopic(
                topic_id=ONE,
                partitions=[
                    wanted.FetchPartition(partition_index=0),
                    wanted.FetchPartition(partition_index=1),
                ],
            ),
            wanted.FetchTopic(topic_id=OTHER, partitions=[wanted.FetchPartition(partition_index=2)]),
        ],
        forgotten_topics_data=[wanted.ForgottenTopic(topic_id=OTHER, partitions=[4])],
    )


def test_acknowledgements_of_a_fetch_become_a_request_of_their_own() -> None:
    batches = {key: one for key, one in share_parts.named(asked()).items() if one}

    request = share_parts.acknowledgement(asked(), 8, batches, is_renew_ack=True)

    wanted = ShareAcknowledgeRequest
    batch = wanted.AcknowledgementBatch(**BATCH)  # type: ignore[arg-type]
    partition = wanted.AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
    assert request == wanted(
        group_id="group",
        member_id="member",
        share_session_epoch=8,
        is_renew_ack=True,
        topics=[wanted.AcknowledgeTopic(topic_id=ONE, partitions=[partition])],
    )


def test_what_was_acquired_can_be_given_back() -> None:
    acquired = [ShareFetchResponse.AcquiredRecords(first_offset=3, last_offset=5, delivery_count=2)]

    released = share_parts.released({(ONE, 0): Found(partition_index=0, acquired_records=acquired)})

    (batch,) = released[ONE, 0]
    assert (batch.first_offset, batch.last_offset, batch.acknowledge_types) == (3, 5, [RELEASE])


def results(response: Any) -> list[tuple[bytes, int, int, int]]:
    return [
        (topic.topic_id, one.partition_index, one.error_code, getattr(one, "acknowledge_error_code", 0))
        for topic in response.responses
        for one in topic.partitions
    ]


def test_an_answer_has_what_was_found_and_what_became_of_acknowledgements() -> None:
    found = {(ONE, 0): Found(partition_index=0), (OTHER, 1): Found(partition_index=1)}
    refused = Result(ErrorCode.INVALID_RECORD_STATE, "no such record")

    answer = share_parts.fetched(found, {(ONE, 0): refused, (ONE, 3): DONE}, 30_000)

    assert answer.acquisition_lock_timeout_ms == 30_000
    assert results(answer) == [
        (ONE, 0, 0, ErrorCode.INVALID_RECORD_STATE),
        (ONE, 3, 0, 0),
        (OTHER, 1, 0, 0),
    ]
    assert answer.responses[0].partitions[0].acknowledge_error_message == "no such record"


def test_results_are_read_and_written() -> None:
    refused = Result(ErrorCode.INVALID_RECORD_STATE, "no such record")
    known = {(ONE, 0): DONE, (OTHER, 1): refused}

    answer = share_parts.acknowledged(known, 5)

    assert isinstance(answer, ShareAcknowledgeResponse)
    assert (share_parts.results_of(answer), answer.acquisition_lock_timeout_ms) == (known, 5)


def test_brokers_that_lead_are_not_named() -> None:
    leader = ShareFetchResponse.LeaderIdAndEpoch(leader_id=3, leader_epoch=9)
    moved = Found(partition_index=0, error_code=ErrorCode.NOT_LEADER_OR_FOLLOWER, current_leader=leader)
    led = Found(
        partition_index=1, current_leader=ShareFetchResponse.LeaderIdAndEpoch(leader_id=3, leader_epoch=9)
    )

    answer = share_parts.fetched({(ONE, 0): moved, (ONE, 1): led}, {}, 0)

    shown = [
        (one.current_leader.leader_id, one.current_leader.leader_epoch)
        for one in answer.responses[0].partitions
    ]
    assert shown == [(-1, -1), (0, 0)]
    assert answer.node_endpoints == []


def test_partitions_of_a_lost_broker_have_kafkas_error() -> None:
    failed = share_parts.failed({(ONE, 4): ErrorCode.NOT_LEADER_OR_FOLLOWER})

    assert failed[ONE, 4].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert failed[ONE, 4].records == b""
