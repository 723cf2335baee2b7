"""Changes wait for their turns, and each has an outcome."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import pytest

from bifrost.filters.steps import StateChange
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.state.state_changes import (
    CHANGES_LIMIT,
    DELETED_LIMIT,
    MAX_KEYS,
    SHARE_OF_DELETED,
    StateChanges,
    has_room,
)
from bifrost.state.state_change import Author, Change, StateConflict, Unchanged
from bifrost.state.state_key import StateKey
from bifrost.state.state_outcome import OutcomeKind, StateOutcome
from bifrost.state.state_record import TooLarge, UnreadableState
from bifrost.state.state_table import StateLimits, StateTable
from support.state_log import change, put


def key(name: str) -> StateKey:
    return StateKey("thing", name)


def need(name: str) -> StateChange:
    return StateChange((Change(key(name), 0, {}),), "User:alice", plan=name)


class Hand:
    """Writes what the test lets it write."""

    def __init__(self) -> None:
        self.written: list[str] = []
        self.authors: list[Author] = []
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.fails: Exception | None = None
        self.is_open = False

    async def change(
        self, changes: Sequence[Change], author: Author, unchanged: Sequence[Unchanged] = ()
    ) -> str:
        self.written.append(changes[0].key.name)
        self.authors.append(author)
        await self.may_go_on.wait()
        if self.fails is not None:
            raise self.fails
        return "an-id"


class Scene:
    def __init__(
        self,
        timeout_s: float = 20,
        max_waiting: int = 3,
        may_change: Callable[[str, StateChange], bool] = lambda _tenant, _need: True,
    ) -> None:
        self.hand = Hand()
        self.settled = 0
        self.counts: Counter[tuple[str, str]] = Counter()
        self.times: Counter[str] = Counter()
        self.hits: Counter[tuple[str, str]] = Counter()
        self.changes = StateChanges(
            lambda: self.hand,
            self.settle,
            "gateway/1",
            max_waiting=max_waiting,
            counts=self.counts,
            times_us=self.times,
            hits=self.hits,
            has_room=may_change,
            timeout_s=timeout_s,
        )

    async def settle(self) -> None:
        self.settled += 1

    def begin(self, tenant: str, name: str) -> "asyncio.Task[StateChange]":
        return asyncio.get_running_loop().create_task(self.changes.change(tenant, need(name)))


def play(scene: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(scene())


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def outcome_of(met: StateChange) -> StateOutcome:
    assert met.outcome is not None
    return met.outcome


def test_a_change_is_written_and_its_plan_comes_back_with_the_outcome() -> None:
    async def one() -> None:
        scene = Scene()
        met = await scene.changes.change("acme", need("a"))

        assert (met.plan, outcome_of(met).is_done, scene.settled) == ("a", True, 1)
        assert scene.hand.authors == [Author("gateway/1", "User:alice")]
        assert scene.counts == {("acme", "done"): 1}
        assert scene.changes.waiting.total() == 0

    play(one)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StateConflict(key("a"), 0, None), OutcomeKind.CONFLICT),
        (TooLarge("too large"), OutcomeKind.TOO_LARGE),
        (BrokerError("refused"), OutcomeKind.UNAVAILABLE),
        (UnreadableState("future"), OutcomeKind.UNAVAILABLE),
    ],
)
def test_what_failed_has_its_outcome_and_the_next_change_is_written(
    error: Exception, kind: OutcomeKind
) -> None:
    async def one() -> None:
        scene = Scene()
        scene.hand.fails = error
        met = await scene.changes.change("acme", need("a"))
        scene.hand.fails = None
        other = await scene.changes.change("acme", need("b"))

        assert outcome_of(met) == StateOutcome(kind, str(error))
        assert outcome_of(other).is_done
        assert scene.counts == {("acme", str(kind)): 1, ("acme", "done"): 1}

    play(one)


def test_the_outcome_of_a_change_that_may_be_committed_is_not_known() -> None:
    async def one() -> None:
        scene = Scene()
        scene.hand.fails, scene.hand.is_open = BrokerError("no answer"), True

        assert outcome_of(await scene.changes.change("acme", need("a"))).kind is OutcomeKind.UNKNOWN

    play(one)


def test_tenants_have_turns() -> None:
    async def one() -> None:
        scene = Scene()
        scene.hand.may_go_on.clear()
        tasks = [scene.begin("acme", f"acme-{number}") for number in range(3)]
        await turns()
        tasks += [scene.begin("globex", f"globex-{number}") for number in range(2)]
        await turns()
        scene.hand.may_go_on.set()
        await asyncio.gather(*tasks)

        assert scene.hand.written == ["acme-0", "acme-1", "globex-0", "acme-2", "globex-1"]

    play(one)


def test_a_tenant_has_so_many_changes_waiting_and_no_more() -> None:
    async def one() -> None:
        scene = Scene(max_waiting=2)
        scene.hand.may_go_on.clear()
        tasks = [scene.begin("acme", "a"), scene.begin("acme", "b")]
        await turns()

        refused = await scene.changes.change("acme", need("c"))
        scene.hand.may_go_on.set()
        done = await asyncio.gather(*tasks, scene.changes.change("globex", need("d")))

        assert outcome_of(refused).kind is OutcomeKind.BUSY
        assert scene.hits == {(CHANGES_LIMIT, "acme"): 1}
        assert all(outcome_of(met).is_done for met in done)

    play(one)


def test_a_change_that_waits_too_long_is_not_written() -> None:
    async def one() -> None:
        scene = Scene(timeout_s=0.05)
        scene.hand.may_go_on.clear()
        first, second = scene.begin("acme", "a"), scene.begin("acme", "b")

        met = await asyncio.gather(first, second)

        assert [outcome_of(one).kind for one in met] == [OutcomeKind.UNAVAILABLE] * 2
        assert scene.hand.written[0] == "a"
        assert not scene.changes.waiting

    play(one)


def test_the_change_of_a_client_that_has_gone_leaves_the_queue() -> None:
    async def one() -> None:
        scene = Scene()
        scene.hand.may_go_on.clear()
        first, gone = scene.begin("acme", "a"), scene.begin("acme", "b")
        await turns()
        gone.cancel()
        await turns()
        scene.hand.may_go_on.set()
        await first

        assert scene.hand.written == ["a"]
        assert not scene.changes.waiting

    play(one)


def test_a_change_goes_on_when_its_client_has_gone() -> None:
    async def one() -> None:
        scene = Scene()
        scene.hand.may_go_on.clear()
        gone = scene.begin("acme", "a")
        await turns()
        gone.cancel()
        await turns()
        scene.hand.may_go_on.set()
        await turns()

        assert scene.settled == 1

    play(one)


def test_a_change_with_too_many_keys_is_too_large() -> None:
    async def one() -> None:
        scene = Scene()
        many = StateChange(tuple(Change(key(str(n)), 0, {}) for n in range(MAX_KEYS + 1)), "User:alice")

        assert outcome_of(await scene.changes.change("acme", many)).kind is OutcomeKind.TOO_LARGE
        assert scene.hand.written == []

    play(one)


def test_a_mistake_in_a_change_is_its_own_connections() -> None:
    async def one() -> None:
        scene = Scene()
        scene.hand.fails = ValueError("a key twice")
        with pytest.raises(ValueError, match="a key twice"):
            await scene.changes.change("acme", need("a"))
        scene.hand.fails = None

        assert outcome_of(await scene.changes.change("acme", need("b"))).is_done

    play(one)


def test_the_end_of_the_gateway_leaves_the_outcome_open() -> None:
    async def one() -> None:
        scene = Scene()
        scene.hand.may_go_on.clear()
        first = scene.begin("acme", "a")
        await turns()
        await scene.changes.end()

        assert outcome_of(await first).kind is OutcomeKind.UNKNOWN

    play(one)


def test_a_tenant_that_has_deleted_very_much_leaves_the_room_to_others() -> None:
    """Deleted keys stay for a day: by creating and deleting, one tenant could fill the state of all."""
    most = 5
    table = StateTable(StateLimits(most * SHARE_OF_DELETED, 10_000, 1_000_000))
    change(table, *(put(f"acme:{number}", 0, {}) for number in range(most + 1)))
    for number in range(most):
        assert has_room(table, "acme", creates("acme:new"))
        change(table, put(f"acme:{number}", 1, None))

    assert not has_room(table, "acme", creates("acme:new"))
    assert not has_room(table, "acme", creates("acme:1", "acme:new"))
    assert has_room(table, "acme", creates("acme:1", f"acme:{most}"))
    assert has_room(table, "acme", StateChange((Change(StateKey("alias", f"acme:{most}"), 1, None),), ""))
    assert has_room(table, "acme-too", creates("acme-too:new"))


def creates(*names: str) -> StateChange:
    return StateChange(tuple(Change(StateKey("alias", name), 0, {}) for name in names), "User:alice")


def test_what_has_no_room_is_refused_and_counted() -> None:
    async def one() -> None:
        scene = Scene(may_change=lambda tenant, _need: tenant != "mallory")
        met, other = await asyncio.gather(scene.begin("mallory", "a"), scene.begin("acme", "b"))

        assert outcome_of(met).kind is OutcomeKind.TOO_LARGE
        assert outcome_of(other).is_done
        assert scene.hits == {(DELETED_LIMIT, "mallory"): 1}
        assert scene.hand.written == ["b"]

    play(one)
