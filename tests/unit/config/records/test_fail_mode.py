import pytest

from bifrost.config.records.fail_mode import FailMode, FailureConfig, check_failure


@pytest.mark.parametrize("mode", [FailMode.CLOSED, FailMode.OPEN])
def test_what_is_built_may_be_chosen(mode: FailMode) -> None:
    check_failure(FailureConfig(fail=mode))


def test_a_quarantine_is_refused() -> None:
    with pytest.raises(ValueError, match="quarantine is not built yet"):
        check_failure(FailureConfig(fail=FailMode.QUARANTINE))
