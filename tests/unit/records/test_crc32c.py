import random

import pytest

from bifrost.records.crc32c import HAS_INSTRUCTION, crc32c, crc32c_changed


@pytest.mark.parametrize("by_table", [False, True])
def test_crc32c_is_castagnoli_s(by_table: bool) -> None:
    # RFC 3720, appendix B.4, and every catalogue of CRCs.
    assert crc32c(b"123456789", by_table=by_table) == 0xE3069283
    assert crc32c(b"", by_table=by_table) == 0
    assert crc32c(bytes(32), by_table=by_table) == 0x8A9136AA
    assert crc32c(bytes([0xFF]) * 32, by_table=by_table) == 0x62A8AB43
    assert crc32c(bytes(range(32)), by_table=by_table) == 0x46DD794E


@pytest.mark.skipif(not HAS_INSTRUCTION, reason="the processor has no instruction for CRC-32C")
def test_instruction_and_tables_agree_on_every_length_and_alignment() -> None:
    data = memoryview(random.Random(1).randbytes(20_000))

    for start in range(9):
        for size in (*range(70), 1023, 1024, 3071, 3072, 3073, 6144, 9999, 19_000):
            piece = data[start : start + size]
            assert crc32c(piece) == crc32c(piece, by_table=True)


def test_memory_of_any_kind_is_summed_without_a_copy() -> None:
    assert crc32c(bytearray(b"123456789")) == crc32c(memoryview(b"x123456789")[1:]) == 0xE3069283


def test_changed_bytes_change_the_sum_without_the_others() -> None:
    chance = random.Random(2)
    for behind in (*range(20), 255, 256, 4_096, 65_479, 1_000_003):
        data = bytearray(chance.randbytes(40 + behind))
        before, old = crc32c(data), data[20:34]
        data[20:34] = chance.randbytes(14)
        change = bytes(one ^ other for one, other in zip(old, data[20:34], strict=True))

        assert crc32c_changed(before, change, 6 + behind) == crc32c(data)
        assert crc32c_changed(before ^ 1, change, 6 + behind) == crc32c(data) ^ 1
