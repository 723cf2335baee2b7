import pytest
from bench import sealing
from bench.records import NONE, ZSTD, sizes, values


@pytest.mark.parametrize("codec", [NONE, ZSTD])
def test_what_is_measured_of_batches_works(codec: int) -> None:
    found = values(20, 100)
    ways, size = sealing.ways_of_batches(codec, found)

    assert ways["open"]() == bytes(sealing.batch_of(codec, found).data)
    assert size == len(sealing.batch_of(codec, found).data)
    assert set(ways) == {"seal", "open", "cipher encrypts", "cipher decrypts"}
    for way in ways.values():
        way()


def test_what_is_measured_of_values_works() -> None:
    found = values(20, 100)
    ways, size = sealing.ways_of_values(found)

    assert list(ways["open"]().values) == found  # type: ignore[attr-defined]
    assert size == 2_000
    for way in ways.values():
        way()


def test_sizes_are_told() -> None:
    assert 1 < sealing.size_ratio(ZSTD, values(64, 1024)) < 1.03
    assert "zstd, 64 x 1,024 B" in sizes()
