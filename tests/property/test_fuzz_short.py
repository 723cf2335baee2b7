import pytest

import fuzz_engine
from bifrost.wire.rewriting import Names
from bifrost.wire.schema import all_schemas


def test_a_short_fuzz_finds_nothing():
    outcomes = fuzz_engine.run(60_000, seed=20)

    assert outcomes.total() == 60_000
    assert set(outcomes) == {"rewritten", "decoded", "malformed"}
    assert min(outcomes.values()) > 500


def test_every_version_of_every_message_is_fuzzed():
    targets = fuzz_engine.build_targets(fuzz_engine.random.Random(1))

    assert {(t.schema.name, t.version) for t in targets} == {
        (s.name, v) for s in all_schemas() for v in s.versions
    }
    assert all(len(target.frames) == fuzz_engine.FRAMES_PER_VERSION for target in targets)


def test_what_the_engine_must_not_do_is_seen(monkeypatch):
    monkeypatch.setattr(fuzz_engine, "SAME", Names(lambda slot, name: name[:-1] + b"x"))

    with pytest.raises(fuzz_engine.Failure, match="changes the frame") as caught:
        fuzz_engine.run(1000, seed=1)
    assert "repeat with --seed 1 --first-batch 0" in caught.value.__notes__[1]


def test_a_run_is_repeated_by_its_seed():
    assert fuzz_engine.run(3000, seed=5) == fuzz_engine.run(3000, seed=5)
    assert fuzz_engine.run(3000, seed=5) != fuzz_engine.run(3000, seed=6)
