import pytest

import fuzz_records
from bifrost.records.codec.columns import BytesColumn, Columns


def test_a_short_fuzz_of_the_record_codec_finds_nothing():
    outcomes = fuzz_records.run(8000, seed=20)

    assert set(outcomes) == {"read", "refused", "written", "not written"}
    assert min(outcomes.values()) > 100


def test_what_the_codec_must_not_do_is_seen(monkeypatch):
    monkeypatch.setattr(Columns, "headers", lambda columns, row: ((b"", b""),))

    with pytest.raises(fuzz_records.Failure) as caught:
        fuzz_records.run(1000, seed=1)
    assert "repeat with --seed 1" in caught.value.__notes__[1]


def test_memory_that_is_not_given_back_is_seen(monkeypatch):
    kept = []
    monkeypatch.setattr(fuzz_records, "check_columns", lambda batch, columns, budget: kept.append(columns))

    with pytest.raises(fuzz_records.Failure, match="not given back"):
        fuzz_records.run(1000, seed=1)


def test_a_record_fuzz_is_repeated_by_its_seed():
    assert fuzz_records.run(500, seed=5) == fuzz_records.run(500, seed=5)
    assert fuzz_records.run(500, seed=5) != fuzz_records.run(500, seed=6)


def test_other_keys_than_before_are_seen(monkeypatch):
    monkeypatch.setattr(BytesColumn, "__iter__", lambda column: iter([b"another"]))

    with pytest.raises(fuzz_records.Failure, match="others than before"):
        fuzz_records.run(1000, seed=1)
