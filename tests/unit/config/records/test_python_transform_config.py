from typing import Any

import pytest
from pydantic import ValidationError

from bifrost.config.records.fail_mode import FailMode
from bifrost.config.records.python_transform_config import PythonTransformConfig
from bifrost.config.records.record_filter import RecordFilter

MINE = {"transform_file": "mine.py"}


def read(config: dict[str, Any], **more: Any) -> RecordFilter:
    return RecordFilter.model_validate(
        {"name": "PythonTransform", "config": config, "rules": [{"direction": "fetch"}]} | more
    )


def test_a_transform_fails_closed_and_has_bounds() -> None:
    config = read(MINE).config

    assert (config.fail, config.timeout_ms, config.max_memory_bytes) == (FailMode.CLOSED, 1_000, 256 << 20)
    assert set(PythonTransformConfig.model_fields) <= set(type(config).model_fields)


@pytest.mark.parametrize(
    ("config", "more", "why"),
    [
        ({}, {}, "asks for nothing|either transform_file or entry_point"),
        (MINE | {"entry_point": "x"}, {}, "either transform_file or entry_point"),
        (MINE | {"fail": "quarantine"}, {}, "fail: quarantine needs quarantine_topic"),
        (MINE | {"quarantine_topic": "bad"}, {}, "quarantine_topic is for direction: produce only"),
        (MINE | {"fail": "maybe"}, {}, "closed"),
        (MINE | {"timeout_ms": 1}, {}, "greater than"),
        (MINE | {"max_memory_bytes": 1}, {}, "greater than"),
        (MINE, {"rules": []}, "needs a direction"),
        (MINE, {"rules": [{"topics": ["a"]}]}, "needs a direction"),
    ],
)
def test_a_transform_without_clear_bounds_is_refused(
    config: dict[str, Any], more: dict[str, Any], why: str
) -> None:
    with pytest.raises(ValidationError, match=why):
        read(config, **more)
