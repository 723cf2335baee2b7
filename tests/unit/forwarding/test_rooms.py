"""Rooms and the turns of those who wait for one, with real framers, of which none is read by a socket."""

from collections import Counter
from collections.abc import Callable

import pytest

from bifrost.forwarding.room import Room
from bifrost.forwarding.rooms import Rooms
from bifrost.wire.framer import Framer

KIB, MIB = 1024, 1024 * 1024


class Stream:
    """One connection: its framer, and how often it was told to read again."""

    def __init__(self, world: "World", tenant: str | None, *, is_answer: bool = False) -> None:
        self.world, self.tenant = world, tenant
        self.framer = Framer(1 << 30)
        self.framer.enter(world.rooms.room(tenant), is_answer=is_answer)
        self.told = 0
        self.left = 0

    def begin(self, size: int) -> bool:
        """Receive the beginning of a frame; return whether it has room, else it waits."""
        self.receive(size.to_bytes(4, "big") + bytes(min(size - 1, 5000)))
        self.left = size - min(size - 1, 5000)
        return self.has_room()

    def has_room(self) -> bool:
        if self.framer.is_blocked or not self.framer.see():
            self.world.rooms.wait(self.tenant, self.framer, self)
        return not self.framer.is_blocked

    def receive(self, data: bytes) -> list[bytes | memoryview]:
        frames = []
        while data:
            buffer = self.framer.get_buffer()
            size = min(len(buffer), len(data))
            buffer[:size] = data[:size]
            data = data[size:]
            frames += self.framer.buffer_updated(size)
        return frames

    def finish(self) -> list[bytes | memoryview]:
        """Receive the rest of the frame."""
        left, self.left = self.left, 0
        return self.receive(bytes(left))

    def update_reading(self) -> None:
        self.told += 1


class World:
    def __init__(self, total: int = 64 * MIB, each: int = 32 * MIB, strangers: int = 8 * MIB) -> None:
        self.soon: list[Callable[[], None]] = []
        self.hits: Counter[tuple[str, str]] = Counter()
        self.rooms = Rooms(self.soon.append, self.hits)
        self.rooms.limit(total, each, strangers, {"small": 4 * MIB, "acme": None})

    def stream(self, tenant: str | None = "acme", *, is_answer: bool = False) -> Stream:
        return Stream(self, tenant, is_answer=is_answer)

    def turn(self) -> None:
        soon, self.soon[:] = list(self.soon), []
        for call in soon:
            call()


def test_a_large_frame_is_counted_from_its_beginning_until_it_is_let_go() -> None:
    world = World()
    one = world.stream()

    assert one.begin(3 * MIB)
    assert (world.rooms.room("acme").blocks, world.rooms.of_all.blocks) == (3 * MIB, 3 * MIB)
    frames = one.finish()
    kept = memoryview(frames[0])[:1]
    assert world.rooms.of_all.blocks == 3 * MIB
    del frames
    assert world.rooms.of_all.blocks == 3 * MIB
    del kept

    assert (world.rooms.room("acme").used, world.rooms.of_all.used) == (0, 0)


def test_an_unfinished_small_frame_is_counted_by_its_memory() -> None:
    world = World()
    one = world.stream()

    one.receive((100).to_bytes(4, "big") + b"x")
    assert world.rooms.room("acme").used == 64 * KIB
    one.receive(bytes(99))

    assert world.rooms.of_all.used == 0


def test_those_who_have_not_authenticated_have_a_room_of_their_own_and_little_memory() -> None:
    world = World()
    one = world.stream(None)
    one.framer.enter(world.rooms.room(None), is_frugal=True)

    assert len(one.framer.get_buffer()) == 4096
    one.receive((100).to_bytes(4, "big") + b"x")
    assert world.rooms.room(None).used == 4096
    one.receive(bytes(99) + (16_000).to_bytes(4, "big") + b"x")
    assert one.has_room()
    assert world.rooms.room(None).used == 16_000

    one.framer.enter(world.rooms.room("acme"))
    [frame] = one.receive(bytes(15_999))
    assert len(frame) == 16_000
    del frame
    assert world.rooms.of_all.used == 0


def test_a_frame_without_room_waits_until_there_is_some() -> None:
    world = World()
    one, two = world.stream(), world.stream()
    assert one.begin(20 * MIB)

    assert not two.begin(20 * MIB)
    world.turn()
    assert two.framer.is_blocked
    assert two.told == 0
    assert world.hits == {("max_buffered_bytes", "acme"): 1}
    assert len(one.finish()) == 1
    world.turn()

    assert (two.told, two.framer.is_blocked) == (1, False)
    assert len(two.finish()) == 1
    assert (world.rooms.of_all.used, world.rooms.of_all.waiting) == (0, 0)


@pytest.mark.parametrize(("size", "fits"), [(12 * MIB, True), (12 * MIB + 1, False)])
def test_a_room_is_filled_to_its_end_and_no_further(size: int, fits: bool) -> None:
    room = Room(None, 32 * MIB)
    first, second = Framer(1 << 30), Framer(1 << 30)
    for framer in (first, second):
        framer.enter(room)
    receive(first, (20 * MIB).to_bytes(4, "big") + bytes(5000))
    assert first.see()
    receive(second, size.to_bytes(4, "big") + bytes(5000))
    assert second.see() is fits


def receive(framer: Framer, data: bytes) -> None:
    buffer = framer.get_buffer()
    buffer[: len(data)] = data
    framer.buffer_updated(len(data))


def test_a_tenant_at_its_own_bound_delays_no_other() -> None:
    world = World()
    first, second, other = world.stream("small"), world.stream("small"), world.stream("acme")
    assert first.begin(3 * MIB)
    assert not second.begin(3 * MIB)

    # A connection with a large frame has to wait for a turn while others wait; it comes at once.
    other.begin(20 * MIB)
    world.turn()

    assert not other.framer.is_blocked
    assert second.framer.is_blocked


def test_tenants_have_turns() -> None:
    world = World(total=24 * MIB)
    holder = world.stream("holder")
    assert holder.begin(20 * MIB)
    greedy = [world.stream("greedy") for _ in range(4)]
    for one in greedy:
        assert not one.begin(10 * MIB)
    modest = world.stream("modest")
    assert not modest.begin(10 * MIB)

    holder.finish()
    world.turn()

    # 24 MiB, of which a sixteenth is left to small frames: two have room, one of each tenant.
    assert [one.framer.is_blocked for one in greedy] == [False, True, True, True]
    assert not modest.framer.is_blocked


def test_small_frames_do_not_wait_behind_large_ones() -> None:
    world = World(total=32 * MIB)
    first, second, small = world.stream("one"), world.stream("two"), world.stream("three")
    assert first.begin(29 * MIB)
    assert not second.begin(29 * MIB)

    assert small.begin(1 * MIB)


def test_a_large_frame_is_not_overtaken_for_ever_by_others() -> None:
    world = World(total=32 * MIB)
    first, large, late = world.stream("one"), world.stream("two"), world.stream("three")
    assert first.begin(20 * MIB)
    assert not large.begin(25 * MIB)

    assert not late.begin(5 * MIB)
    world.turn()
    assert late.framer.is_blocked
    first.finish()
    world.turn()

    assert not large.framer.is_blocked
    assert not late.framer.is_blocked or world.rooms.of_all.blocks == 25 * MIB


def test_one_answer_may_always_go_on() -> None:
    world = World()
    requests = [world.stream(f"tenant {number}") for number in range(2)]
    for one in requests:
        assert one.begin(30 * MIB)

    first, second = world.stream(is_answer=True), world.stream(is_answer=True)

    assert first.begin(30 * MIB)
    assert not second.begin(30 * MIB)
    first.finish()
    world.turn()
    assert not second.framer.is_blocked


def test_what_is_larger_than_the_room_has_it_alone() -> None:
    world = World()
    answer = world.stream("small", is_answer=True)

    assert answer.begin(30 * MIB)


def test_a_tenant_may_hold_a_little_whatever_others_hold() -> None:
    world = World(total=8 * MIB, each=8 * MIB)
    attackers = [world.stream("attacker") for _ in range(12)]
    for one in attackers:
        one.begin(MIB - 1)
    assert world.rooms.of_all.used > 7 * MIB

    victim = world.stream("victim")

    assert victim.begin(200 * KIB)
    assert not world.stream("victim").begin(800 * KIB)


def test_who_goes_away_waits_no_more_and_holds_nothing() -> None:
    world = World()
    first, second, third = world.stream(), world.stream(), world.stream()
    assert first.begin(30 * MIB)
    assert not second.begin(30 * MIB)
    assert not third.begin(2 * MIB)

    world.rooms.forget("acme", second.framer)
    second.framer.leave()
    world.turn()

    assert not third.framer.is_blocked
    assert second.told == 0


def test_a_limit_that_is_raised_lets_those_on_who_wait() -> None:
    world = World()
    first, second = world.stream(), world.stream()
    assert first.begin(30 * MIB)
    assert not second.begin(30 * MIB)

    world.rooms.limit(128 * MIB, 64 * MIB, 8 * MIB, {})
    world.turn()

    assert not second.framer.is_blocked


def test_what_can_go_on_before_it_is_whole_is_tried_first() -> None:
    world = World()
    one = world.stream()
    one.receive((20 * MIB).to_bytes(4, "big") + bytes(1000))

    assert one.framer.see()
    assert world.rooms.of_all.blocks == 0
    one.receive(bytes(4000))
    assert one.framer.see()
    assert world.rooms.of_all.blocks == 20 * MIB


def test_a_waiter_that_fails_keeps_no_other_one_waiting() -> None:
    world = World()
    holder = Stream(world, "acme")
    assert holder.begin(30 * MIB)
    waiters = [Stream(world, tenant) for tenant in ("globex", "acme", "initech")]
    world.rooms.limit(31 * MIB, 31 * MIB, 8 * MIB, {})
    assert [one.begin(20 * MIB if one.tenant == "acme" else 2 * MIB) for one in waiters] == [False] * 3

    def fail() -> None:
        raise KeyError("a bug")

    waiters[0].update_reading = fail  # type: ignore[method-assign]
    holder.finish()
    failures = 0
    while world.soon:
        try:
            world.soon.pop(0)()
        except KeyError:
            failures += 1

    assert failures == 1
    assert [one.told for one in waiters] == [0, 1, 1]
