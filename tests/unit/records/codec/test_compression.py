"""Packing and unpacking by every codec, in the forms of all clients, and what is refused."""

import gzip
import random
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import cramjam
import pytest

from bifrost.gateway.loop.aside import Aside, CallAside
from bifrost.records.codec.compression import NAMES, compress, compress_pieces, unpack
from bifrost.records.codec.errors import CorruptBatch, NoRoom, TooLarge
from bifrost.records.codec.memory import MemoryBudget
from bifrost.wire.steps import set_aside
from support.stage.counted_pauses import counted_pauses

GZIP, SNAPPY, LZ4, ZSTD = range(1, 5)
ALL = (GZIP, SNAPPY, LZ4, ZSTD)
MIB = 1 << 20


def plenty() -> MemoryBudget:
    return MemoryBudget("batch", 64 * MIB)


def contents() -> list[bytes]:
    chance = random.Random(7)
    text = b"".join(b'{"order": %d, "customer": "c-%d"}' % (i, i % 97) for i in range(9000))
    sizes = (0, 1, 100, 32 * 1024, 64 * 1024 - 1, 64 * 1024, 64 * 1024 + 1, 200_000)
    return [text[:size] for size in sizes] + [chance.randbytes(size) for size in sizes] + [bytes(300_000)]


@pytest.mark.parametrize("codec", ALL)
def test_what_was_packed_is_unpacked_and_costs_its_size(codec: int) -> None:
    for content in contents():
        budget = plenty()
        memory = unpack(codec, compress(codec, content), budget)

        assert bytes(memory) == content
        assert budget.used == len(content)


@pytest.mark.parametrize(("codec", "level"), [(GZIP, 9), (GZIP, 1), (ZSTD, 1), (ZSTD, 19)])
def test_levels_are_those_of_the_codec(codec: int, level: int) -> None:
    content = contents()[7]

    assert bytes(unpack(codec, compress(codec, content, level), plenty())) == content
    assert compress(codec, content, level) != compress(codec, content)


def test_lz4_has_frames_as_kafka_writes_them() -> None:
    packed = compress(LZ4, contents()[7])

    assert packed[:7] == bytes.fromhex("04224d18604082")
    assert packed[-4:] == bytes(4)
    assert bytes(cramjam.lz4.decompress(packed)) == contents()[7]


def test_snappy_has_blocks_as_kafka_writes_them() -> None:
    packed = compress(SNAPPY, contents()[7])

    assert packed[:16] == b"\x82SNAPPY\x00" + bytes.fromhex("0000000100000001")
    size = int.from_bytes(packed[16:20], "big")
    assert bytes(cramjam.snappy.decompress_raw(packed[20 : 20 + size])) == contents()[7][: 32 * 1024]


def test_snappy_without_a_frame_is_read() -> None:
    for content in contents():
        assert bytes(unpack(SNAPPY, bytes(cramjam.snappy.compress_raw(content)), plenty())) == content


def test_gzip_of_several_members_is_read() -> None:
    packed = gzip.compress(b"a" * 100_000) + gzip.compress(b"b")

    assert bytes(unpack(GZIP, packed, plenty())) == b"a" * 100_000 + b"b"


def test_gzip_of_64_members_is_read_and_of_more_is_refused() -> None:
    assert bytes(unpack(GZIP, gzip.compress(b"ab") * 64, plenty())) == b"ab" * 64
    with pytest.raises(CorruptBatch, match="more than 64 members"):
        unpack(GZIP, gzip.compress(b"ab") * 65, plenty())


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, 256 * 1024, 256 * 1024 + 1, 3 * MIB])
def test_gzip_whose_last_member_says_less_than_all_is_read(size: int) -> None:
    content = random.Random(size).randbytes(size)

    assert bytes(unpack(GZIP, gzip.compress(content) + gzip.compress(b"b"), plenty())) == content + b"b"


def test_gzip_that_refers_to_before_its_start_is_refused_as_kafka_refuses_it() -> None:
    # A block of fixed codes: a match of 3 bytes at distance 1 (0000001 00000), then its end (0000000). As zeros it
    # would have the right checksum and size.
    deflated = bytes([0b00000011, 0b00000010, 0b00000000])
    trailer = zlib.crc32(bytes(3)).to_bytes(4, "little") + (3).to_bytes(4, "little")
    with pytest.raises(CorruptBatch, match="malformed"):
        unpack(GZIP, gzip.compress(b"")[:10] + deflated + trailer, plenty())


def test_zstd_of_several_frames_with_skipped_ones_is_read() -> None:
    skipped = bytes.fromhex("502a4d1803000000") + b"abc"
    packed = compress(ZSTD, b"a" * 300_000) + skipped + compress(ZSTD, b"b") + skipped

    assert bytes(unpack(ZSTD, packed, plenty())) == b"a" * 300_000 + b"b"


def test_zstd_without_its_size_and_with_a_checksum_is_read() -> None:
    stream = cramjam.zstd.Compressor(level=3)
    stream.compress(contents()[7])
    packed = bytes(stream.finish())

    assert not packed[4] & 0xE0
    assert bytes(unpack(ZSTD, packed, plenty())) == contents()[7]


def test_lz4_with_sizes_and_checksums_is_read() -> None:
    import lz4.frame

    for size in range(4, 8):
        packed = lz4.frame.compress(
            contents()[7], block_linked=False, block_size=size, block_checksum=True, content_checksum=True
        )
        assert bytes(unpack(LZ4, packed, plenty())) == contents()[7]


def test_lz4_with_linked_blocks_is_refused_as_kafka_refuses_it() -> None:
    import lz4.frame

    with pytest.raises(CorruptBatch, match="depend"):
        unpack(LZ4, lz4.frame.compress(bytes(200_000), block_linked=True), plenty())


@pytest.mark.parametrize("codec", ALL)
def test_what_is_cut_off_is_corrupt(codec: int) -> None:
    packed = compress(codec, contents()[3])

    for size in (*range(0, 40), len(packed) // 2, len(packed) - 5, len(packed) - 1):
        if (codec, size) in ((SNAPPY, 16), (ZSTD, 0)):
            continue  # nothing in a whole frame, or in none: that the batch's count denies
        with pytest.raises(CorruptBatch):
            unpack(codec, packed[:size], plenty())


@pytest.mark.parametrize("codec", ALL)
def test_bytes_behind_the_end_are_corrupt(codec: int) -> None:
    for behind in (b"\x00", b"abcdefgh", bytes(30)):
        with pytest.raises(CorruptBatch):
            unpack(codec, compress(codec, contents()[3]) + behind, plenty())


@pytest.mark.parametrize("codec", [0, 5, 6, 7, -1])
def test_an_unknown_codec_is_corrupt(codec: int) -> None:
    with pytest.raises(CorruptBatch, match="no codec"):
        unpack(codec, b"abc", plenty())
    with pytest.raises(ValueError, match="no codec"):
        compress(codec, b"abc")


@pytest.mark.parametrize("codec", ALL)
def test_one_byte_above_the_budget_is_too_large(codec: int) -> None:
    content = contents()[7]
    packed = compress(codec, content)

    assert bytes(unpack(codec, packed, MemoryBudget("batch", len(content)))) == content
    budget = MemoryBudget("batch", len(content) - 1)
    with pytest.raises(TooLarge):
        unpack(codec, packed, budget)
    assert budget.used == 0


@pytest.mark.parametrize("codec", ALL)
def test_what_others_use_now_is_no_room(codec: int) -> None:
    process = MemoryBudget("process", MIB, is_shared=True)
    process.take(MIB - 1000)

    with pytest.raises(NoRoom):
        unpack(codec, compress(codec, bytes(200_000)), MemoryBudget("request", 4 * MIB, process))


def test_blocks_too_small_to_be_honest_are_refused() -> None:
    block = bytes(cramjam.snappy.compress_raw(b"x"))
    packed = compress(SNAPPY, b"")[:16] + (len(block).to_bytes(4, "big") + block) * 1000

    with pytest.raises(CorruptBatch, match="too small"):
        unpack(SNAPPY, packed, plenty())


def test_a_size_that_lies_is_corrupt() -> None:
    packed = zlib.compress(bytes(5000), wbits=31)
    for size in (0, 4999, 5001, 2**32 - 1):
        with pytest.raises(CorruptBatch):
            unpack(GZIP, packed[:-4] + size.to_bytes(4, "little"), plenty())
    with pytest.raises(CorruptBatch):
        unpack(SNAPPY, b"\xff\xff\x7f" + bytes(cramjam.snappy.compress_raw(b"x" * 50))[1:], plenty())


BOMB = """
import sys, zlib, cramjam
from bifrost.records.codec.compression import compress, unpack
from bifrost.records.codec.errors import TooLarge
from bifrost.records.codec.memory import MemoryBudget

def peak():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) * 1024

MIB = 1 << 20
piece = bytes(8 * MIB)
codec = int(sys.argv[1])
if codec == 1:
    packer = zlib.compressobj(9, wbits=31)
    packed = b"".join(packer.compress(piece) for _ in range(64)) + packer.flush()
elif codec == 3:
    block = bytes(cramjam.lz4.compress_block(piece[: 4 * MIB], store_size=False))
    packed = bytes.fromhex("04224d18607073") + (len(block).to_bytes(4, "little") + block) * 128 + bytes(4)
elif codec == 4:
    # A frame without its size, of blocks that repeat one byte 128 Ki times.
    block = (2 | (128 * 1024) << 3).to_bytes(3, "little") + b"x"
    packed = bytes.fromhex("28b52ffd0058") + block * 4096 + bytes.fromhex("010000")
else:
    block = bytes(cramjam.snappy.compress_raw(piece))
    packed = compress(2, b"") + (len(block).to_bytes(4, "big") + block) * 64
del piece
unpack(codec, compress(codec, b"x" * 1000), MemoryBudget("batch", 4000))
before = peak()
budget = MemoryBudget("batch", 48 * MIB)
try:
    unpack(codec, packed, budget)
except TooLarge as error:
    print(len(packed), peak() - before, budget.used)
"""


@pytest.mark.parametrize("codec", ALL)
def test_a_bomb_has_no_more_memory_than_the_budget(codec: int) -> None:
    command = [sys.executable, "-c", BOMB, str(codec)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=100)

    packed, grown, used = map(int, done.stdout.split())
    assert packed < 40 * MIB  # for 512 MiB
    # The window of zstd and buffers of the libraries are beside the budget.
    assert grown < 48 * MIB + 16 * MIB, NAMES[codec]
    assert used == 0


def test_the_library_is_imported_with_the_first_compressed_batch() -> None:
    script = """
import sys
import bifrost.records.codec.client_batch as codec
print("cramjam" in sys.modules)
from bifrost.records.codec.compression import compress
compress(4, b"")
print("cramjam" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], check=True, stdout=subprocess.PIPE, timeout=100)

    assert done.stdout.split() == [b"False", b"True"]


def test_gzip_and_blocks_pause_between_their_pieces() -> None:
    """A batch of 16 KiB may hold 16 MiB: to unpack them takes 60 ms, and to pack them 150."""
    content = bytes(4 * MIB)

    for codec in ALL:
        with counted_pauses() as pauses:
            packed = compress(codec, content)
        assert pauses.count >= 15, NAMES[codec]
    with counted_pauses() as pauses:
        assert len(unpack(GZIP, compress(GZIP, content), plenty())) == len(content)
    assert pauses.count >= 64 + 16
    with counted_pauses() as pauses:
        unpack(SNAPPY, compress(SNAPPY, content), plenty())
    assert pauses.count >= 2 * 30
    assert packed


@pytest.mark.parametrize("codec", ALL)
def test_records_in_pieces_are_packed_as_in_one(codec: int) -> None:
    chance = random.Random(11)
    for content in contents():
        cuts = sorted(chance.randrange(len(content) + 1) for _ in range(5))
        pieces = tuple(
            memoryview(content)[begin:end]
            for begin, end in zip([0, *cuts], [*cuts, len(content)], strict=True)
        )
        packed = compress_pieces(codec, pieces)

        assert bytes(unpack(codec, packed, plenty())) == content
        assert codec == ZSTD or packed == compress(codec, content)


class Watched:
    """Threads, and what was called in them."""

    def __init__(self) -> None:
        self.threads, self.calls = Aside(), 0

    def begin(self, call: Callable[[], Any]) -> CallAside:
        self.calls += 1
        return self.threads.begin(call)


@pytest.fixture
def watched() -> Iterator[Watched]:
    threads = Watched()
    set_aside(threads.begin)
    yield threads
    set_aside(None)


def in_one_call(codec: int, content: bytes) -> bytes:
    """Return content packed in the form that the library unpacks in one call."""
    return bytes(cramjam.snappy.compress_raw(content)) if codec == SNAPPY else compress(codec, content)


@pytest.mark.parametrize("codec", [SNAPPY, LZ4, ZSTD])
def test_what_is_unpacked_in_one_call_is_unpacked_by_another_thread(codec: int, watched: Watched) -> None:
    content = random.Random(3).randbytes(5) * (3 * MIB)
    packed = in_one_call(codec, content)

    with counted_pauses() as pauses:
        assert bytes(unpack(codec, packed, plenty())) == content

    assert watched.calls == 1
    assert pauses.count


@pytest.mark.parametrize("codec", [SNAPPY, LZ4, ZSTD])
def test_small_batches_and_work_that_may_not_pause_need_no_thread(codec: int, watched: Watched) -> None:
    unpack(codec, in_one_call(codec, bytes(4 * MIB)), plenty())
    with counted_pauses():
        unpack(codec, in_one_call(codec, b"ab" * 100_000), plenty())

    assert not watched.calls


@pytest.mark.parametrize("codec", [SNAPPY, ZSTD])
def test_what_the_other_thread_cannot_unpack_is_corrupt(codec: int, watched: Watched) -> None:
    packed = bytearray(in_one_call(codec, random.Random(3).randbytes(3 * MIB // 2) + bytes(3 * MIB // 2)))
    packed[-40:-20] = b"\xff" * 20

    with counted_pauses(), pytest.raises(CorruptBatch):
        unpack(codec, bytes(packed), plenty())


def test_a_bomb_has_no_more_than_its_budget_in_the_other_thread(watched: Watched) -> None:
    packed = compress(ZSTD, bytes(20 * MIB))

    with counted_pauses(), pytest.raises(TooLarge):
        unpack(ZSTD, packed, MemoryBudget("batch", 2 * MIB))

    assert watched.calls == 1
