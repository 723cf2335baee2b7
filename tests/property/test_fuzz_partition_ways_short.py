import pytest

import fuzz_partition_ways
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from fuzz_partition_ways import MAPS, Failure, run


def test_a_short_fuzz_of_the_way_of_virtual_partitions_finds_nothing() -> None:
    outcomes = run(3000, seed=7)

    assert set(outcomes) == {
        "request, passed",
        "request, did not pass",
        "answer, passed",
        "answer, did not pass",
        "divided request, passed",
        "joined answer, passed",
        "joined answer, did not pass",
    }
    assert min(outcomes.values()) > 25


def test_a_wrong_mark_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fuzz_partition_ways.MAPS, b"many", PartitionMap(90, 10))
    assert MAPS[b"many"].physical == 10

    with pytest.raises(Failure) as caught:
        run(500, seed=1)
    assert "repeat with --seed 1" in caught.value.__notes__[1]
