"""The part of the fuzzer that gives streams to relays: it finds nothing, and would find a fault."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

import fuzz_engine
import fuzz_relay
import relay_model

FRAMES = 3000


def test_frames_of_every_kind_are_relayed(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: Counter[str] = Counter()
    run, treat = fuzz_relay._Play.run, relay_model.Session._request

    def counting_run(play: Any) -> None:
        run(play)
        counted["taken"] += sum(play.model.taken)
        counted["ended"] += play.model.error
        counted["went on before it was whole"] += play.is_within

    def counting_treat(session: Any, frame: bytes | memoryview) -> None:
        counted["treated"] += 1
        treat(session, frame)

    monkeypatch.setattr(fuzz_relay._Play, "run", counting_run)
    monkeypatch.setattr(relay_model.Session, "_request", counting_treat)
    fuzz_engine.run(3 * FRAMES, seed=3)

    assert counted["taken"] > 3 * FRAMES
    assert counted["ended"] > 100
    assert counted["went on before it was whole"] > 0
    assert counted["treated"] < 1.8 * counted["taken"], "the relay sends many on without the session"


def lose_a_segment(writelines: Callable[..., None]) -> Callable[..., None]:
    return lambda transport, segments: writelines(transport, list(segments)[:-1])


def count_too_much(client_frames: Callable[..., None]) -> Callable[..., None]:
    def client_frames_too_many(relayed: Any, frames: Iterable[bytes]) -> None:
        client_frames(relayed, frames)
        next(iter(relayed.session._lanes.values())).traffic.receive(1)

    return client_frames_too_many


def forget_the_end(treat: Callable[..., None]) -> Callable[..., None]:
    def treat_without_end(relayed: Any, *arguments: Any) -> None:
        treat(relayed, *arguments)
        relayed.error = None

    return treat_without_end


@pytest.mark.parametrize(
    ("place", "name", "fault", "message"),
    [
        (relay_model.Transport, "writelines", lose_a_segment, "the relay writes"),
        (relay_model.Relayed, "client_frames", count_too_much, "the relay counts"),
        (relay_model.Relayed, "_treat", forget_the_end, "the relay ends with"),
    ],
)
def test_a_fault_is_found(
    place: Any, name: str, fault: Callable[..., Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, name, fault(getattr(place, name)))

    with pytest.raises(fuzz_engine.Failure, match=message) as caught:
        fuzz_engine.run(FRAMES, seed=1)
    assert "repeat with --seed 1 --first-batch 0" in caught.value.__notes__[1]
