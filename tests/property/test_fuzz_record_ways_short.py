from typing import Any

import pytest

import fuzz_record_ways
from bifrost.encryption.errors import BrokenSeal
from bifrost.schemas.schema_key import SchemaAnswer, SchemaKey
from fuzz_record_ways import Failure, Ways, run


def test_a_short_fuzz_of_the_ways_of_records_finds_nothing() -> None:
    outcomes = run(4000, seed=7)

    assert set(outcomes) == {
        "produce, passed",
        "produce, did not pass",
        "fetch, passed",
        "fetch, did not pass",
    }
    assert min(outcomes.values()) > 300


def test_a_schema_that_must_not_pass_is_seen() -> None:
    with pytest.raises(Failure, match="a value names schema") as caught:
        run(3000, seed=1, make=Lenient)
    assert "repeat with --seed 1" in caught.value.__notes__[1]


class Lenient(Ways):
    """Ways to which every schema is known."""

    def __init__(self, prefix: bytes) -> None:
        super().__init__(prefix)
        strict = self.known.cached
        self.process.sources.cached = lambda key: (  # type: ignore[method-assign]
            SchemaAnswer() if isinstance(key, SchemaKey) else strict(key)
        )


def test_records_that_are_not_what_was_sealed_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def swapped(*arguments: Any) -> list[tuple[str, int, bytes]]:
        return [(topic, number + 1, data) for topic, number, data in parts_of(*arguments)]

    parts_of = fuzz_record_ways.parts_of
    monkeypatch.setattr(fuzz_record_ways, "parts_of", swapped)

    with pytest.raises(BrokenSeal):
        run(500, seed=1)
