import pytest
from pydantic import ValidationError

from bifrost.config.records.filter_configs import AcksName, CodecName, FilterConfig


def test_numbers_of_acks_are_what_producers_call_them() -> None:
    config = FilterConfig.model_validate({"acks": ["all", 1, "0"], "compression": ["none", "zstd"]})

    assert config.acks == (AcksName.ALL, AcksName.LEADER, AcksName.NONE)
    assert config.compression == (CodecName.NONE, CodecName.ZSTD)


@pytest.mark.parametrize(
    "wrong",
    [
        {"acks": [True]},
        {"acks": [2]},
        {"acks": []},
        {"compression": ["brotli"]},
        {"remove": [""]},
        {"add": [{"key": "a"}]},
        {"max_record_bytes": 0},
        {"remove": ["x"] * 33},
    ],
)
def test_what_no_filter_can_do_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        FilterConfig.model_validate(wrong)


def test_sizes_have_units() -> None:
    assert FilterConfig.model_validate({"max_record_bytes": "1 MiB"}).max_record_bytes == 1 << 20
