"""The framer: whole frames out of any pieces, large ones without copying, and bad lengths."""

import gc
import random
import resource
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil
import pytest

from bifrost.wire.errors import FrameTooLarge
from bifrost.wire.framer import Framer, call_when_leaving, release_spares, spare_bytes, unmap_part

MIB = 1 << 20
CHUNK, DIRECT, OWN, SPARE_BLOCK_BYTES = 65536, 32768, 8192, 9 * MIB


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def body(size: int, seed: int = 0) -> bytes:
    return random.Random(size * 31 + seed).randbytes(size)


def feed(framer: Framer, data: bytes, pieces: list[int] | None = None) -> list[bytes]:
    """Give `data` to the framer, at most `pieces` bytes at a time in turn; copy the frames."""
    frames, position, turn = [], 0, 0
    while position < len(data):
        buffer = framer.get_buffer(-1)
        assert len(buffer) > 0
        assert not buffer.readonly
        size = min(len(buffer), len(data) - position)
        if pieces:
            size = min(size, pieces[turn % len(pieces)])
            turn += 1
        buffer[:size] = data[position : position + size]
        position += size
        frames += [bytes(frame) for frame in framer.buffer_updated(size)]
    return frames


def receive(framer: Framer, stream: bytes) -> list[memoryview]:
    """Give all of `stream` to the framer, and take the frames as they are."""
    frames, position, given = [], 0, memoryview(stream)
    while position < len(stream):
        buffer = framer.get_buffer(-1)
        size = min(len(buffer), len(stream) - position)
        buffer[:size] = given[position : position + size]
        position += size
        frames += framer.buffer_updated(size)
    return frames


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Give a function that tells by how many bytes Python's memory has grown."""
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    try:
        yield lambda: tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


class TestWholeFrames:
    def test_a_frame_leaves_without_its_length(self):
        framer = Framer(MIB)

        assert feed(framer, framed(b"hello")) == [b"hello"]
        assert framer.buffered == 0

    def test_pipelined_frames_leave_together(self):
        framer = Framer(MIB)
        data = framed(b"one", b"two", b"three")
        framer.get_buffer(-1)[: len(data)] = data

        assert framer.buffer_updated(len(data)) == [b"one", b"two", b"three"]

    def test_split_at_every_position(self):
        frames = [b"a", body(9), body(300), b"bb"]
        data = framed(*frames)

        for cut in range(1, len(data)):
            framer = Framer(MIB)
            assert feed(framer, data[:cut]) + feed(framer, data[cut:]) == frames
            assert framer.buffered == 0

    def test_byte_by_byte(self):
        framer = Framer(MIB)
        frames = [b"a", body(9), body(40)]

        assert feed(framer, framed(*frames), [1]) == frames

    @pytest.mark.parametrize("pieces", [[1, 65536], [3, 70_000], [65_535], [16_000, 7], [40_000, 1, 1, 1]])
    def test_frames_of_every_size_in_pieces_of_every_size(self, pieces):
        sizes = [
            1,
            4,
            OWN - 1,
            OWN,
            OWN + 1,
            20_000,
            DIRECT - 1,
            DIRECT,
            DIRECT + 1,
            CHUNK - 5,
            CHUNK - 4,
            CHUNK,
            1,
        ]
        frames = [body(size) for size in sizes * 2]
        framer = Framer(MIB)

        assert feed(framer, framed(*frames), pieces) == frames
        assert framer.buffered == 0

    def test_small_frames_are_read_only_views_and_larger_ones_their_own_bytes(self):
        framer = Framer(MIB)
        data = framed(body(OWN - 1), body(OWN))
        framer.get_buffer(-1)[: len(data)] = data
        small, large = framer.buffer_updated(len(data))

        assert isinstance(small, memoryview)
        assert small.readonly
        assert type(large) is bytes

    def test_views_outlive_everything(self):
        framer = Framer(MIB)
        kept = []
        for turn in range(200):
            data = framed(body(1000, turn), body(30, turn)) + framed(body(2000, turn))[: turn * 10]
            data += framed(body(2000, turn))[turn * 10 :]
            position = 0
            while position < len(data):
                buffer = framer.get_buffer(-1)
                size = min(len(buffer), len(data) - position, 1500)
                buffer[:size] = data[position : position + size]
                position += size
                kept += framer.buffer_updated(size)
        del framer
        gc.collect()

        expected = [
            frame for turn in range(200) for frame in (body(1000, turn), body(30, turn), body(2000, turn))
        ]
        assert [bytes(frame) for frame in kept] == expected

    def test_nothing_received_is_nothing_found(self):
        framer = Framer(MIB)

        assert framer.buffer_updated(0) == []
        framer.get_buffer(-1)
        assert framer.buffer_updated(0) == []
        assert framer.buffered == 0


class TestLargeFrames:
    def test_a_large_frame_is_received_into_its_own_memory(self):
        framer = Framer(MIB)
        frame = body(MIB)
        assert feed(framer, framed(frame)[:100]) == []
        assert framer.buffered == 100

        rest = framer.get_buffer(-1)
        assert len(rest) == MIB - 96
        rest[:] = frame[96:]
        [whole] = framer.buffer_updated(MIB - 96)
        assert whole == frame
        assert whole.readonly
        assert framer.buffered == 0

    def test_a_frame_behind_small_ones_moves_into_its_own_memory(self):
        framer = Framer(MIB)
        frames = [b"small", body(100_000), b"next"]

        assert feed(framer, framed(*frames), [50_000]) == frames

    def test_its_announced_length_costs_no_memory(self):
        before = psutil.Process().memory_info().rss
        framers = [Framer(100 * MIB) for _ in range(20)]
        for framer in framers:
            feed(framer, (100 * MIB).to_bytes(4, "big") + b"x" * 1000)

        assert all(framer.buffered == 1004 for framer in framers)
        assert psutil.Process().memory_info().rss - before < 20 * MIB


class TestSpareMemory:
    """Memory that the kernel has to clear costs as much as all else that is done for a large frame."""

    def test_a_large_frame_takes_the_memory_of_an_earlier_one(self):
        framer, stream = Framer(2 * MIB), framed(body(MIB))
        feed(framer, stream)

        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for _ in range(50):
            receive(framer, stream)
        assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - faults < MIB // resource.getpagesize()

    @pytest.mark.parametrize("size", [40_000, 100_000, MIB])
    def test_memory_is_not_taken_while_a_frame_or_a_slice_of_it_is_looked_at(self, size):
        framer, kept, expected = Framer(2 * MIB), [], []
        for number in range(30):
            frame = body(size, number)
            [whole] = receive(framer, framed(frame))
            kept.append(whole if number % 2 else whole[1000:20_000])
            expected.append(frame if number % 2 else frame[1000:20_000])
            del whole

        assert kept == expected

    def test_nothing_of_an_earlier_frame_is_in_a_shorter_one(self):
        framer = Framer(2 * MIB)
        feed(framer, framed(b"\xee" * MIB))

        assert feed(framer, framed(bytes(MIB - 100_000))) == [bytes(MIB - 100_000)]

    @pytest.mark.parametrize(("count", "size"), [(64, MIB), (2, 32 * MIB), (200, 100_000)])
    def test_what_is_kept_is_bounded(self, count, size):
        process = psutil.Process()
        framer, stream = Framer(64 * MIB), framed(body(size))
        gc.collect()
        before = process.memory_info().rss
        frames = [receive(framer, stream) for _ in range(count)]
        assert process.memory_info().rss - before > (count * size - SPARE_BLOCK_BYTES) * 0.9
        frames.clear()

        assert process.memory_info().rss - before < SPARE_BLOCK_BYTES + 2 * MIB


class TestIdleFramers:
    """Ten thousand connections may be open, most of them silent."""

    def test_they_hold_no_buffer(self):
        with traced() as grown:
            framers = [Framer(MIB) for _ in range(1000)]
            for framer in framers:
                assert feed(framer, framed(b"hello")) == [b"hello"]
            assert grown() < MIB

    def test_not_even_after_a_read_that_found_nothing(self):
        """Having filled a buffer to its end, a transport tries once more, and does not say that it got nothing."""
        with traced() as grown:
            framers = [Framer(MIB) for _ in range(1000)]
            for framer in framers:
                assert len(feed(framer, framed(body(40_000)))) == 1
                framer.get_buffer(-1)
            assert grown() < MIB
        for number, framer in enumerate(framers):
            assert feed(framer, framed(body(50, number))) == [body(50, number)]

    def test_a_buffer_that_is_held_belongs_to_its_framer(self):
        first, second = Framer(MIB), Framer(MIB)
        one, two = framed(b"one"), framed(b"two")
        of_first = first.get_buffer(-1)
        of_second = second.get_buffer(-1)
        of_first[: len(one)] = one
        of_second[: len(two)] = two

        assert second.buffer_updated(len(two)) == [b"two"]
        assert first.buffer_updated(len(one)) == [b"one"]

    def test_a_buffer_that_went_to_another_framer_takes_no_more_bytes(self):
        first, second = Framer(MIB), Framer(MIB)
        first.get_buffer(-1)
        assert feed(second, framed(b"two")) == [b"two"]

        with pytest.raises(ValueError, match="more bytes than there was room for"):
            first.buffer_updated(1)
        assert feed(first, framed(b"one")) == [b"one"]

    def test_an_unfinished_frame_is_never_given_away(self):
        first, second = Framer(MIB), Framer(MIB)
        frame = framed(body(500))
        for cut in range(1, len(frame)):
            assert feed(first, frame[:cut]) == []
            first.get_buffer(-1)
            assert feed(second, framed(bytes(2000))) == [bytes(2000)]
            assert feed(first, frame[cut:]) == [body(500)]

    def test_a_framer_that_is_gone_is_forgotten(self):
        for _ in range(100):
            Framer(MIB).get_buffer(-1)
            gc.collect(0)
            assert feed(Framer(MIB), framed(b"x")) == [b"x"]


class TestBadLengths:
    @pytest.mark.parametrize("length", [0, -1, -(2**31), MIB + 1, 2**31 - 1])
    def test_a_bad_length_is_told(self, length):
        framer = Framer(MIB)

        with pytest.raises(FrameTooLarge) as caught:
            feed(framer, length.to_bytes(4, "big", signed=True))
        assert (caught.value.size, caught.value.limit, caught.value.offset) == (length, MIB, 0)
        assert framer.failed is caught.value
        with pytest.raises(FrameTooLarge):
            framer.buffer_updated(0)

    def test_frames_before_it_are_not_lost(self):
        framer = Framer(MIB)
        data = framed(b"one", body(10_000)) + bytes(4) + b"rest"

        assert feed(framer, data) == [b"one", body(10_000)]
        assert isinstance(framer.failed, FrameTooLarge)
        assert framer.failed.offset == 7 + 10_004
        with pytest.raises(FrameTooLarge):
            framer.buffer_updated(0)
        assert len(framer.get_buffer(-1)) > 0
        with pytest.raises(FrameTooLarge):
            framer.buffer_updated(10)

    def test_after_a_large_frame_as_well(self):
        framer = Framer(MIB)

        assert feed(framer, framed(body(100_000))) == [body(100_000)]
        with pytest.raises(FrameTooLarge) as caught:
            feed(framer, b"\xff\xff\xff\xff")
        assert caught.value.offset == 100_004

    def test_the_limit_may_be_raised(self):
        framer = Framer(10)
        assert feed(framer, framed(body(10))) == [body(10)]

        framer.max_frame_bytes = 20
        assert feed(framer, framed(body(20))) == [body(20)]
        with pytest.raises(FrameTooLarge):
            feed(framer, framed(body(21)))

    def test_more_bytes_than_there_was_room_for_are_our_bug(self):
        framer = Framer(MIB)
        with pytest.raises(ValueError, match="more bytes than there was room for"):
            framer.buffer_updated(1)
        room = len(framer.get_buffer(-1))
        for size in (room + 1, -1, 2**62):
            with pytest.raises(ValueError, match="more bytes than there was room for"):
                framer.buffer_updated(size)

        feed(framer, (50_000).to_bytes(4, "big"))
        with pytest.raises(ValueError, match="more bytes than there was room for"):
            framer.buffer_updated(len(framer.get_buffer(-1)) + 1)


class TestSpares:
    @pytest.fixture(autouse=True)
    def _none(self) -> None:
        release_spares()
        release_spares()
        assert spare_bytes() == 0

    def test_what_was_not_needed_between_two_calls_goes(self) -> None:
        feed(Framer(2 * MIB), framed(body(MIB)))
        kept = spare_bytes()
        assert kept > MIB

        assert release_spares() == 0  # It was used since the call before.
        assert spare_bytes() == kept
        assert release_spares() == kept
        assert spare_bytes() == 0

    def test_what_frames_go_on_needing_stays(self) -> None:
        for _ in range(4):
            feed(Framer(2 * MIB), framed(body(MIB)))
            assert release_spares() == 0
        assert spare_bytes() > MIB

    def test_only_the_rest_of_them_goes(self) -> None:
        streams = [framed(body(MIB)) for _ in range(4)]
        frames = [receive(Framer(2 * MIB), one) for one in streams]
        del frames
        release_spares()
        kept = spare_bytes()

        feed(Framer(2 * MIB), streams[0])

        assert 3 * MIB <= release_spares() <= kept - MIB
        assert spare_bytes() >= MIB

    def test_the_system_has_it_then(self) -> None:
        process = psutil.Process()
        feed(Framer(8 * MIB), framed(body(7 * MIB)))
        gc.collect()
        release_spares()
        before = process.memory_info().rss

        release_spares()

        assert before - process.memory_info().rss > 6 * MIB

    def test_a_large_block_goes_in_parts(self) -> None:
        process, called = psutil.Process(), list[bool]()
        call_when_leaving(lambda: called.append(True))
        try:
            frames = receive(Framer(40 * MIB), framed(body(30 * MIB)))
            gc.collect()
            before = process.memory_info().rss
            del frames
            assert before - process.memory_info().rss < MIB
            parts = [unmap_part() for _ in range(8)]
        finally:
            call_when_leaving(None)

        assert (called, parts) == ([True], [True] * 7 + [False])
        assert before - process.memory_info().rss > 29 * MIB


class TestFirstBytes:
    def test_they_are_the_first_16(self):
        framer = Framer(MIB)
        assert framer.first_bytes == b""

        data = framed(b"0123456789", b"abc")
        feed(framer, data, [1, 2, 3])
        assert framer.first_bytes == data[:16]

    def test_they_tell_http_and_tls(self):
        framer = Framer(MIB)
        with pytest.raises(FrameTooLarge):
            feed(framer, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert framer.first_bytes == b"GET / HTTP/1.1\r\n"

        framer = Framer(MIB)
        with pytest.raises(FrameTooLarge):
            feed(framer, b"\x16\x03\x01\x02")
        assert framer.first_bytes == b"\x16\x03\x01\x02"

    def test_a_large_first_frame_does_not_hide_them(self):
        framer = Framer(MIB)
        data = framed(body(50_000))
        feed(framer, data, [7])
        assert framer.first_bytes[:7] == data[:7]


@pytest.mark.parametrize("size", [1, 5, 1000, 70_000, 300_000])
def test_all_that_was_received_is_counted(size: int) -> None:
    framer = Framer(1_000_000)
    stream = framed(bytes(size)) * 3
    fed = 0

    while fed < len(stream):
        window = framer.get_buffer()
        here = min(len(window), len(stream) - fed, 40_000)
        window[:here] = stream[fed : fed + here]
        framer.buffer_updated(here)
        fed += here
        assert framer.received == fed
