from itertools import pairwise

import pytest

from bifrost.journal.tallies import request_tally, response_tally
from bifrost.journal.usage import GATEWAY_TIME_BOUNDS_US, TopicUsage, Usage
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import encode
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    AddOffsetsToTxnRequest,
    FetchResponse,
    HeartbeatRequest,
    OffsetCommitRequest,
    ProduceRequest,
    ProduceResponse,
)
from bifrost.wire.programs import compile_layout
from bifrost.wire.steps import set_pause
from support.clients.record_batches import build_batch

TOPIC_ID = bytes(range(16))


class Names:
    """Resolves topics to themselves, and remembers being asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, bytes, bool]] = []

    def __call__(self, usage: Usage, slot: int, name: bytes, is_physical: bool) -> TopicUsage:
        self.asked.append((slot, name, is_physical))
        return usage.topics.setdefault(name, TopicUsage(name))


def usage_of(api_key: ApiKey, version: int, names: Names | None = None) -> Usage:
    tallies = request_tally(api_key, version), response_tally(api_key, version)
    return Usage(b"me", *tallies, api_key == ApiKey.FETCH, names or Names())


def frame_of(message: Message, version: int) -> bytes:
    return encode(compile_layout(message.SCHEMA.name, version), message, b"")[4:]


def produce(topic: str, *partitions: bytes, acks: int = -1, topic_id: bytes = bytes(16)) -> ProduceRequest:
    data = [
        ProduceRequest.PartitionProduceData(index=index, records=records)
        for index, records in enumerate(partitions)
    ]
    named = ProduceRequest.TopicProduceData(name=topic, topic_id=topic_id, partition_data=data)
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[named])


def fetched(topic: str, *partitions: bytes, error_code: int = 0, throttle_time_ms: int = 0) -> FetchResponse:
    data = [
        FetchResponse.PartitionData(
            partition_index=index, error_code=error_code, records=records, aborted_transactions=None
        )
        for index, records in enumerate(partitions)
    ]
    responses = [FetchResponse.FetchableTopicResponse(topic=topic, partitions=data)] if topic else []
    return FetchResponse(throttle_time_ms=throttle_time_ms, responses=responses)


def cells(usage: Usage, topic: bytes) -> list[tuple[int | None, int, int, int, int, int, int, int]]:
    taken = usage.take()
    assert taken is not None
    return taken[-1][topic].take()[-1]


@pytest.mark.parametrize("version", [3, 7, 9, 12])
@pytest.mark.parametrize("acks", [-1, 0, 1])
def test_produced_batches_are_counted_by_their_headers(version: int, acks: int) -> None:
    usage, batches = usage_of(ApiKey.PRODUCE, version), (build_batch([b"a", b"b"]), build_batch([b"c"] * 5))

    usage.count_request(frame_of(produce("orders", *batches, acks=acks), version), 0)

    size = sum(map(len, batches))
    assert cells(usage, b"orders") == [(acks, 0, 2, 7, size, 0, 0, 0)]


def test_a_topic_is_known_by_its_id_as_well() -> None:
    names = Names()
    usage = usage_of(ApiKey.PRODUCE, 13, names)

    for _ in range(2):
        usage.count_request(frame_of(produce("", build_batch([b"a"]), topic_id=TOPIC_ID), 13), 0)

    assert names.asked == [(Entity.TOPIC_ID, TOPIC_ID, False)]
    assert cells(usage, TOPIC_ID)[0][3] == 2


def test_attributes_say_codec_idempotence_and_transactions() -> None:
    usage = usage_of(ApiKey.PRODUCE, 9)
    batch = bytearray(build_batch([b"a", b"b", b"c"]))
    batch[22] = 4 | 0x10  # zstd, transactional
    batch[43:51] = (4000).to_bytes(8, "big")

    usage.count_request(frame_of(produce("orders", bytes(batch)), 9), 0)

    assert cells(usage, b"orders") == [(-1, 4, 1, 3, len(batch), 1, 1, 0)]


def test_a_forged_count_is_not_negative_and_a_forged_length_ends_the_count() -> None:
    usage = usage_of(ApiKey.PRODUCE, 9)
    negative, too_long = bytearray(build_batch([b"a"])), bytearray(build_batch([b"a"]))
    negative[57:61] = b"\xff\xff\xff\xff"
    too_long[8:12] = b"\x7f\xff\xff\xff"

    usage.count_request(frame_of(produce("orders", bytes(negative), bytes(too_long), b"short"), 9), 0)

    taken = usage.take()
    assert taken is not None
    requests, errors, bytes_in, bytes_out, _, found = taken[-1][b"orders"].take()
    assert (requests, errors, bytes_in, bytes_out) == (1, 0, len(negative) + len(too_long) + 5, 0)
    assert found[0][2:4] == (1, 0)


def test_control_batches_are_no_records_and_a_partial_batch_is_only_bytes() -> None:
    usage, whole = usage_of(ApiKey.FETCH, 12), build_batch([b"a"] * 3)
    control = bytearray(build_batch([b"end"]))
    control[22] |= 0x20
    records = whole + bytes(control) + whole[:70]

    usage.count_response(frame_of(fetched("orders", records), 12), 0, True)

    taken = usage.take()
    assert taken is not None
    requests, _, _, bytes_out, control_batches, found = taken[-1][b"orders"].take()
    assert (requests, bytes_out, control_batches) == (1, len(records), 1)
    assert found == [(None, 0, 1, 3, len(whole), 0, 0, 0)]


def test_messages_of_old_formats_are_a_batch_each() -> None:
    usage = usage_of(ApiKey.FETCH, 3)
    message = bytes(8) + (14 + 3).to_bytes(4, "big") + bytes(4) + b"\1\1" + bytes(8) + b"\xff\xff\xff"

    usage.count_response(frame_of(fetched("orders", message * 2), 3), 0, True)

    assert cells(usage, b"orders") == [(None, 1, 2, 2, 2 * len(message), 0, 0, 2)]


def test_fetches_without_records_are_counted() -> None:
    usage = usage_of(ApiKey.FETCH, 12)

    usage.count_response(frame_of(fetched("orders", b"", b""), 12), 0, True)
    usage.count_response(frame_of(fetched(""), 12), 0, True)
    usage.answer(10)

    taken = usage.take()
    assert taken is not None
    assert taken[9] == 2


def test_error_codes_are_the_topic_s_before_which_they_stand_and_the_response_s() -> None:
    usage = usage_of(ApiKey.PRODUCE, 9)
    Response = ProduceResponse  # noqa: N806
    results = [
        Response.TopicProduceResponse(
            name=name,
            partition_responses=[
                Response.PartitionProduceResponse(index=index, error_code=code)
                for index, code in enumerate(codes)
            ],
        )
        for name, codes in (("good", [0, 0]), ("bad", [3, 0, 6]))
    ]

    usage.answer(1)
    usage.count_response(frame_of(Response(responses=results, throttle_time_ms=250), 9), 0, True)

    taken = usage.take()
    assert taken is not None
    errors, throttle_time_ms, codes, topics = taken[2], taken[5], taken[10], taken[11]
    assert (errors, throttle_time_ms) == (1, 250)
    assert codes == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: 1, ErrorCode.NOT_LEADER_OR_FOLLOWER: 1}
    assert {name: topic.take()[1] for name, topic in topics.items()} == {b"bad": 2}


def test_what_was_taken_is_counted_anew() -> None:
    names = Names()
    usage = usage_of(ApiKey.PRODUCE, 9, names)
    frame = frame_of(produce("orders", build_batch([b"a"])), 9)

    usage.count_request(frame, 0)
    first = usage.take()
    nothing = usage.take()
    usage.count_request(frame, 0)
    second = usage.take()

    assert nothing is None
    assert first is not None
    assert second is not None
    assert first[:2] == second[:2] == (1, 0)
    assert len(names.asked) == 2


def test_a_topic_may_want_to_hear_of_every_use() -> None:
    heard: list[int] = []
    usage = usage_of(ApiKey.PRODUCE, 9)
    usage.resolve = lambda *_: usage.topics.setdefault(0, TopicUsage(0, lambda: heard.append(1)))

    for _ in range(3):
        usage.count_request(frame_of(produce("secret", b""), 9), 0)

    assert len(heard) == 3


def test_names_of_what_is_folded_are_not_remembered() -> None:
    asked: list[bytes] = []
    folded = TopicUsage(None, None, is_folded=True)
    usage = usage_of(ApiKey.PRODUCE, 9)

    def resolve(_usage: Usage, _slot: int, name: bytes, _is_physical: bool) -> TopicUsage:
        asked.append(name)
        return folded

    usage.resolve = resolve
    for _ in range(2):
        usage.count_request(frame_of(produce("orders", build_batch([b"a"])), 9), 0)

    assert asked == [b"orders", b"orders"]
    assert folded.take()[0] == 2


def test_there_is_a_bucket_more_than_bounds() -> None:
    usage = usage_of(ApiKey.HEARTBEAT, 4)
    usage.answer(1)

    taken = usage.take()

    assert taken is not None
    assert len(taken[8]) == len(GATEWAY_TIME_BOUNDS_US) + 1


def heartbeat(group_id: str) -> bytes:
    return frame_of(HeartbeatRequest(group_id=group_id, generation_id=1, member_id="m"), 4)


def test_a_group_is_asked_for_once_and_then_counted() -> None:
    names = Names()
    usage = usage_of(ApiKey.HEARTBEAT, 4, names)

    for group in ("one", "one", "two", "one", "two", "two"):
        usage.count_request(heartbeat(group), 0)

    taken = usage.take()
    assert taken is not None
    assert names.asked == [(Entity.GROUP_ID, b"one", False), (Entity.GROUP_ID, b"two", False)]
    assert {name: one.take()[0] for name, one in taken[-1].items()} == {b"one": 3, b"two": 3}
    usage.count_request(heartbeat("two"), 0)
    assert len(names.asked) == 3


def test_a_group_and_a_transactional_id_of_the_same_name_are_two() -> None:
    names = Names()
    usage = usage_of(ApiKey.ADD_OFFSETS_TO_TXN, 3, names)

    for _ in range(2):
        request = AddOffsetsToTxnRequest(transactional_id="same", group_id="same")
        usage.count_request(frame_of(request, 3), 0)

    assert names.asked == [(Entity.TRANSACTIONAL_ID, b"same", False), (Entity.GROUP_ID, b"same", False)]


@pytest.mark.parametrize(("length", "asked"), [(256, 1), (257, 3)])
def test_of_what_is_folded_only_the_last_short_name_is_remembered(length: int, asked: int) -> None:
    names: list[bytes] = []
    folded = TopicUsage(None, None, is_folded=True)
    usage = usage_of(ApiKey.HEARTBEAT, 4)

    def resolve(_usage: Usage, _slot: int, name: bytes, _is_physical: bool) -> TopicUsage:
        names.append(name)
        return folded

    usage.resolve = resolve
    for _ in range(3):
        usage.count_request(heartbeat("g" * length), 0)
    assert len(names) == asked
    for group in ("a", "b", "a"):
        usage.count_request(heartbeat(group), 0)

    assert names[asked:] == [b"a", b"b", b"a"]
    assert folded.take()[0] == 6


def test_names_about_which_python_code_decides_pause_each_by_themselves() -> None:
    """To find a name's row takes up to 50 us, so 64 of them would take three milliseconds."""
    names = Names()
    usage, pauses = usage_of(ApiKey.OFFSET_COMMIT, 8, names), list[int]()
    topic, partition = (
        OffsetCommitRequest.OffsetCommitRequestTopic,
        OffsetCommitRequest.OffsetCommitRequestPartition,
    )
    topics = [topic(name=f"t{number}", partitions=[partition()]) for number in range(50)]
    frame = frame_of(OffsetCommitRequest(group_id="g", topics=topics), 8)
    set_pause(lambda: pauses.append(len(names.asked)))
    try:
        usage.count_request(frame, 0)
        decided = len(names.asked)
        usage.count_request(frame, 0)
    finally:
        set_pause(None)

    assert decided == len(names.asked) == 51
    assert 50 <= len(pauses) <= 52
    assert all(later - before <= 2 for before, later in pairwise(pauses))
