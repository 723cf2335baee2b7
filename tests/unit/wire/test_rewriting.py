"""Rewriting, op by op: every kind, its boundaries, and programs that point outside."""

import pytest

from bifrost.wire.errors import MalformedFrame
from bifrost.wire.program import Peek, Program
from bifrost.wire.reader import Flag, Kind
from bifrost.wire.rewriting import rewrite
from support.stage.rewriting import END, TOPIC, TOPIC_ID, names, rewritten


class TestOps:
    def test_skip_takes_bytes_as_they_are(self):
        assert rewritten(Program([(Kind.SKIP, 0, 0, 6, 0), END]), b"abcdef", names()) == b"abcdef"

    @pytest.mark.parametrize(
        ("flags", "before", "after"),
        [
            (0, b"\x00\x03one", b"\x00\x05uno-1"),
            (Flag.COMPACT, b"\x04one", b"\x06uno-1"),
            (Flag.NULLABLE, b"\x00\x03one", b"\x00\x05uno-1"),
            (Flag.COMPACT | Flag.NULLABLE, b"\x04one", b"\x06uno-1"),
        ],
    )
    def test_string_is_looked_up(self, flags, before, after):
        program = Program([(Kind.STRING, flags, TOPIC, 0, 0), END])

        assert rewritten(program, before, names(table={b"one": b"uno-1"})) == after

    @pytest.mark.parametrize(("flags", "null"), [(0, b"\xff\xff"), (Flag.COMPACT, b"\x00")])
    def test_null_string_is_left_alone(self, flags, null):
        asked = []
        using = names(missing=lambda slot, name: asked.append(name))
        program = Program([(Kind.STRING, flags | Flag.NULLABLE, TOPIC, 0, 0), END])

        assert rewritten(program, null, using) == null
        assert asked == []
        with pytest.raises(MalformedFrame, match="null in a field that is not nullable"):
            rewrite(Program([(Kind.STRING, flags, TOPIC, 0, 0), END]), null, 0, using)

    def test_empty_string_is_looked_up(self):
        program = Program([(Kind.STRING, 0, TOPIC, 0, 0), END])

        assert rewritten(program, b"\x00\x00", names(table={b"": b"all"})) == b"\x00\x03all"

    @pytest.mark.parametrize(
        ("flags", "value", "null"),
        [(0, b"\x00\x00\x00\x02hi", b"\xff\xff\xff\xff"), (Flag.COMPACT, b"\x03hi", b"\x00")],
    )
    def test_bytes_are_skipped(self, flags, value, null):
        program = Program([(Kind.BYTES, flags | Flag.NULLABLE, 0, 0, 0), END])

        assert rewritten(program, value, names()) == value
        assert rewritten(program, null, names()) == null
        with pytest.raises(MalformedFrame, match="null"):
            rewrite(Program([(Kind.BYTES, flags, 0, 0, 0), END]), null, 0, names())

    def test_uuid_is_replaced_but_zero_is_left_alone(self):
        program = Program([(Kind.UUID, 0, TOPIC_ID, 0, 0), (Kind.UUID, 0, TOPIC_ID, 0, 0), END])
        known = names(TOPIC_ID, {b"a" * 16: b"b" * 16})

        assert rewritten(program, b"a" * 16 + bytes(16), known) == b"b" * 16 + bytes(16)
        assert rewritten(program, b"c" * 16 + bytes(16), known) is None

    @pytest.mark.parametrize(("flags", "count"), [(0, b"\x00\x00\x00\x02"), (Flag.COMPACT, b"\x03")])
    def test_array_loops_over_its_elements(self, flags, count):
        ops = [
            (Kind.ARRAY, flags, 0, 4, 3),
            (Kind.STRING, Flag.COMPACT, TOPIC, 0, 0),
            (Kind.SKIP, 0, 0, 2, 0),
            END,
            (Kind.SKIP, 0, 0, 1, 0),
            END,
        ]
        using = names(table={b"a": b"AA", b"b": b"B"})

        assert rewritten(Program(ops), count + b"\x02a..\x02b::!", using) == count + b"\x03AA..\x02B::!"

    @pytest.mark.parametrize(
        ("flags", "empty", "null"),
        [(0, bytes(4), b"\xff\xff\xff\xff"), (Flag.COMPACT, b"\x01", b"\x00")],
    )
    def test_empty_and_null_arrays_are_jumped_over(self, flags, empty, null):
        ops = [(Kind.ARRAY, flags | Flag.NULLABLE, 0, 3, 1), (Kind.SKIP, 0, 0, 1, 0), END, END]

        assert rewritten(Program(ops), empty, names()) == empty
        assert rewritten(Program(ops), null, names()) == null

    def test_array_of_fixed_elements_is_one_step(self):
        ops = [(Kind.ARRAY, Flag.FIXED, 0, 1, 4), (Kind.SKIP, 0, 0, 1, 0), END]
        body = b"\x00\x00\x00\x03" + b"1234" * 3 + b"!"

        assert rewritten(Program(ops), body, names()) == body
        with pytest.raises(MalformedFrame, match="more elements"):
            rewrite(Program(ops), body[:-2], 0, names())

    def test_nullable_struct_has_a_marker(self):
        ops = [(Kind.STRUCT, 0, 0, 2, 0), (Kind.SKIP, 0, 0, 2, 0), END]

        assert rewritten(Program(ops), b"\xff", names()) == b"\xff"
        assert rewritten(Program(ops), b"\x01ab", names()) == b"\x01ab"
        with pytest.raises(MalformedFrame, match="ends within"):
            rewrite(Program(ops), b"\x01a", 0, names())

    def test_nullable_struct_in_a_tagged_field_is_null_at_zero(self):
        ops = [(Kind.STRUCT, Flag.TAGGED, 0, 2, 0), (Kind.SKIP, 0, 0, 2, 0), END]

        assert rewritten(Program(ops), b"\x00", names()) == b"\x00"
        assert rewritten(Program(ops), b"\x01ab", names()) == b"\x01ab"

    def test_known_tagged_fields_are_read_and_kept(self):
        ops = [
            (Kind.TAGS, 0, 0, 0, 2),
            END,
            (Kind.SKIP, 0, 0, 2, 0),
            END,
            (Kind.STRING, Flag.COMPACT, 0, 0, 0),
            END,
        ]
        program = Program(ops, [(0, 2), (5, 4)])

        for body in (b"\x00", b"\x01\x00\x02ab", b"\x02\x00\x02ab\x05\x03\x03hi"):
            assert rewritten(program, body, names()) == body

    @pytest.mark.parametrize("size", [1, 3])
    def test_tagged_field_has_the_size_it_announces(self, size):
        program = Program([(Kind.TAGS, 0, 0, 0, 1), END, (Kind.SKIP, 0, 0, 2, 0), END], [(0, 2)])

        with pytest.raises(MalformedFrame, match="another size"):
            rewrite(program, bytes([1, 0, size]) + b"abc", 0, names())

    def test_trailing_bytes_are_malformed(self):
        with pytest.raises(MalformedFrame, match="goes on behind its body") as caught:
            rewrite(Program([(Kind.SKIP, 0, 0, 2, 0), END]), b"abc", 0, names())
        assert caught.value.offset == 2

    def test_nesting_is_bounded(self):
        ops = [(Kind.ARRAY, Flag.COMPACT, 0, 0, 1)] * 17 + [END] * 18

        with pytest.raises(MalformedFrame, match="nested too deeply"):
            rewrite(Program(ops), b"\x02" * 20, 0, names())


class TestProgramsThatPointOutside:
    @pytest.mark.parametrize(
        "ops",
        [
            [],
            [(Kind.SKIP, 0, 0, 1, 0)],
            [(Kind.ARRAY, 0, 0, 2, 1), END],
            [(Kind.ARRAY, 0, 0, -1, 1), END],
            [(Kind.ARRAY, 0, 0, 1, 0), END],
            [(Kind.STRUCT, 0, 0, 9, 0), END],
            [(Kind.SKIP, 0, 0, -1, 0), END],
            [(Kind.STRING, 0, 12, 0, 0), END],
            [(Kind.TAGS, 0, 0, 0, 1), END],
            [(Kind.INT64, 0, 0, 0, 0), END],
            [(Kind.ADDRESS, 0, 10, 0, 0), END],
            [(Kind.SKIP, 0, 0, 3, 0), (Kind.ADDRESS, 0, 10, 0, 0), END],
            [(Kind.RECORDS, 0, 0, 0, 0), END],
            [(99, 0, 0, 0, 0), END],
        ],
    )
    def test_ops_are_refused(self, ops):
        with pytest.raises(ValueError, match=r"out of range|closes with END"):
            Program(ops)

    @pytest.mark.parametrize(
        "kind", [Kind.ARRAY, Kind.TAGS, Kind.STRUCT, Kind.UUID, Kind.RECORDS, Kind.FLOAT64]
    )
    def test_peeks_are_refused(self, kind):
        with pytest.raises(ValueError, match="out of range"):
            Peek([(kind, 0, 0, 0, 1), END])

    @pytest.mark.parametrize(("kind", "usually"), [(Kind.INT64, 1), (Kind.STRING, 1), (Kind.INT32, 5)])
    def test_what_no_number_usually_is(self, kind, usually):
        with pytest.raises(ValueError, match="out of range"):
            Peek([(kind, 0, usually, 0, 0), END])

    def test_tags_are_refused(self):
        with pytest.raises(ValueError, match="tag 3 has no ops"):
            Program([(Kind.TAGS, 0, 0, 0, 1), END], [(3, 2)])


class TestMalformedBodies:
    @pytest.mark.parametrize(
        ("op", "body", "reason", "offset"),
        [
            ((Kind.SKIP, 0, 0, 4, 0), b"abc", "frame ends within a field", 0),
            ((Kind.STRING, 0, 0, 0, 0), b"\x00", "frame ends within a field", 0),
            ((Kind.STRING, 0, 0, 0, 0), b"\x00\x04abc", "frame ends within a field", 2),
            ((Kind.STRING, 0, 0, 0, 0), b"\xff\xfe", "negative length", 2),
            ((Kind.STRING, Flag.NULLABLE, 0, 0, 0), b"\x80\x00", "negative length", 2),
            ((Kind.STRING, Flag.COMPACT, 0, 0, 0), b"\x81\x80\x02" + bytes(0x8000), "string is too long", 3),
            ((Kind.BYTES, 0, 0, 0, 0), b"\x80\x00\x00\x00", "negative length", 4),
            ((Kind.BYTES, 0, 0, 0, 0), b"\x7f\xff\xff\xff", "frame ends within a field", 4),
            ((Kind.BYTES, Flag.COMPACT, 0, 0, 0), b"\xff\xff\xff\xff\x0f", "frame ends within a field", 5),
            (
                (Kind.BYTES, Flag.COMPACT, 0, 0, 0),
                b"\xff\xff\xff\xff\x10",
                "varint is longer than 32 bits",
                4,
            ),
            ((Kind.BYTES, Flag.COMPACT, 0, 0, 0), b"\x80" * 5 + b"\x00", "varint is longer than 32 bits", 4),
            ((Kind.BYTES, Flag.COMPACT, 0, 0, 0), b"\x80\x80", "frame ends within a field", 2),
            ((Kind.ARRAY, Flag.FIXED, 0, 1, 8), b"\x7f\xff\xff\xff", "array has more elements", 4),
            (
                (Kind.ARRAY, Flag.FIXED | Flag.COMPACT, 0, 1, 65535),
                b"\xff\xff\xff\xff\x0f",
                "array has more",
                5,
            ),
            ((Kind.UUID, 0, 4, 0, 0), bytes(15), "frame ends within a field", 0),
            ((Kind.STRUCT, 0, 0, 1, 0), b"", "frame ends within a field", 0),
            ((Kind.TAGS, 0, 0, 0, 0), b"", "frame ends within a field", 0),
            ((Kind.TAGS, 0, 0, 0, 0), b"\x01\x00\x05abc", "frame ends within a field", 3),
        ],
    )
    def test_reason_and_offset_are_told(self, op, body, reason, offset):
        with pytest.raises(MalformedFrame, match=reason) as caught:
            rewrite(Program([op, END]), body, 0, names())
        assert caught.value.offset == offset

    def test_an_array_of_the_largest_count_costs_nothing(self):
        ops = [(Kind.ARRAY, Flag.COMPACT, 0, 3, 1), (Kind.SKIP, 0, 0, 1, 0), END, END]

        with pytest.raises(MalformedFrame, match="more elements"):
            rewrite(Program(ops), b"\xff\xff\xff\xff\x0f" + bytes(100), 0, names())

    @pytest.mark.parametrize("start", [-1, 4])
    def test_a_body_that_starts_outside_is_refused(self, start):
        with pytest.raises(MalformedFrame, match="ends before its body"):
            rewrite(Program([END]), b"abc", start, names())
        with pytest.raises(MalformedFrame, match="ends before its body"):
            rewrite(Program([END]), memoryview(b"abc"), start, names())


@pytest.mark.parametrize("wrong", [None, "frame", 7, [1]])
def test_what_is_not_a_frame_is_refused(wrong):
    with pytest.raises(TypeError):
        rewrite(Program([END]), wrong, 0, names())


def test_program_and_names_are_needed():
    with pytest.raises(TypeError):
        rewrite(None, b"", 0, names())  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        rewrite(Program([END]), b"", 0, None)  # type: ignore[arg-type]
