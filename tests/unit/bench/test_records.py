import pytest
from bench.records import SHAPES, measure, values

from bifrost.records.codec.compression import NAMES


def test_values_have_their_size_and_compress_as_text_does() -> None:
    for count, size in SHAPES:
        assert {len(one) for one in values(count, size)} == {size}


@pytest.mark.parametrize("codec", range(5))
def test_every_codec_has_its_speeds(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.records.ROUND_S", 0.001)

    speeds = measure(codec, values(3, 500))

    assert list(speeds) == (
        ["read", "library unpacks", "write", "library packs"] if codec else ["read", "write"]
    ), NAMES[codec]
    assert min(speeds.values()) > 0
