import pytest
from bench.records.batches import json_values
from bench.records.codec import measure

from bifrost.records.codec.compression import NAMES


@pytest.mark.parametrize("codec", range(5))
def test_every_codec_has_its_speeds(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.records.speed.ROUND_S", 0.001)

    speeds = measure(codec, json_values(3, 500))

    assert list(speeds) == (
        ["read", "library unpacks", "write", "library packs"] if codec else ["read", "write"]
    ), NAMES[codec]
    assert min(speeds.values()) > 0
