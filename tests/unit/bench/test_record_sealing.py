import pytest
from bench.records import sealing
from bench.records.batches import NONE, ZSTD, batch_of, json_values


@pytest.mark.parametrize("codec", [NONE, ZSTD])
def test_what_is_measured_of_batches_works(codec: int) -> None:
    found = json_values(20, 100)
    ways, size = sealing.ways_of_batches(codec, found)

    assert ways["open"]() == bytes(batch_of(codec, found).data)
    assert size == len(batch_of(codec, found).data)
    assert set(ways) == {"seal", "open", "cipher encrypts", "cipher decrypts"}
    for way in ways.values():
        way()


def test_what_is_measured_of_values_works() -> None:
    found = json_values(20, 100)
    ways, size = sealing.ways_of_values(found)

    assert list(ways["open"]().values) == found  # type: ignore[attr-defined]
    assert size == 2_000
    for way in ways.values():
        way()


def test_sizes_are_told() -> None:
    assert 1 < sealing.size_ratio(ZSTD, json_values(64, 1024)) < 1.03
    assert "zstd, 64 x 1,024 B" in sealing.sizes()
