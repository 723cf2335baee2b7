import pytest

from bifrost.journal.partitioner import murmur2, partition_of


@pytest.mark.parametrize(
    ("key", "expected"),
    # Kafka's UtilsTest.testMurmur2.
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hashes_are_kafka_s(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected % 2**32


def test_a_key_goes_to_one_partition() -> None:
    assert partition_of(b"foobar", 12) == (-790332482 & 0x7FFFFFFF) % 12
    assert {partition_of(b"tenant-%d" % number, 12) for number in range(200)} == set(range(12))
