"""A short run of tools/fuzz_fields.py, the same each time; `make fuzz` runs it for longer."""

import pytest

import fuzz_fields


def test_spoilt_values_are_refused_or_come_back_as_they_were() -> None:
    outcomes = fuzz_fields.run(4000, seed=7)

    assert sum(outcomes.values()) == 4000
    for outcome in ("sealed", "not sealed by us", "opened", "not read", "refused", "masked", "not masked"):
        assert outcomes[outcome] > 50, outcome


def test_a_value_that_comes_back_as_something_else_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = fuzz_fields.Fuzzer.opened
    monkeypatch.setattr(
        fuzz_fields.Fuzzer, "opened", lambda *given: (real(*given) or b"").replace(b"B", b"A") or None
    )

    with pytest.raises(fuzz_fields.Failure, match="comes back as something else") as caught:
        fuzz_fields.run(3000, seed=1)

    assert "repeat with --seed 1" in caught.value.__notes__[-1]


def test_a_seed_repeats_a_run() -> None:
    assert fuzz_fields.run(300, seed=5) == fuzz_fields.run(300, seed=5)
    assert fuzz_fields.run(300, seed=5) != fuzz_fields.run(300, seed=6)
