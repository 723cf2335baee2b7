"""Whatever comes in, the engine answers, or raises MalformedFrame: never anything else, never beyond the frame."""

import gc
import tracemalloc
from contextlib import suppress

import pytest

from bifrost.wire.codec import decode, encode_body
from bifrost.wire.errors import EncodeError, MalformedFrame
from bifrost.wire.framer import Framer
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ApiVersionsResponse,
    CreateTopicsRequest,
    DescribeTopicPartitionsResponse,
    FetchResponse,
    JoinGroupResponse,
    MetadataResponse,
    OffsetCommitRequest,
    ProduceRequest,
)
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.rewriting import Names, rewrite

UUID = bytes(range(1, 17))
TOPIC, GROUP, TOPIC_ID = 1, 2, 4


def _messages() -> list[tuple[Message, int, dict[str, int]]]:
    partition = ProduceRequest.PartitionProduceData(index=3, records=b"records")
    produce = ProduceRequest(
        transactional_id="tx",
        topic_data=[ProduceRequest.TopicProduceData(name="orders", partition_data=[partition])],
    )
    fetched = FetchResponse.PartitionData(
        partition_index=1,
        aborted_transactions=[FetchResponse.AbortedTransaction(producer_id=7, first_offset=8)],
        records=b"batch",
    )
    fetch = FetchResponse(
        responses=[FetchResponse.FetchableTopicResponse(topic="orders", partitions=[fetched, fetched])],
    )
    moved = FetchResponse.PartitionData(
        current_leader=FetchResponse.LeaderIdAndEpoch(leader_id=4, leader_epoch=9), records=b"batch"
    )
    fetch_by_id = FetchResponse(
        responses=[FetchResponse.FetchableTopicResponse(topic_id=UUID, partitions=[fetched, moved])],
        node_endpoints=[FetchResponse.NodeEndpoint(node_id=1, host="h", port=9092, rack="r")],
    )
    metadata = MetadataResponse(
        brokers=[MetadataResponse.MetadataResponseBroker(node_id=1, host="b1", port=9092)],
        cluster_id="c",
        topics=[
            MetadataResponse.MetadataResponseTopic(
                name="orders",
                topic_id=UUID,
                partitions=[MetadataResponse.MetadataResponsePartition(replica_nodes=[1, 2], isr_nodes=[1])],
            )
        ],
    )
    versions = ApiVersionsResponse(
        api_keys=[ApiVersionsResponse.ApiVersion(api_key=1, max_version=4)] * 2,
        supported_features=[ApiVersionsResponse.SupportedFeatureKey(name="f", max_version=1)],
        finalized_features_epoch=3,
    )
    cursors = DescribeTopicPartitionsResponse(
        topics=[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic(name="t")],
        next_cursor=DescribeTopicPartitionsResponse.Cursor(topic_name="t", partition_index=2),
    )
    create = CreateTopicsRequest(
        topics=[
            CreateTopicsRequest.CreatableTopic(
                name="t",
                assignments=[CreateTopicsRequest.CreatableReplicaAssignment(broker_ids=[1, 2, 3])],
                configs=[CreateTopicsRequest.CreatableTopicConfig(name="k", value=None)],
            )
        ]
    )
    join = JoinGroupResponse(
        leader="m",
        member_id="m",
        members=[JoinGroupResponse.JoinGroupResponseMember(member_id="m", metadata=b"12")],
    )
    commit = OffsetCommitRequest(
        group_id="g",
        topics=[
            OffsetCommitRequest.OffsetCommitRequestTopic(
                name="t",
                partitions=[OffsetCommitRequest.OffsetCommitRequestPartition(committed_metadata="é")],
            )
        ],
    )
    return [
        (produce, 3, {"TopicData.Name": TOPIC, "TransactionalId": 3}),
        (produce, 9, {"TopicData.Name": TOPIC, "TransactionalId": 3}),
        (fetch, 4, {"Responses.Topic": TOPIC}),
        (fetch, 12, {"Responses.Topic": TOPIC}),
        (fetch_by_id, 17, {"Responses.TopicId": TOPIC_ID}),
        (metadata, 0, {"Topics.Name": TOPIC}),
        (metadata, 12, {"Topics.Name": TOPIC, "Topics.TopicId": TOPIC_ID}),
        (versions, 3, {}),
        (cursors, 0, {"Topics.Name": TOPIC, "NextCursor.TopicName": TOPIC}),
        (create, 0, {"Topics.Name": TOPIC}),
        (create, 5, {"Topics.Name": TOPIC}),
        (join, 5, {"Leader": 5}),
        (commit, 8, {"GroupId": GROUP, "Topics.Name": TOPIC}),
    ]


CASES = [
    pytest.param(message, version, slots, id=f"{type(message).__name__}-v{version}")
    for message, version, slots in _messages()
]


def longer(slot: int, name: bytes) -> bytes:
    return name[::-1] if slot == TOPIC_ID else name.upper() + b"!"


@pytest.mark.parametrize(("message", "version", "slots"), CASES)
class TestRealMessages:
    def frame(self, message: Message, version: int) -> bytes:
        return encode_body(compile_layout(type(message).__name__, version), message)

    def test_the_message_survives(self, message, version, slots):
        layout = compile_layout(type(message).__name__, version)
        frame = self.frame(message, version)
        keep = Names(lambda slot, name: name)
        program = compile_program(type(message).__name__, version, slots)

        assert encode_body(layout, decode(layout, frame, 0)) == frame
        assert b"".join(rewrite(program, frame, 0, keep))[4:] == frame

    def test_every_truncation_is_malformed(self, message, version, slots):
        name = type(message).__name__
        layout, program = compile_layout(name, version), compile_program(name, version, slots)
        frame = self.frame(message, version)

        for end in range(len(frame)):
            with pytest.raises(MalformedFrame) as caught:
                decode(layout, frame[:end], 0)
            assert 0 <= caught.value.offset <= end
            with pytest.raises(MalformedFrame) as caught:
                rewrite(program, frame[:end], 0, Names(longer))
            assert 0 <= caught.value.offset <= end

    def test_every_mutation_of_one_byte_is_parsed_or_malformed(self, message, version, slots):
        name = type(message).__name__
        layout, program = compile_layout(name, version), compile_program(name, version, slots)
        frame = bytearray(self.frame(message, version))
        using, parsed, malformed = Names(longer), 0, 0

        for position in range(len(frame)):
            kept = frame[position]
            for value in (*range(0, 256, 17), kept ^ 1, kept ^ 0x80, (kept + 1) & 0xFF, (kept - 1) & 0xFF):
                frame[position] = value
                try:
                    rewrite(program, frame, 0, using)
                    decoded = decode(layout, frame, 0)
                    assert decode(layout, encode_body(layout, decoded), 0) is not None
                    parsed += 1
                except MalformedFrame:
                    malformed += 1
            frame[position] = kept
        assert parsed
        assert malformed

    def test_rewriting_agrees_with_decoding(self, message, version, slots):
        """What one of the two refuses, the other refuses: they never read a frame differently."""
        name = type(message).__name__
        layout, program = compile_layout(name, version), compile_program(name, version, slots)
        keep = Names(lambda slot, value: value)
        original = self.frame(message, version)

        for position in range(len(original)):
            for value in (0, 1, 2, 0x7F, 0x80, 0xFF, original[position] ^ 1):
                frame = original[:position] + bytes([value]) + original[position + 1 :]
                try:
                    decode(layout, frame, 0)
                    decoded = True
                except MalformedFrame as error:
                    decoded = "UTF-8" in error.reason and None
                try:
                    segments = rewrite(program, frame, 0, keep)
                    if decoded is not None:
                        assert decoded or segments is None
                    assert segments is None or b"".join(segments)[4:] == frame
                except MalformedFrame:
                    assert not decoded


def test_what_lies_behind_a_window_is_not_read():
    layout = compile_layout("MetadataResponse", 2)
    whole = encode_body(layout, MetadataResponse(cluster_id="behind"))

    for end in range(len(whole)):
        with pytest.raises(MalformedFrame):
            decode(layout, memoryview(whole)[:end], 0)


def test_nothing_is_leaked():
    message, version, slots = _messages()[4]
    layout, program = (
        compile_layout("FetchResponse", version),
        compile_program("FetchResponse", version, slots),
    )
    frame = encode_body(layout, message)
    names = [Names(longer), Names(lambda slot, name: None), Names(lambda slot, name: name * 2)]

    def use_everything() -> None:
        for end in range(0, len(frame) + 1, 3):
            for using in names:
                with suppress(ValueError):
                    rewrite(program, frame[:end] + frame[end:] * (end % 2), 0, using)
            with suppress(MalformedFrame):
                decode(layout, frame[:end], 0)
        with suppress(EncodeError):
            encode_body(layout, FetchResponse(responses=[*message.responses * 40, None]))
        framer = Framer(1 << 20)
        for size in (10, 10_000, 40_000, 100_000):
            framer.get_buffer(-1)[:4] = size.to_bytes(4, "big")
            framer.buffer_updated(4)

    for _ in range(3):
        use_everything()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(30):
        use_everything()
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()

    assert grown < 20_000
