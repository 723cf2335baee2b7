"""Large requests of every API: each run sends all of them, or says how many it left out."""

from collections.abc import Callable, Iterator

import pytest
from bench.hostile.arsenal import ATTACKS
from bench.hostile.arsenal.every_api import TRIES
from bench.hostile.field import Field, Target
from bench.hostile.shapes import Shape, can_have, requests

LABELS = {
    f"{schema.name.removesuffix('Request')} v{version}"
    for schema, version in requests()
    if can_have(schema, version, Shape.LISTS)
}


def attacked(
    monkeypatch: pytest.MonkeyPatch, answered: Callable[[str, int], bool], seconds: float = 60.0
) -> Field:
    """Run the attack at a gateway of which is said what it answers: to a label, and how often that came."""
    field = Field(Target(0, 0, 0, "", "", "", "", "", 0, seconds, scale=0.01))
    times: dict[str, int] = {}

    def flood(frames: Iterator[tuple[str, bytes]], **_: object) -> set[str]:
        found = set()
        for label, _frame in frames:
            times[label] = times.get(label, 0) + 1
            if answered(label, times[label]):
                found.add(label)
        return found

    monkeypatch.setattr(field, "flood", flood)
    work = ATTACKS["every-api-lists"].run(field)
    next(work)
    field.begin()
    assert next(work, None) is None
    assert times.keys() == LABELS
    assert max(times.values()) <= TRIES
    return field


def test_all_that_is_answered_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    field = attacked(monkeypatch, lambda _label, _times: True)

    assert field.sent.left_out == 0
    assert field.sent.notes == [f"{len(LABELS)} of {len(LABELS)} APIs and versions answered"]


def test_a_request_whose_connection_ended_is_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    field = attacked(monkeypatch, lambda _label, times: times == TRIES)

    assert field.sent.left_out == 0
    assert field.sent.notes == [f"{len(LABELS)} of {len(LABELS)} APIs and versions answered"]


def test_what_the_gateway_closes_the_connection_for_was_sent_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    field = attacked(monkeypatch, lambda label, _times: label != "Metadata v9")

    assert field.sent.left_out == 0
    assert field.sent.notes == [f"{len(LABELS) - 1} of {len(LABELS)} APIs and versions answered"]


def test_what_had_no_answer_when_the_time_was_over_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    field = attacked(monkeypatch, lambda label, _times: not label.startswith("Metadata "), seconds=0.0)

    assert field.sent.left_out == sum(label.startswith("Metadata ") for label in LABELS) > 10
