"""Rewriting whole frames: what leaves as a slice, what the callback may do, when the engine gives up."""

import gc

import pytest

from bifrost.wire.codec import decode, encode, encode_body
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.messages import FetchResponse, MetadataRequest, ProduceRequest
from bifrost.wire.program import SLOT_DECODE, Program
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.reader import Flag, Kind
from bifrost.wire.rewriting import Names, rewrite
from support.physical_names import physical_name
from support.stage.rewriting import END, GROUP, HEAD, TOPIC, TOPIC_ID, TRANSACTION, names, rewritten


def produce(*names: str, records: bytes = b"\x01" * 80, partitions: int = 1) -> ProduceRequest:
    entries = [ProduceRequest.PartitionProduceData(index=i, records=records) for i in range(partitions)]
    return ProduceRequest(
        acks=-1,
        timeout_ms=1500,
        topic_data=[ProduceRequest.TopicProduceData(name=name, partition_data=entries) for name in names],
    )


def produce_frame(message: ProduceRequest, version: int = 9) -> bytes:
    return encode(compile_layout("ProduceRequest", version), message, HEAD)[4:]


PRODUCE = {"TopicData.Name": TOPIC, "TransactionalId": TRANSACTION}


class TestSegments:
    program = compile_program("ProduceRequest", 9, PRODUCE)

    def test_a_small_frame_leaves_in_one_piece(self):
        frame = produce_frame(produce("orders"))
        using = names(table={b"orders": physical_name("acme", "orders").encode()})

        for given in (frame, memoryview(frame), bytearray(frame)):
            segments = rewrite(self.program, given, len(HEAD), using)
            assert segments == [
                encode(compile_layout("ProduceRequest", 9), produce(physical_name("acme", "orders")), HEAD)
            ]

    def test_large_records_leave_as_slices_that_keep_the_frame_alive(self):
        records = bytes(range(256)) * 64
        frame = produce_frame(produce("orders", records=records))
        segments = rewrite(self.program, frame, len(HEAD), names(table={b"orders": b"o"}))
        expected = encode(compile_layout("ProduceRequest", 9), produce("o", records=records), HEAD)

        assert [type(segment) for segment in segments] == [bytes, memoryview]
        assert segments[1].readonly
        del frame
        gc.collect()
        assert b"".join(segments) == expected

    def test_a_frame_of_very_many_names_leaves_in_parts(self):
        """As one piece it would be copied whenever it outgrows its memory: megabytes at once."""
        topics = [f"{number:0100}" for number in range(5000)]
        frame = produce_frame(produce(*topics, records=b""))
        missing = Names(lambda _slot, name: b"a prefix" + name)
        segments = rewrite(self.program, frame, len(HEAD), missing)
        expected = encode(
            compile_layout("ProduceRequest", 9),
            produce(*(f"a prefix{one}" for one in topics), records=b""),
            HEAD,
        )

        assert b"".join(segments) == expected
        assert max(map(len, segments)) < 140_000

    def test_an_unchanged_frame_of_bytes_is_not_copied(self):
        frame = produce_frame(produce("orders", records=bytes(5000)))
        same = names(table={b"orders": b"orders"})

        segments = rewrite(self.program, frame, len(HEAD), same)
        assert [len(segment) for segment in segments] == [4, len(frame)]
        assert segments[1] == frame

        segments = rewrite(self.program, frame, len(HEAD), same, b"head")
        assert [len(segment) for segment in segments] == [8, len(frame) - len(HEAD)]
        assert segments[0][4:] == b"head"

    def test_nothing_of_a_borrowed_buffer_is_kept(self):
        frame = bytearray(produce_frame(produce("orders", records=bytes(50_000))))
        segments = rewrite(self.program, memoryview(frame), len(HEAD), names(table={b"orders": b"orders"}))

        assert [type(segment) for segment in segments] == [bytes]
        assert segments[0][4:] == frame
        frame.clear()  # a buffer that is still looked at cannot be resized

    def test_the_buffer_is_let_go_after_an_error(self):
        frame = bytearray(b"\x00\x05abc")
        with pytest.raises(MalformedFrame):
            rewrite(self.program, memoryview(frame), 0, names())
        assert (
            rewrite(Program([(Kind.STRING, Flag.COMPACT, 1, 0, 0), END]), bytearray(b"\x02a"), 0, names())
            is None
        )
        frame.clear()
        assert frame == b""

    @pytest.mark.parametrize("length", [1, 126, 127, 128, 4000, 16382, 16383, 16384, 32767])
    def test_a_replacement_of_any_length_has_the_right_compact_length(self, length):
        new = "x" * length
        for topics in (["orders"], ["a", "orders", "b"]):
            using = names(table={b"orders": new.encode(), b"a": b"a", b"b": b"bb"})
            frame = produce_frame(produce(*topics, partitions=3))
            renamed = produce(*({"orders": new, "b": "bb"}.get(t, t) for t in topics), partitions=3)
            assert b"".join(rewrite(self.program, frame, len(HEAD), using))[4:] == produce_frame(renamed)

    def test_a_shorter_replacement_shrinks_the_compact_length(self):
        frame = produce_frame(produce("long" * 50))
        using = names(table={b"long" * 50: b"s"})

        assert b"".join(rewrite(self.program, frame, len(HEAD), using))[4:] == produce_frame(produce("s"))

    @pytest.mark.parametrize("version", range(14))
    def test_every_version_of_produce(self, version):
        program = compile_program("ProduceRequest", version, {**PRODUCE, "TopicData.TopicId": TOPIC_ID})
        layout = compile_layout("ProduceRequest", version)
        before, after = produce("a", "b"), produce("A1", "B22")
        if version >= 3:
            before.transactional_id, after.transactional_id = "t", "tt"
        if version >= 13:
            for topic in before.topic_data + after.topic_data:
                topic.topic_id = (topic.name * 16)[:16].encode()
                topic.name = ""
        using = names(table={b"a": b"A1", b"b": b"B22"})
        using.tables[TRANSACTION] = {b"t": b"tt"}
        using.tables[TOPIC_ID] = {b"a" * 16: b"A1" * 8, b"b" * 16: b"B22" * 5 + b"B"}

        assert b"".join(rewrite(program, encode(layout, before, HEAD)[4:], len(HEAD), using)) == encode(
            layout, after, HEAD
        )

    def test_slices_between_many_replacements_add_up(self):
        response = FetchResponse(
            responses=[
                FetchResponse.FetchableTopicResponse(
                    topic=f"t{i}", partitions=[FetchResponse.PartitionData(records=bytes([i]) * size)]
                )
                for i, size in enumerate([10, 5000, 0, 4095, 4096, 70_000, 1])
            ]
        )
        layout = compile_layout("FetchResponse", 12)
        frame = encode(layout, response, b"corr\x00")[4:]
        using = names(missing=lambda slot, name: name * 30)
        segments = rewrite(
            compile_program("FetchResponse", 12, {"Responses.Topic": 1}), frame, 5, using, b"CORR\x00"
        )

        for topic in response.responses:
            topic.topic *= 30
        assert b"".join(segments) == encode(layout, response, b"CORR\x00")
        assert sum(type(segment) is memoryview for segment in segments) == 4

    @pytest.mark.parametrize("size", [80, 5000])
    def test_bytes_behind_the_body_are_left_behind_where_they_are_allowed(self, size):
        message, renamed = produce("orders", records=bytes(size)), produce("o", records=bytes(size))
        frame = produce_frame(message) + b"\x00\x00\x00"
        using = names(table={b"orders": b"o"})

        with pytest.raises(MalformedFrame, match="goes on behind its body"):
            rewrite(self.program, frame, len(HEAD), using)
        segments = rewrite(self.program, frame, len(HEAD), using, HEAD, True)
        assert b"".join(segments) == encode(compile_layout("ProduceRequest", 9), renamed, HEAD)
        with pytest.raises(MalformedFrame, match="ends within a field"):
            rewrite(self.program, frame[:-10], len(HEAD), using, HEAD, True)


class TestNames:
    program = compile_program("ProduceRequest", 9, PRODUCE)
    frame = produce_frame(produce("orders", "refunds"))

    def test_names_above_others_begin_with_their_tables(self):
        base = names(table={b"orders": b"o"})
        above = Names(lambda slot, name: None, base)
        above.tables[GROUP] = {}

        assert above.tables[TOPIC] is base.tables[TOPIC]
        assert base.tables[GROUP] is None
        assert above.miss_steps > base.miss_steps

    def test_only_what_is_missing_is_asked_for(self):
        asked = []

        def missing(slot: int, name: bytes) -> bytes:
            asked.append((slot, name))
            return name.upper()

        using = names(table={b"orders": b"o"}, missing=missing)
        frame = b"".join(rewrite(self.program, self.frame, len(HEAD), using))[4:]

        assert asked == [(TOPIC, b"refunds")]
        assert frame == produce_frame(produce("o", "REFUNDS"))
        assert using.tables[TOPIC] == {b"orders": b"o"}

    def test_a_slot_without_table_is_always_asked(self):
        asked = []
        using = Names(lambda slot, name: asked.append(name) or name)

        for _ in range(2):
            assert rewrite(self.program, self.frame, len(HEAD), using) is not None
        for tables in ([], [None], None):
            using.tables = tables
            assert rewrite(self.program, self.frame, len(HEAD), using) is not None
        assert asked == [b"orders", b"refunds"] * 5

    def test_a_denied_name_gives_none(self):
        assert rewrite(self.program, self.frame, len(HEAD), names(table={b"orders": b"o"})) is None

    def test_an_error_of_the_callback_is_passed_on(self):
        def missing(slot: int, name: bytes) -> bytes:
            raise LookupError(name)

        with pytest.raises(LookupError, match="orders"):
            rewrite(self.program, self.frame, len(HEAD), Names(missing))

    @pytest.mark.parametrize("answer", ["orders", 7, bytearray(b"orders")])
    def test_an_answer_that_is_not_bytes_is_refused(self, answer):
        with pytest.raises(TypeError):
            rewrite(self.program, self.frame, len(HEAD), Names(lambda slot, name: answer))
        with pytest.raises(TypeError):
            rewrite(self.program, self.frame, len(HEAD), names(table={b"orders": answer}))

    def test_a_replacement_too_long_for_a_string_is_malformed(self):
        with pytest.raises(MalformedFrame, match="too long after its replacement"):
            rewrite(self.program, self.frame, len(HEAD), Names(lambda slot, name: bytes(0x8000)))

    def test_a_topic_id_is_replaced_by_16_bytes_only(self):
        program = Program([(Kind.UUID, 0, TOPIC_ID, 0, 0), END])

        with pytest.raises(ValueError, match="16 bytes"):
            rewrite(program, b"a" * 16, 0, Names(lambda slot, name: name[:15]))

    def test_the_callback_may_use_the_engine(self):
        layout = compile_layout("ProduceRequest", 9)
        large = produce_frame(produce(*("x" * n for n in range(1, 200)), partitions=3))

        def missing(slot: int, name: bytes) -> bytes:
            segments = rewrite(self.program, large, len(HEAD), Names(lambda slot, name: name * 2))
            inner = decode(layout, b"".join(segments)[4:], len(HEAD))
            assert [len(topic.name) for topic in inner.topic_data] == [2 * n for n in range(1, 200)]
            assert encode_body(layout, inner) == b"".join(segments)[4 + len(HEAD) :]
            return name.upper()

        frame = b"".join(rewrite(self.program, self.frame, len(HEAD), Names(missing)))[4:]

        assert frame == produce_frame(produce("ORDERS", "REFUNDS"))

    def test_the_callback_may_recurse(self):
        depth = 0

        def missing(slot: int, name: bytes) -> bytes:
            nonlocal depth
            depth += 1
            if depth < 60:
                segments = rewrite(self.program, self.frame, len(HEAD), Names(missing))
                assert b"".join(segments)[4:] == produce_frame(produce("ORDERS", "REFUNDS"))
            return name.upper()

        assert rewrite(self.program, self.frame, len(HEAD), Names(missing)) is not None
        assert depth > 60

    def test_the_callback_may_change_the_tables(self):
        def missing(slot: int, name: bytes) -> bytes:
            using.tables = [None] * 8
            using.tables[TOPIC] = {b"refunds": b"r"}
            return b"o"

        using = names(missing=missing)
        frame = b"".join(rewrite(self.program, self.frame, len(HEAD), using))[4:]

        assert frame == produce_frame(produce("o", "r"))


class TestGivingUp:
    def test_an_unknown_tagged_field(self):
        program = compile_program("ProduceRequest", 9, PRODUCE)
        frame = produce_frame(produce("orders"))
        using = names(table={b"orders": b"o"})

        assert rewrite(program, frame, len(HEAD), using) is not None
        assert rewrite(program, frame[:-1] + b"\x01\x63\x01!", len(HEAD), using) is None

    def test_a_tagged_field_with_a_slot_in_it(self):
        layout = compile_layout("FetchResponse", 16)
        response = FetchResponse()
        plain = encode(layout, response, b"")[4:]
        response.node_endpoints = [FetchResponse.NodeEndpoint(node_id=1, host="h", port=9092)]
        told = encode(layout, response, b"")[4:]
        program = compile_program("FetchResponse", 16, {"NodeEndpoints.Host": SLOT_DECODE})
        neutral = compile_program("FetchResponse", 16, {})

        assert rewrite(program, plain, 0, names()) is not None
        assert rewrite(program, told, 0, names()) is None
        assert b"".join(rewrite(neutral, told, 0, names()))[4:] == told

    @pytest.mark.parametrize(
        ("op", "absent", "present"),
        [
            ((Kind.STRING, Flag.NULLABLE, SLOT_DECODE, 0, 0), [b"\xff\xff", b"\x00\x00"], b"\x00\x01a"),
            ((Kind.BYTES, Flag.NULLABLE, SLOT_DECODE, 0, 0), [b"\xff" * 4, bytes(4)], b"\x00\x00\x00\x01a"),
            ((Kind.UUID, 0, SLOT_DECODE, 0, 0), [bytes(16)], b"\x01" * 16),
            (
                (Kind.ARRAY, Flag.NULLABLE | Flag.FIXED, SLOT_DECODE, 1, 1),
                [b"\xff" * 4, bytes(4)],
                b"\0\0\0\1a",
            ),
            ((Kind.STRUCT, 0, SLOT_DECODE, 1, 0), [b"\xff"], b"\x01"),
        ],
    )
    def test_a_field_that_has_to_be_decoded(self, op, absent, present):
        program = Program([op, END])

        for body in absent:
            assert rewritten(program, body, names()) == body
        assert rewrite(program, present, 0, names()) is None

    def test_null_means_all_can_be_told_from_some(self):
        program = compile_program("MetadataRequest", 1, {"Topics": SLOT_DECODE})
        layout = compile_layout("MetadataRequest", 1)

        everything = encode(layout, MetadataRequest(topics=None), b"")
        assert b"".join(rewrite(program, everything[4:], 0, names())) == everything
        some = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="a")])
        assert rewrite(program, encode(layout, some, b"")[4:], 0, names()) is None
