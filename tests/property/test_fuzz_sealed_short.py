import pytest

import fuzz_sealed


def test_a_short_fuzz_of_sealed_batches_finds_nothing():
    outcomes = fuzz_sealed.run(6000, seed=7)

    assert set(outcomes) == {
        "opened",
        "refused",
        "not sealed",
        "sealed",
        "not sealed by us",
        "records opened",
        "records refused",
    }
    assert min(outcomes.values()) > 20


def test_what_must_not_be_opened_is_seen(monkeypatch):
    monkeypatch.setattr(fuzz_sealed, "BROKERS_OWN", ())

    with pytest.raises(fuzz_sealed.Failure, match="not what was sealed") as caught:
        fuzz_sealed.run(3000, seed=1)
    assert "repeat with --seed 1" in caught.value.__notes__[1]


def test_a_fuzz_of_sealed_batches_is_repeated_by_its_seed():
    assert fuzz_sealed.run(500, seed=5) == fuzz_sealed.run(500, seed=5)
    assert fuzz_sealed.run(500, seed=5) != fuzz_sealed.run(500, seed=6)
