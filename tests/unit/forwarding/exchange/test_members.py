"""A member is gone when own records come back and none of its own: not while this gateway is cut off."""

from bifrost.forwarding.exchange.exchange_record import ExchangeRecord
from bifrost.forwarding.exchange.members import FRESH_NS, GONE_NS, MAX_MEMBERS, Members

S = 1_000_000_000
BEGIN = 1000 * S
PERIOD = S // 4
OWN, OTHER = 1, 2


class Scene:
    def __init__(self) -> None:
        self.members, self.now_ns = Members(OWN), BEGIN
        self.members.begin(BEGIN)

    def own(self, sent_ns: int | None = None) -> list[int]:
        sent_ns = self.now_ns if sent_ns is None else sent_ns
        return self.members.hear(ExchangeRecord(OWN, sent_ns), self.now_ns)

    def other(self, member: int = OTHER, *, leaves: bool = False) -> list[int]:
        return self.members.hear(ExchangeRecord(member, 7, {}, leaves), self.now_ns)

    def there(self) -> list[int]:
        return [one.member for one in self.members.records()]

    def play(self, seconds: float, *, own: bool = True, other: bool = True) -> None:
        until = self.now_ns + int(seconds * S)
        while self.now_ns < until:
            self.now_ns += PERIOD
            if own:
                self.own()
            if other:
                self.other()


def test_a_gateway_has_joined_when_every_other_must_have_been_heard() -> None:
    scene = Scene()

    scene.play(1)
    assert not scene.members.has_joined
    scene.play(1)

    assert scene.members.has_joined
    assert scene.members.is_current(scene.now_ns)
    assert scene.there() == [OWN, OTHER]


def test_a_silent_member_is_gone_within_two_seconds() -> None:
    scene = Scene()
    scene.play(3)
    died_ns = scene.now_ns

    while OTHER in scene.there():
        scene.play(0.25, other=False)

    assert GONE_NS <= scene.now_ns - died_ns < 1.8 * S


def test_a_member_that_leaves_is_gone_at_once() -> None:
    scene = Scene()
    scene.play(3)

    assert scene.other(leaves=True) == [OTHER]

    assert scene.there() == [OWN]
    assert scene.other(leaves=True) == [], "it is gone already"


def test_a_gateway_that_is_cut_off_forgets_no_member() -> None:
    scene = Scene()
    scene.play(3)

    scene.now_ns += 60 * S

    assert scene.there() == [OWN, OTHER]
    assert not scene.members.is_current(scene.now_ns)


def test_after_a_pause_of_the_brokers_no_member_is_gone_that_still_writes() -> None:
    scene = Scene()
    scene.play(3)
    scene.own()
    scene.now_ns += 30 * S

    for _ in range(8):  # What waited comes at once.
        assert scene.own(scene.now_ns - 20 * S) == []
    assert not scene.members.is_current(scene.now_ns), "that was sent long ago"
    scene.play(0.5)

    assert scene.there() == [OWN, OTHER]
    assert scene.members.is_current(scene.now_ns)


def test_own_records_that_do_not_come_back_say_that_it_is_cut_off() -> None:
    scene = Scene()
    scene.play(3)

    scene.now_ns += FRESH_NS

    assert not scene.members.is_current(scene.now_ns)


def test_a_gateway_joins_anew_when_it_may_have_missed_records() -> None:
    scene = Scene()
    scene.play(3)

    scene.members.begin(scene.now_ns)
    scene.own(scene.now_ns - PERIOD)
    assert not scene.members.has_joined
    scene.play(2)

    assert scene.members.has_joined


def test_the_lag_is_how_long_an_own_record_took() -> None:
    scene = Scene()
    scene.now_ns += S

    scene.own(scene.now_ns - 30_000_000)

    assert scene.members.lag_ns == 30_000_000


def test_members_have_a_bound() -> None:
    scene = Scene()

    for member in range(10, 20 + MAX_MEMBERS):
        scene.other(member)

    assert len(scene.there()) == 1 + MAX_MEMBERS
