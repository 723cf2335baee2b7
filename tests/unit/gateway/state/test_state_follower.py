"""A model gets what the table has under each changed key, in steps."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from bifrost.gateway.state.state_follower import StateFollower
from bifrost.records.batch_reader import LogRecord
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import Body, StateRecord, encode
from bifrost.state.state_table import StateLimits, StateTable

LIMITS = StateLimits(10_000, 65_536, 2**28)


class Model:
    """Knows what it was given, and understands all but `bad`."""

    def __init__(self) -> None:
        self.known: dict[str, Body] = {}

    def apply(self, key: StateKey, record: StateRecord | None) -> None:
        if record is None or record.body is None:
            self.known.pop(key.name, None)
        elif "bad" in record.body:
            raise ValueError("bad is not a field of a thing")
        else:
            self.known[key.name] = record.body


class Scene:
    def __init__(self) -> None:
        self.table, self.model = StateTable(LIMITS), Model()
        self.follower = StateFollower(self.table, "thing", self.model)
        self.version = 0

    def write(self, *bodies: tuple[str, Body | None], kind: str = "thing") -> None:
        self.version += 1
        records = []
        for name, body in bodies:
            record = StateRecord(StateKey(kind, name), self.version, 0, "c", "w", None, body)
            records.append(LogRecord(self.version, 0, record.key.to_bytes(), encode(record)))
        changed, _ = self.table.apply(records)
        for call in self.table.calls(changed):
            call()


def play(scene: Callable[[Scene], Coroutine[Any, Any, None]]) -> None:
    async def run() -> None:
        await scene(Scene())

    asyncio.run(run())


def test_a_small_change_is_applied_before_the_reader_goes_on() -> None:
    async def one(scene: Scene) -> None:
        scene.write(("a", {"n": 1}), ("b", {"n": 2}))
        assert scene.model.known == {"a": {"n": 1}, "b": {"n": 2}}

        scene.write(("a", None))
        assert scene.model.known == {"b": {"n": 2}}

    play(one)


def test_other_kinds_are_not_the_models() -> None:
    async def one(scene: Scene) -> None:
        scene.write(("a", {"n": 1}), kind="other")
        assert scene.model.known == {}

    play(one)


def test_a_large_change_is_applied_in_steps() -> None:
    async def one(scene: Scene) -> None:
        scene.follower.step_s = 0.0  # one key a step
        scene.write(*((str(number), {"n": number}) for number in range(50)))
        assert len(scene.model.known) == 1
        await asyncio.sleep(0)
        assert len(scene.model.known) == 2

        await scene.follower.settle()

        assert scene.model.known == {str(number): {"n": number} for number in range(50)}

    play(one)


def test_a_step_is_as_long_as_the_process_can_do_without_answers() -> None:
    async def one(scene: Scene) -> None:
        scene.follower.step_s = 60.0
        scene.write(*((str(number), {"n": number}) for number in range(500)))
        assert len(scene.model.known) == 500

    play(one)


def test_a_key_that_changes_while_it_waits_is_applied_as_it_is_then() -> None:
    async def one(scene: Scene) -> None:
        scene.follower.step_s = 0.0
        scene.write(*((str(number), {"n": 1}) for number in range(5)))
        scene.write(*((str(number), {"n": 2}) for number in range(4)), ("4", None))
        await scene.follower.settle()

        assert scene.model.known == {str(number): {"n": 2} for number in range(4)}

    play(one)


def test_what_is_read_anew_is_applied_where_it_differs() -> None:
    async def one(scene: Scene) -> None:
        scene.write(("a", {"n": 1}), ("b", {"n": 2}))
        other = Scene()
        other.write(("a", {"n": 3}))

        for call in scene.table.calls(scene.table.become(other.table)):
            call()
        await scene.follower.settle()

        assert scene.model.known == {"a": {"n": 3}}

    play(one)


def test_a_record_that_is_not_understood_is_told_until_it_is_another_one() -> None:
    async def one(scene: Scene) -> None:
        scene.write(("a", {"n": 1}))
        scene.write(("a", {"bad": 1}), ("b", {"n": 2}))
        await scene.follower.settle()
        assert not scene.follower.is_current
        assert scene.model.known == {"a": {"n": 1}, "b": {"n": 2}}

        scene.write(("a", {"n": 4}))
        assert scene.follower.is_current
        assert scene.model.known["a"] == {"n": 4}

    play(one)


def test_a_bug_in_a_model_keeps_no_other_record_from_it_and_nobody_waiting(
    logged: list[dict[str, Any]],
) -> None:
    """A gateway that starts waits for its models; a change waits for them, too."""

    async def one(scene: Scene) -> None:
        scene.follower.step_s = 0.0  # one key a step: most are applied where the event loop calls
        apply = scene.model.apply
        bodies = [(str(number), {"n": number}) for number in range(5)]

        def broken(key: StateKey, record: StateRecord | None) -> None:
            if key.name in ("1", "4"):
                raise KeyError("a bug")
            apply(key, record)

        scene.model.apply = broken  # type: ignore[method-assign]
        scene.write(*bodies)
        await asyncio.wait_for(scene.follower.settle(), 1)
        assert scene.model.known.keys() == {"0", "2", "3"}
        assert not scene.follower.is_current

        scene.model.apply = apply  # type: ignore[method-assign]
        scene.write(*bodies)
        await scene.follower.settle()
        assert scene.follower.is_current

    play(one)

    reported = [one for one in logged if one["event"] == "internal_error"]
    assert [one["place"] for one in reported] == ["state_follower"] * 2
    assert "thing" in reported[0]["key"]


def test_a_bug_in_what_a_model_tells_keeps_nobody_waiting(logged: list[dict[str, Any]]) -> None:
    class Telling(Model):
        def tell(self) -> None:
            raise KeyError("a bug")

    async def one(scene: Scene) -> None:
        model = Telling()
        follower = StateFollower(scene.table, "told", model)
        scene.write(("a", {"n": 1}), kind="told")
        await asyncio.wait_for(follower.settle(), 1)
        assert model.known == {"a": {"n": 1}}
        assert follower.is_current

    play(one)

    assert [one["place"] for one in logged if one["event"] == "internal_error"] == ["state_follower"]
