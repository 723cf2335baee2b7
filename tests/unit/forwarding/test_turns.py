"""Tenants have turns, one slice each; a tenant's large requests are done one after the other."""

import contextlib
from collections.abc import Callable

from bifrost.forwarding.load import Load
from bifrost.forwarding.turns import LEAST_NS, PAUSE_S, SLICE_NS, Turns


class Stopwatch:
    def __init__(self, loads: dict[str, Load] | None = None) -> None:
        self.now_ns = 1
        self.rounds: list[Callable[[], None]] = []
        self.pauses: list[tuple[float, Callable[[], None]]] = []
        self.turns = Turns(
            self.rounds.append,
            lambda: self.now_ns,
            None if loads is None else loads.__getitem__,
            lambda delay_s, call: self.pauses.append((delay_s, call)),
        )

    def end_pauses(self) -> list[float]:
        """End all that were begun, and return how long they had to be, in seconds."""
        due, self.pauses[:] = list(self.pauses), []
        for _, call in due:
            call()
        return [delay_s for delay_s, _ in due]

    def round(self) -> None:
        due, self.rounds[:] = list(self.rounds), []
        for call in due:
            call()


class Job:
    def __init__(self, name: str, slices: int, log: list[str]) -> None:
        self.name, self.left, self.log = name, slices, log

    def take_slice(self) -> bool:
        self.log.append(self.name)
        self.left -= 1
        return self.left > 0


def test_work_begins_at_once_when_no_other_waits() -> None:
    watch = Stopwatch()

    assert watch.turns.until_ns() == watch.now_ns + SLICE_NS


def test_all_that_begins_in_one_round_shares_its_slice() -> None:
    watch = Stopwatch()
    until_ns = watch.turns.until_ns()
    watch.now_ns += SLICE_NS // 2

    assert watch.turns.until_ns() == until_ns

    watch.round()
    assert watch.turns.until_ns() == watch.now_ns + SLICE_NS


def test_nothing_begins_before_those_who_wait() -> None:
    watch = Stopwatch()
    watch.turns.wait("acme", Job("large", 3, []))

    assert watch.turns.until_ns() == 0

    watch.round()
    assert watch.turns.until_ns() == 0


def test_tenants_have_turns_one_after_the_other() -> None:
    watch, log = Stopwatch(), list[str]()
    watch.turns.wait("acme", Job("acme 1", 3, log))
    watch.turns.wait("acme", Job("acme 2", 1, log))
    watch.turns.wait("globex", Job("globex", 2, log))

    while watch.rounds:
        watch.round()

    assert log == ["acme 1", "globex", "acme 1", "globex", "acme 1", "acme 2"]
    assert watch.turns.waiting == 0


def test_one_round_gives_one_slice() -> None:
    watch, log = Stopwatch(), list[str]()
    watch.turns.wait("acme", Job("acme", 2, log))
    watch.turns.wait("globex", Job("globex", 2, log))

    watch.round()

    assert log == ["acme"]


def test_who_is_done_early_leaves_the_rest_of_the_slice_to_the_next() -> None:
    watch, log = Stopwatch(), list[str]()

    class Short(Job):
        def take_slice(self) -> bool:
            watch.now_ns += SLICE_NS // 2
            return super().take_slice()

    for tenant, name in (("acme", "acme 1"), ("acme", "acme 2"), ("globex", "globex")):
        watch.turns.wait(tenant, Short(name, 1, log))

    watch.round()
    assert log == ["acme 1", "globex"]
    assert watch.turns.until_ns() == 0, "another one waits"
    watch.round()
    assert log == ["acme 1", "globex", "acme 2"]
    assert watch.turns.until_ns() == watch.now_ns + SLICE_NS // 2, "the rest is for what comes now"


def test_who_is_gone_has_no_turn() -> None:
    watch, log = Stopwatch(), list[str]()
    job = Job("acme", 2, log)
    watch.turns.wait("acme", job)
    watch.turns.forget("acme", job)

    watch.round()

    assert not log
    assert watch.turns.until_ns() > 0


def test_a_worker_that_fails_is_forgotten() -> None:
    watch = Stopwatch()

    class Failing:
        def take_slice(self) -> bool:
            raise ValueError

    watch.turns.wait("acme", Failing())
    with contextlib.suppress(ValueError):
        watch.round()

    assert watch.turns.waiting == 0


def _loads(**is_over: bool) -> dict[str, Load]:
    found = {name: Load() for name in is_over}
    for name, one in found.items():
        one.is_over_budget = is_over[name]
    return found


def test_a_pause_follows_each_slice_of_a_tenant_over_its_budget() -> None:
    watch, log = Stopwatch(_loads(acme=True)), list[str]()
    watch.turns.wait("acme", Job("acme", 3, log))

    watch.round()
    for done in (1, 2):
        assert len(log) == done
        assert not watch.rounds
        assert watch.turns.until_ns() == 0, "no other work begins within the pause"
        assert watch.end_pauses() == [PAUSE_S]

    assert log == ["acme"] * 3
    assert not watch.pauses
    watch.round()
    assert watch.turns.until_ns() > 0


def test_a_tenant_within_its_budget_does_not_wait_for_the_end_of_a_pause() -> None:
    watch, log = Stopwatch(_loads(acme=True, globex=False)), list[str]()
    watch.turns.wait("acme", Job("acme", 3, log))
    watch.round()
    watch.turns.wait("globex", Job("globex", 2, log))

    watch.round()
    assert log == ["acme", "globex"]
    assert watch.end_pauses() == [PAUSE_S]
    assert log == ["acme", "globex"], "the pause that was broken off begins nothing"
    watch.round()
    assert log == ["acme", "globex", "globex", "acme"], "the rest of the slice is for the one behind"
    assert not watch.rounds
    assert watch.end_pauses() == [PAUSE_S]
    assert log[4:] == ["acme"]


def test_no_pause_follows_where_a_tenant_within_its_budget_waits_or_none() -> None:
    watch, log = Stopwatch(_loads(acme=True, globex=False)), list[str]()
    watch.turns.wait("acme", Job("acme", 1, log))
    watch.round()
    assert not watch.pauses

    watch.turns.wait("globex", Job("globex", 2, log))
    watch.turns.wait("acme", Job("acme", 1, log))
    while watch.rounds:
        watch.round()

    assert log == ["acme", "globex", "globex", "acme"]
    assert not watch.pauses


def test_a_worker_that_goes_within_a_pause_leaves_nothing_to_do() -> None:
    watch, log = Stopwatch(_loads(acme=True)), list[str]()
    job = Job("acme", 3, log)
    watch.turns.wait("acme", job)
    watch.round()
    watch.turns.forget("acme", job)

    watch.end_pauses()

    assert log == ["acme"]
    assert watch.turns.until_ns() > 0


def test_a_pause_that_was_broken_off_does_not_end_the_next_one() -> None:
    watch, log = Stopwatch(_loads(acme=True, globex=False)), list[str]()
    watch.turns.wait("acme", Job("acme", 9, log))
    watch.round()
    watch.turns.wait("globex", Job("globex", 1, log))
    while watch.rounds:
        watch.round()
    first, second = watch.pauses
    del log[:]

    first[1]()
    assert not log, "its time is over, that of the pause which has begun since is not"
    second[1]()
    assert log == ["acme"]


def test_a_slice_is_what_other_work_has_left_of_the_turn() -> None:
    asked, until_ns = list[tuple[int, int]](), [7]

    def turn_until_ns(most_ns: int, least_ns: int) -> int:
        asked.append((most_ns, least_ns))
        return until_ns[0]

    rounds, log = list[Callable[[], None]](), list[str]()
    turns = Turns(rounds.append, lambda: 5, turn_until_ns=turn_until_ns)

    assert turns.until_ns() == 7
    turns.wait("acme", Job("acme", 1, log))
    until_ns[0] = 9
    rounds.pop()()

    assert log == ["acme"]
    assert turns.until_ns() == 9, "the rest of that slice"
    assert asked == [(SLICE_NS, LEAST_NS)] * 2
