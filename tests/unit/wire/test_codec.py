"""Decoding and encoding: types, defaults, tagged fields, what may not be written, what is copied."""

import gc
import math

import pytest

from bifrost.wire.codec import Layout, decode, encode, encode_body
from bifrost.wire.errors import EncodeError, MalformedFrame
from bifrost.wire.message import Struct
from bifrost.wire.messages import (
    AddRaftVoterRequest,
    AlterClientQuotasRequest,
    ApiVersionsResponse,
    ConsumerGroupHeartbeatResponse,
    DescribeTopicPartitionsRequest,
    FetchRequest,
    FetchResponse,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
    RequestHeader,
    SaslAuthenticateRequest,
)
from bifrost.wire.programs import compile_layout
from bifrost.wire.reader import Flag, Kind


def body(message: Struct, version: int) -> bytes:
    return encode_body(compile_layout(type(message).__name__, version), message)


def read(cls: type[Struct], version: int, data: bytes):
    return decode(compile_layout(cls.__name__, version), data, 0)


def varint(value: int) -> bytes:
    return bytes([value]) if value < 0x80 else bytes([value & 0x7F | 0x80]) + varint(value >> 7)


class TestBytesOnTheWire:
    """Each expected value is written out by hand from the protocol guide."""

    def test_classic_version(self):
        request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="ab")])
        expected = b"\x00\x00\x00\x01\x00\x02ab\x01"

        assert body(request, 4) == expected
        assert read(MetadataRequest, 4, expected) == request
        assert body(MetadataRequest(topics=None), 4) == b"\xff\xff\xff\xff\x01"

    def test_flexible_version(self):
        topic = MetadataRequest.MetadataRequestTopic(topic_id=b"0123456789abcdef", name=None)
        request = MetadataRequest(topics=[topic], include_topic_authorized_operations=True)
        expected = b"\x020123456789abcdef\x00\x00\x01\x01\x00"

        assert body(request, 12) == expected
        assert read(MetadataRequest, 12, expected) == request

    def test_frame_has_length_and_header(self):
        frame = encode(compile_layout("MetadataRequest", 0), MetadataRequest(), b"header")

        assert frame == b"\x00\x00\x00\x0aheader\x00\x00\x00\x00"

    def test_header_is_a_message_too_and_never_has_a_compact_client_id(self):
        header = RequestHeader(request_api_key=3, request_api_version=12, correlation_id=7, client_id="me")
        expected = b"\x00\x03\x00\x0c\x00\x00\x00\x07\x00\x02me\x00"

        assert body(header, 2) == expected
        assert decode(compile_layout("RequestHeader", 2), expected + b"body", 0, True) == header
        assert (
            decode(compile_layout("RequestHeader", 2), expected + b"body", 0, allow_trailing=True) == header
        )

    def test_tagged_fields_are_written_by_tag_and_only_if_set(self):
        response = ApiVersionsResponse()
        assert body(response, 3) == b"\x00\x00\x01\x00\x00\x00\x00\x00"

        response.zk_migration_ready = True
        response.finalized_features_epoch = 5
        tagged = b"\x02\x01\x08\x00\x00\x00\x00\x00\x00\x00\x05\x03\x01\x01"
        assert body(response, 3) == b"\x00\x00\x01\x00\x00\x00\x00" + tagged
        assert read(ApiVersionsResponse, 3, body(response, 3)) == response

    @pytest.mark.parametrize("length", [0, 1, 120, 122, 123, 124, 125, 126, 127, 128, 16_375, 16_380, 20_000])
    def test_a_tagged_field_of_any_length(self, length):
        request = FetchRequest(cluster_id="c" * length)
        data = body(request, 12)

        assert read(FetchRequest, 12, data) == request
        content = varint(length + 1) + b"c" * length
        assert data == body(FetchRequest(), 12)[:-1] + b"\x01\x00" + varint(len(content)) + content

    def test_nullable_struct_has_a_marker(self):
        Cursor = DescribeTopicPartitionsRequest.Cursor  # noqa: N806
        request = DescribeTopicPartitionsRequest()
        assert body(request, 0) == b"\x01\x00\x00\x07\xd0\xff\x00"

        request.cursor = Cursor(topic_name="t", partition_index=3)
        assert body(request, 0) == b"\x01\x00\x00\x07\xd0\x01\x02t\x00\x00\x00\x03\x00\x00"
        assert read(DescribeTopicPartitionsRequest, 0, body(request, 0)) == request
        # Kafka takes every marker from 0 on for a struct.
        assert (
            read(DescribeTopicPartitionsRequest, 0, body(request, 0).replace(b"\x01\x02t", b"\x7f\x02t"))
            == request
        )

    def test_numbers_of_every_kind(self):
        listener = AddRaftVoterRequest.Listener(name="n", host="h", port=65535)
        request = AddRaftVoterRequest(listeners=[listener])
        assert b"\x02n\x02h\xff\xff" in body(request, 0)
        assert read(AddRaftVoterRequest, 0, body(request, 0)) == request

        quotas = AlterClientQuotasRequest
        entry = quotas.EntryData(
            ops=[quotas.OpData(key="k", value=-0.1), quotas.OpData(key="n", value=math.inf)]
        )
        data = body(quotas(entries=[entry]), 0)
        assert b"\xbf\xb9\x99\x99\x99\x99\x99\x9a" in data
        assert b"\x7f\xf0\x00\x00\x00\x00\x00\x00" in data
        assert read(quotas, 0, data) == quotas(entries=[entry])

    def test_any_byte_but_zero_is_true(self):
        assert read(MetadataRequest, 4, b"\x00\x00\x00\x00\x07").allow_auto_topic_creation is True
        assert read(MetadataRequest, 4, b"\x00\x00\x00\x00\x00").allow_auto_topic_creation is False


class TestDecode:
    def test_what_a_version_lacks_has_its_default_afresh(self):
        data = body(FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t")] * 2), 4)
        first, second = read(FetchResponse, 4, data).responses, read(FetchResponse, 4, data).responses

        assert first == second
        assert first[0].topic_id == bytes(16)
        response = read(FetchResponse, 4, data)
        assert response.node_endpoints == []
        assert response.node_endpoints is not read(FetchResponse, 4, data).node_endpoints

    def test_absent_structs_are_fresh(self):
        partition = FetchResponse.PartitionData(partition_index=1, high_watermark=2)
        message = FetchResponse(
            responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=[partition, partition])]
        )
        first, second = read(FetchResponse, 4, body(message, 4)).responses[0].partitions

        assert first.current_leader == FetchResponse.LeaderIdAndEpoch(leader_id=-1, leader_epoch=-1)
        assert first.current_leader is not second.current_leader

    def test_unknown_tagged_fields_are_skipped(self):
        known = body(FetchRequest(cluster_id="c"), 12)
        with_unknown = known.replace(b"\x01\x00\x02\x02c", b"\x03\x00\x02\x02c\x32\x00\xff\x7f\x02zz")

        assert with_unknown != known
        assert read(FetchRequest, 12, with_unknown) == FetchRequest(cluster_id="c")

    def test_of_a_tagged_field_that_comes_twice_the_last_one_holds(self):
        twice = body(FetchRequest(cluster_id="c"), 12).replace(
            b"\x01\x00\x02\x02c", b"\x02\x00\x02\x02c\x00\x02\x02d"
        )

        assert read(FetchRequest, 12, twice).cluster_id == "d"

    @pytest.mark.parametrize("size", [1, 3])
    def test_a_tagged_field_has_the_size_it_announces(self, size):
        wrong = body(FetchRequest(cluster_id="c"), 12).replace(
            b"\x01\x00\x02\x02c", bytes([1, 0, size]) + b"\x02c" * 2
        )

        with pytest.raises(MalformedFrame, match="another size"):
            read(FetchRequest, 12, wrong)

    def test_trailing_bytes_only_where_they_are_allowed(self):
        layout = compile_layout("MetadataRequest", 0)

        with pytest.raises(MalformedFrame, match="goes on behind its body") as caught:
            decode(layout, bytes(5), 0)
        assert caught.value.offset == 4
        assert decode(layout, bytes(5), 0, True) == MetadataRequest()

    @pytest.mark.parametrize("text", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80"])
    def test_a_string_is_utf8(self, text):
        with pytest.raises(MalformedFrame, match="not UTF-8") as caught:
            read(MetadataRequest, 0, b"\x00\x00\x00\x01\x00" + bytes([len(text)]) + text)
        assert caught.value.offset == 6

    def test_null_where_it_may_not_be(self):
        with pytest.raises(MalformedFrame, match="null"):
            read(MetadataRequest, 0, b"\x00\x00\x00\x01\xff\xff")
        with pytest.raises(MalformedFrame, match="null"):
            read(MetadataResponse, 0, b"\xff\xff\xff\xff\x00\x00\x00\x00")
        # An array of a nullable field's kind still has no null elements: a tagged one of uuids cannot.
        with pytest.raises(MalformedFrame, match="null"):
            read(SaslAuthenticateRequest, 2, b"\x00\x00")

    def test_a_count_is_not_believed(self):
        for count in (b"\x7f\xff\xff\xff", b"\x00\x00\x00\x02"):
            with pytest.raises(MalformedFrame, match="more elements than the frame can hold"):
                read(MetadataRequest, 0, count + b"\x00\x00")

    def test_large_records_are_slices_of_a_frame_of_bytes_only(self):
        for size, kind in ((4095, bytes), (4096, memoryview)):
            partition = ProduceRequest.PartitionProduceData(records=bytes([7]) * size)
            topic = ProduceRequest.TopicProduceData(name="t", partition_data=[partition])
            data = body(ProduceRequest(topic_data=[topic]), 9)

            records = read(ProduceRequest, 9, data).topic_data[0].partition_data[0].records
            assert type(records) is kind
            copied = read(ProduceRequest, 9, memoryview(data)).topic_data[0].partition_data[0].records
            assert type(copied) is bytes
            del data
            gc.collect()
            assert records == copied == bytes([7]) * size

    def test_bytes_are_always_copied(self):
        data = body(SaslAuthenticateRequest(auth_bytes=b"s" * 5000), 2)

        assert type(read(SaslAuthenticateRequest, 2, data).auth_bytes) is bytes

    def test_what_is_not_a_frame_is_refused(self):
        with pytest.raises(TypeError):
            read(MetadataRequest, 0, "text")  # type: ignore[arg-type]
        with pytest.raises(MalformedFrame, match="ends before its body"):
            decode(compile_layout("MetadataRequest", 0), b"abc", 4)


class TestEncode:
    @pytest.mark.parametrize(
        ("message", "version", "problem"),
        [
            (
                MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=None)]),
                0,
                "Topic.name cannot be None",
            ),
            (MetadataRequest(topics=None), 0, "topics cannot be None"),
            (MetadataRequest(topics=()), 0, "topics is a list, not tuple"),
            (MetadataRequest(topics=[None]), 0, "cannot be None"),
            (MetadataRequest(topics=["orders"]), 0, "cannot be written from str"),
            (MetadataRequest(topics=[FetchRequest.FetchTopic()]), 0, "cannot be written from FetchTopic"),
            (MetadataRequest(allow_auto_topic_creation=1), 4, "is a bool, not int"),
            (FetchRequest(max_wait_ms=2**31), 4, "max_wait_ms is out of range: 2147483648"),
            (FetchRequest(max_wait_ms=-(2**31) - 1), 4, "max_wait_ms is out of range"),
            (FetchRequest(max_wait_ms=2**63), 4, "max_wait_ms is out of range"),
            (FetchRequest(max_wait_ms=1.0), 4, "max_wait_ms is an integer, not float"),
            (FetchRequest(max_wait_ms=None), 4, "max_wait_ms is an integer, not NoneType"),
            (FetchRequest(isolation_level=128), 4, "isolation_level is out of range"),
            (FetchRequest(rack_id=b"r"), 11, "FetchRequest.rack_id is a string, not bytes"),
            (FetchRequest(rack_id="r" * 32768), 11, "rack_id is longer than 32767 bytes"),
            (FetchRequest(rack_id="\u20ac" * 10923), 12, "rack_id is longer than 32767 bytes"),
            (FetchRequest(rack_id="\ud800"), 11, "rack_id is not a string that UTF-8 can carry"),
            (FetchRequest(replica_state=None), 15, "replica_state cannot be None"),
            (SaslAuthenticateRequest(auth_bytes="x"), 2, "auth_bytes is bytes, not str"),
            (SaslAuthenticateRequest(auth_bytes=None), 2, "auth_bytes cannot be None"),
            (
                MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(topic_id=b"1")]),
                12,
                "cannot be 1 bytes",
            ),
            (
                MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(topic_id=None)]),
                12,
                "cannot be None",
            ),
            (FetchResponse(node_endpoints=None), 16, "node_endpoints cannot be None"),
            (FetchResponse(session_id=3), 6, "session_id has a value, but this version has no such field"),
        ],
    )
    def test_what_cannot_be_written_names_its_field(self, message, version, problem):
        with pytest.raises(EncodeError) as caught:
            body(message, version)
        assert problem in str(caught.value)
        assert type(message).__name__ in str(caught.value) or "cannot be written from" in str(caught.value)

    def test_a_float_is_a_number_that_fits(self):
        quotas = AlterClientQuotasRequest
        for value, problem in (("1", "is a number, not str"), (10**400, "value is out of range")):
            with pytest.raises(EncodeError, match=problem):
                body(quotas(entries=[quotas.EntryData(ops=[quotas.OpData(value=value)])]), 0)

    def test_bytes_are_one_piece_of_memory(self):
        with pytest.raises(EncodeError, match="auth_bytes is not one piece of memory"):
            body(SaslAuthenticateRequest(auth_bytes=memoryview(b"abcd")[::2]), 0)

    def test_ports_are_unsigned(self):
        for port in (-1, 65536, 2**64):
            request = AddRaftVoterRequest(listeners=[AddRaftVoterRequest.Listener(port=port)])
            with pytest.raises(EncodeError, match="port is out of range"):
                body(request, 0)

    def test_the_ends_of_every_range_can_be_written(self):
        for value in (-(2**31), 2**31 - 1):
            assert read(FetchRequest, 4, body(FetchRequest(max_wait_ms=value), 4)).max_wait_ms == value
        for value in (-(2**63), 2**63 - 1):
            partition = FetchRequest.FetchPartition(fetch_offset=value)
            request = FetchRequest(topics=[FetchRequest.FetchTopic(topic="t", partitions=[partition])])
            assert read(FetchRequest, 4, body(request, 4)) == request

    def test_an_ignorable_field_that_the_version_lacks_is_left_out(self):
        assert body(FetchResponse(throttle_time_ms=9, error_code=3), 0) == bytes(4)

    def test_a_struct_that_the_version_lacks_counts_by_its_content(self):
        request = FetchRequest(replica_state=FetchRequest.ReplicaState())
        assert body(request, 14) == body(FetchRequest(), 14)

        request.replica_state.replica_epoch = 3
        with pytest.raises(EncodeError, match="replica_state has a value"):
            body(request, 14)

    def test_a_tagged_struct_at_its_defaults_is_left_out(self):
        assert body(FetchRequest(replica_state=FetchRequest.ReplicaState()), 15)[-1:] == b"\x00"
        assert body(FetchRequest(replica_state=FetchRequest.ReplicaState(replica_id=1)), 15)[-16:] == (
            b"\x01\x01\x0d\x00\x00\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\x00"
        )

    def test_any_buffer_is_bytes(self):
        for given in (b"abc", bytearray(b"abc"), memoryview(b"xabcx")[1:4]):
            assert body(SaslAuthenticateRequest(auth_bytes=given), 0) == b"\x00\x00\x00\x03abc"

    def test_nothing_is_too_large_for_the_output(self):
        records = bytes(range(256)) * 1000
        partition = FetchResponse.PartitionData(records=memoryview(records))
        topics = [
            FetchResponse.FetchableTopicResponse(topic="t" * n, partitions=[partition] * 3)
            for n in (1, 4093, 9)
        ]
        data = body(FetchResponse(responses=topics), 12)

        assert len(data) > 9 * len(records)
        assert read(FetchResponse, 12, data) == FetchResponse(responses=topics)

    @pytest.mark.parametrize("size", [10, 4095, 4096, 200_000])
    def test_records_may_be_in_pieces(self, size):
        pieces = (bytes([1]) * size, memoryview(bytearray([2]) * size), b"", memoryview(bytes([3]) * size))
        whole = FetchResponse.PartitionData(records=b"".join(pieces))
        parted = FetchResponse.PartitionData(records=pieces)
        topics = [
            [FetchResponse.FetchableTopicResponse(topic="t", partitions=[one, one, one])]
            for one in (whole, parted)
        ]

        expected, found = (body(FetchResponse(responses=one), 12) for one in topics)

        assert found == expected

    def test_pieces_are_of_bytes(self):
        for pieces in ((b"a", 7), (b"a", None), (memoryview(b"abcdef")[::2],)):
            partition = FetchResponse.PartitionData(records=pieces)
            topic = FetchResponse.FetchableTopicResponse(topic="t", partitions=[partition])
            with pytest.raises(EncodeError, match=r"PartitionData\.records"):
                body(FetchResponse(responses=[topic]), 12)

    def test_a_head_is_needed(self):
        with pytest.raises(TypeError):
            encode(compile_layout("MetadataRequest", 0), MetadataRequest(), None)  # type: ignore[arg-type]

    def test_a_message_of_another_class_is_refused(self):
        with pytest.raises(EncodeError, match="MetadataRequest cannot be written from FetchRequest"):
            encode(compile_layout("MetadataRequest", 0), FetchRequest(), b"")


class TestLayout:
    def test_an_incomplete_field_is_refused(self):
        for field in (
            ("topics", Kind.STRUCT, Flag.PRESENT, -1, (), None, 1),
            ("topics", Kind.INT32, Flag.PRESENT, -1, 0, None, 0),
            ("topics", Kind.INT32, Flag.PRESENT, -1, 0, None, 65536),
        ):
            with pytest.raises(ValueError, match=r"X\.topics is incomplete"):
                Layout(MetadataRequest, "X", False, [field])

    def test_tagged_fields_need_a_flexible_version(self):
        with pytest.raises(ValueError, match="cannot have 1 tagged fields"):
            Layout(MetadataRequest, "X", False, [("topics", Kind.INT32, Flag.TAGGED, 0, 0, None, 4)])

    def test_a_nullable_struct_in_a_tagged_field(self):
        """Kafka's generator knows it (null is 0, not -1), though no message has one yet."""
        Assignment = ConsumerGroupHeartbeatResponse.Assignment  # noqa: N806
        inner = Layout(Assignment, "Assignment", True, [])
        flags = Flag.TAGGED | Flag.NULLABLE
        outer = Layout(
            ConsumerGroupHeartbeatResponse,
            "Response",
            True,
            [("assignment", Kind.STRUCT, flags, 4, (), inner, 1)],
        )
        message = ConsumerGroupHeartbeatResponse(assignment=None)
        assert encode_body(outer, message) == b"\x01\x04\x01\x00"
        assert decode(outer, b"\x01\x04\x01\x00", 0).assignment is None

        message.assignment = Assignment()
        assert encode_body(outer, message) == b"\x00"
        assert decode(outer, b"\x01\x04\x02\x01\x00", 0).assignment is not None

    def test_a_nullable_array_in_a_tagged_field_tells_empty_from_null(self):
        """As BrokerHeartbeatRequest's CordonedLogDirs, a message between brokers and controllers only."""
        flags = Flag.TAGGED | Flag.NULLABLE | Flag.LIST | Flag.COMPACT
        layout = Layout(MetadataRequest, "X", True, [("topics", Kind.UUID, flags, 1, None, None, 16)])

        for topics, data in (
            (None, b"\x00"),
            ([], b"\x01\x01\x01\x01"),
            ([bytes(16)], b"\x01\x01\x11\x02" + bytes(16)),
        ):
            assert encode_body(layout, MetadataRequest(topics=topics)) == data
            assert decode(layout, data, 0).topics == topics
        assert decode(layout, b"\x01\x01\x01\x00", 0).topics is None
