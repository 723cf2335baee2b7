"""Who has room, and in which order those have turns who had none."""

from collections.abc import Callable

from bifrost.forwarding.in_flight_limits import TENANT_LIMIT, TOTAL_LIMIT, UNLIMITED, InFlightLimits
from bifrost.forwarding.lane import Awaited
from bifrost.wire.api_keys import ApiKey
from support.stage.lanes import new_lane


class Room:
    """Limits whose turns are given when a test says so."""

    def __init__(self, of_all: int = UNLIMITED, **most: int) -> None:
        self.soon: list[Callable[[], None]] = []
        self.limits = InFlightLimits(self.soon.append)
        self.limits.limit(of_all, most)
        self.sent: list[str] = []
        self.awaited: dict[str, list[Awaited]] = {}

    def send(self, tenant: str) -> None:
        """Let a request await its answer."""
        lane = new_lane(ApiKey.HEARTBEAT, 4, load=self.limits.load(tenant))
        self.awaited.setdefault(tenant, []).append(Awaited(1, lane, None))

    def answer(self, tenant: str) -> None:
        """Answer the oldest one, and give turns."""
        self.awaited[tenant].pop(0).finish(10)
        self.turn()

    def turn(self) -> None:
        while self.soon:
            self.soon.pop(0)()


class Client:
    """A connection that has something to send."""

    def __init__(self, room: Room, name: str, tenant: str, requests: int = 1, is_own: bool = False) -> None:
        self.room, self.name, self.tenant, self.requests, self.is_own = room, name, tenant, requests, is_own
        room.limits.wait(tenant, self)

    def take_turn(self) -> None:
        assert self.requests
        self.requests -= 1
        self.room.sent.append(self.name)
        if not self.is_own:
            self.room.send(self.tenant)
        if self.requests:
            self.room.limits.wait(self.tenant, self)


def test_a_tenant_without_limits_always_has_room() -> None:
    room = Room()
    for _ in range(1000):
        room.send("acme")

    assert not room.limits.load("acme").is_full
    assert dict(room.limits) == {"acme": 1000}
    assert room.limits.of_all.in_flight == 1000


def test_a_tenant_at_its_limit_is_full_and_another_is_not() -> None:
    room = Room(acme=2)
    room.send("acme")
    assert not room.limits.load("acme").is_full
    room.send("acme")

    assert room.limits.load("acme").is_full
    assert not room.limits.load("globex").is_full
    room.answer("acme")
    assert not room.limits.load("acme").is_full


def test_all_together_have_a_limit_as_well() -> None:
    room = Room(of_all=2, acme=5)
    room.send("acme")
    room.send("globex")

    assert room.limits.load("acme").is_full
    assert room.limits.load("initech").is_full


def test_an_answer_makes_room_for_one_and_who_came_first_is_first() -> None:
    room = Room(acme=2)
    room.send("acme")
    room.send("acme")
    for name in ("first", "second", "third"):
        Client(room, name, "acme")
    room.turn()
    assert room.sent == []

    room.answer("acme")
    assert room.sent == ["first"]
    room.answer("acme")

    assert room.sent == ["first", "second"]
    assert room.limits.load("acme").in_flight == 2


def test_while_some_wait_a_newcomer_finds_no_room_even_if_there_is_some() -> None:
    room = Room(acme=1)
    room.send("acme")
    Client(room, "first", "acme")

    room.awaited["acme"].pop().finish(10)

    assert room.limits.load("acme").in_flight == 0
    assert room.limits.load("acme").is_full
    room.turn()
    assert room.sent == ["first"]


def test_one_that_pipelines_does_not_keep_others_waiting() -> None:
    room = Room(acme=1)
    room.send("acme")
    Client(room, "many", "acme", requests=4)
    Client(room, "few", "acme", requests=2)

    for _ in range(6):
        room.answer("acme")

    assert room.sent == ["many", "few", "many", "few", "many", "many"]
    assert room.limits.load("acme").waiting == 0


def test_tenants_have_turns_whatever_the_number_of_their_connections() -> None:
    room = Room(of_all=1)
    room.send("acme")
    for number in range(3):
        Client(room, f"acme-{number}", "acme")
    Client(room, "globex", "globex")

    room.turn()
    for tenant in ("acme", "acme", "globex", "acme"):
        room.answer(tenant)

    assert room.sent == ["acme-0", "globex", "acme-1", "acme-2"]


def test_a_tenant_at_its_own_limit_delays_no_other() -> None:
    room = Room(of_all=3, acme=1)
    room.send("acme")
    Client(room, "acme", "acme")
    room.turn()

    assert not room.limits.load("globex").is_full
    room.send("globex")
    room.send("globex")
    Client(room, "globex", "globex")
    room.turn()
    assert room.sent == []
    room.answer("globex")

    assert room.sent == ["globex"]
    room.answer("acme")
    assert room.sent == ["globex", "acme"]


def test_a_turn_that_needs_no_answer_leaves_the_room_to_the_next() -> None:
    room = Room(acme=1)
    room.send("acme")
    Client(room, "own", "acme", requests=2, is_own=True)
    Client(room, "next", "acme")

    room.answer("acme")

    assert room.sent == ["own", "next"]
    room.answer("acme")
    assert room.sent == ["own", "next", "own"]


def test_who_goes_waits_no_more() -> None:
    room = Room(acme=1)
    room.send("acme")
    gone, other = Client(room, "gone", "acme"), Client(room, "other", "acme")

    room.limits.forget("acme", gone)
    room.limits.forget("acme", gone)
    room.answer("acme")

    assert room.sent == ["other"]
    assert other.requests == 0
    assert room.limits.load("acme").waiting == 0


def test_who_waits_already_does_not_wait_twice() -> None:
    room = Room(acme=1)
    room.send("acme")
    one = Client(room, "one", "acme")

    room.limits.wait("acme", one)

    assert room.limits.load("acme").waiting == 1
    assert room.limits.hits == {(TENANT_LIMIT, "acme"): 1}


def test_who_waits_when_there_is_room_has_his_turn() -> None:
    room = Room(acme=1)

    Client(room, "one", "acme")
    room.turn()

    assert room.sent == ["one"]


def test_it_is_counted_which_limit_was_hit() -> None:
    room = Room(of_all=1, acme=1)
    room.send("acme")
    Client(room, "one", "acme")
    Client(room, "two", "globex")

    assert room.limits.hits == {(TENANT_LIMIT, "acme"): 1, (TOTAL_LIMIT, "globex"): 1}


def test_a_limit_that_is_raised_makes_room() -> None:
    room = Room(acme=1)
    room.send("acme")
    Client(room, "one", "acme", requests=3)
    room.turn()

    room.limits.limit(UNLIMITED, {"acme": 3})
    room.turn()

    assert room.sent == ["one", "one"]
    room.limits.limit(UNLIMITED, {})
    room.turn()
    assert room.sent == ["one"] * 3


def test_a_limit_that_is_lowered_holds_from_the_next_request_on() -> None:
    room = Room()
    for _ in range(3):
        room.send("acme")

    room.limits.limit(UNLIMITED, {"acme": 2})

    assert room.limits.load("acme").is_full
    room.answer("acme")
    assert room.limits.load("acme").is_full
    room.answer("acme")
    assert not room.limits.load("acme").is_full


def test_what_is_abandoned_is_not_counted_any_more_and_only_once() -> None:
    room = Room(acme=1)
    room.send("acme")
    Client(room, "one", "acme")
    (awaited,) = room.awaited["acme"]

    awaited.abandon()
    awaited.abandon()
    awaited.finish(5)

    assert room.limits.of_all.in_flight == 0
    room.turn()
    assert room.sent == ["one"]
