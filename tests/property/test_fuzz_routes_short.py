from collections import Counter
from typing import Any

import pytest

import fuzz_routes
from bifrost.routes.route_kinds import ROUTE_KINDS, RouteKind
from bifrost.wire.schema import request_schema


def test_a_short_fuzz_of_routes_finds_nothing() -> None:
    outcomes = fuzz_routes.run(15_000, seed=9)

    assert set(outcomes) == {"malformed", "malformed answer", "spoilt answer", "merged", "not UTF-8"}
    assert min(outcomes.values()) > 50


def test_requests_and_answers_go_straight_in_the_fuzz() -> None:
    rng = fuzz_routes.random.Random(3)
    targets, outcomes = fuzz_routes.build_targets(rng), Counter[str]()
    for _ in range(20):
        for target in targets:
            target.renew(rng)
            outcomes[fuzz_routes.check_straight(rng, target, target.frames[0])] += 1

    assert set(outcomes) == {"no straight one", "split at once", "straight request", "straight answer"}
    assert min(outcomes.values()) > 20


def test_every_version_that_is_divided_is_fuzzed() -> None:
    targets = fuzz_routes.build_targets(fuzz_routes.random.Random(1))

    kinds = (RouteKind.LEADERS, RouteKind.FETCH)
    divided = [key for key, kind in ROUTE_KINDS.items() if kind in kinds]
    assert {(one.schemas[0].api_key, one.version) for one in targets} == {
        (key, version) for key in divided for version in request_schema(key).versions
    }


@pytest.mark.parametrize(
    ("method", "fault", "message"),
    [
        ("nodes", lambda nodes: nodes[:1], "other partitions than the request"),
        ("part", lambda part: [b"".join(part) + b"x"], "another length"),
        ("merged", lambda merged: b"answer" + bytes(len(merged) - 6), "cannot be decoded"),
    ],
)
def test_what_must_not_be_taken_apart_so_is_seen(
    method: str, fault: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = fuzz_routes.Split

    class Spoilt:
        """A split, one of whose methods returns something else."""

        def __init__(self, *arguments: Any) -> None:
            self._split = make(*arguments)

        def __getattr__(self, name: str) -> Any:
            found = getattr(self._split, name)

            def call(*arguments: Any, **options: Any) -> Any:
                return found(*(getattr(one, "_split", one) for one in arguments), **options)

            if name != method:
                return call if callable(found) else found
            return lambda *arguments, **options: fault(call(*arguments, **options))

    monkeypatch.setattr(fuzz_routes, "Split", Spoilt)

    with pytest.raises(fuzz_routes.Failure, match=message) as caught:
        fuzz_routes.run(3000, seed=1)
    assert "repeat with --seed 1 --first-batch 0" in caught.value.__notes__[1]


def test_a_fuzz_of_routes_is_repeated_by_its_seed() -> None:
    assert fuzz_routes.run(500, seed=5) == fuzz_routes.run(500, seed=5)
    assert fuzz_routes.run(500, seed=5) != fuzz_routes.run(500, seed=6)
