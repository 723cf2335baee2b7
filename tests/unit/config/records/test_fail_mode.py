import pytest
from pydantic import ValidationError

from bifrost.config.records.fail_mode import FailMode, FailureConfig, check_failure


@pytest.mark.parametrize("mode", list(FailMode))
def test_each_mode_may_be_chosen(mode: FailMode) -> None:
    check_failure(FailureConfig(fail=mode, quarantine_topic="bad"))


def test_a_quarantine_needs_its_topic() -> None:
    with pytest.raises(ValueError, match="fail: quarantine needs quarantine_topic"):
        check_failure(FailureConfig(fail=FailMode.QUARANTINE))


@pytest.mark.parametrize("name", ["", ".", "..", "a b", "eu:bad", "a/b"])
def test_a_name_that_no_topic_has_is_refused(name: str) -> None:
    with pytest.raises(ValidationError, match="quarantine_topic"):
        FailureConfig(quarantine_topic=name)
