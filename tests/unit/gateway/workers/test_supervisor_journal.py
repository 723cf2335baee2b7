"""What the supervisor has to say in the journal."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from bifrost.config.fields.journal import Journal
from bifrost.gateway.workers import supervisor_journal
from bifrost.gateway.workers.channel import ChannelClosed
from bifrost.gateway.workers.supervisor_journal import MAX_WAITING, SupervisorJournal
from bifrost.session.close_reason import CloseReason


class Worker:
    """One that writes."""

    def __init__(self, number: int) -> None:
        self.number, self.is_ready = number, True
        self.written: list[dict[str, Any]] = []
        self.fails: type[Exception] | None = None

    @property
    def channel(self) -> "Worker":
        return self

    def tell(self, message: Any, content: bytes = b"") -> None:
        assert message["do"] == "write"
        self.written += message["events"]

    async def ask(self, message: Any, content: bytes = b"") -> Any:
        if self.fails is TimeoutError:
            await asyncio.sleep(60)
        if self.fails is not None:
            raise self.fails
        self.tell(message)
        return {}


class Scene:
    def __init__(self, *, has_journal: bool = True) -> None:
        self.workers, self.refused = {1: Worker(1), 0: Worker(0)}, Counter[CloseReason]()
        settings = Journal(gateway_id="gw") if has_journal else None
        self.journal = SupervisorJournal(settings, lambda: self.workers, self.refused)

    def run(self) -> list[list[str]]:
        """Let it tell for a moment; return the types of events that each worker was given."""

        async def moment() -> None:
            telling = asyncio.create_task(self.journal.run())
            await asyncio.sleep(0.05)
            telling.cancel()

        asyncio.run(moment())
        return [[one["type"] for one in self.workers[number].written] for number in sorted(self.workers)]


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    monkeypatch.setattr(supervisor_journal, "TELL_S", 0.001)
    monkeypatch.setattr(supervisor_journal, "ANSWER_S", 0.005)
    return Scene()


def test_an_event_is_written_once_by_the_first_that_serves(scene: Scene) -> None:
    scene.journal.note("reload", "applied", detail="d")

    assert scene.run() == [["reload"], []]
    assert scene.workers[0].written == [{"type": "reload", "outcome": "applied", "detail": "d"}]
    scene.workers[0].is_ready = False
    scene.journal.note("reload", "refused")
    assert scene.run() == [["reload"], ["reload"]]


@pytest.mark.parametrize("failure", [ChannelClosed, TimeoutError])
def test_when_one_does_not_take_it_the_next_does(scene: Scene, failure: type[Exception]) -> None:
    scene.workers[0].fails = failure
    scene.journal.note("reload", "applied")

    assert scene.run() == [[], ["reload"]]


def test_while_no_worker_serves_events_wait_up_to_a_bound(scene: Scene, logged: list[dict[str, Any]]) -> None:
    for worker in scene.workers.values():
        worker.is_ready = False
    for _ in range(MAX_WAITING + 1):
        scene.journal.note("reload", "refused", detail="why")
    assert scene.run() == [[], []]
    assert [(one["event"], one["detail"]) for one in logged] == [("journal_event_lost", "why")]

    scene.workers[1].is_ready = True

    assert len(scene.run()[1]) == MAX_WAITING


def test_a_death_tells_which_records_may_be_missing(scene: Scene) -> None:
    epochs = [scene.journal.begin_epoch(number) for number in (0, 1, 0)]
    scene.journal.note_death(0, "signal SIGKILL", 3)
    scene.run()

    assert epochs == sorted(set(epochs)), "each larger than the one before, in the same millisecond too"
    (event,) = scene.workers[0].written
    assert event["before"] == {"gateway_id": "gw/0", "epoch": str(epochs[2]), "connections": "3"}
    assert (event["type"], event["outcome"], event["detail"]) == ("worker", "died", "by signal SIGKILL")


def test_refused_connections_are_told_together(scene: Scene) -> None:
    scene.refused[CloseReason.NO_WORKER] = 1
    scene.refused[CloseReason.TOO_MANY_CONNECTIONS] = 5
    scene.run()
    scene.refused[CloseReason.TOO_MANY_CONNECTIONS] = 7
    scene.run()

    assert [(one["rule"], one["count"]) for one in scene.workers[0].written] == [
        ("max_connections", 5),
        ("max_connections", 2),
    ]


def test_what_waits_at_the_end_is_given_away_without_an_answer(scene: Scene) -> None:
    scene.journal.note("reload", "applied")

    scene.journal.tell_last()

    assert [len(scene.workers[number].written) for number in range(2)] == [1, 0]
    scene.journal.tell_last()
    assert len(scene.workers[0].written) == 1


def test_without_a_journal_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor_journal, "TELL_S", 0.001)
    scene = Scene(has_journal=False)
    scene.refused[CloseReason.TOO_MANY_CONNECTIONS] = 3
    scene.journal.note("reload", "applied")
    scene.journal.begin_epoch(0)
    scene.journal.note_death(0, "status 1", 0)

    assert scene.run() == [[], []]
