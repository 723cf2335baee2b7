import random

import pytest

from bifrost.tenancy.recent_records import recent_records
from bifrost.tenancy.recent_records.recent_limits import FRESH_NS, KEPT_NS, MAX_ANSWERS, MAX_READERS
from bifrost.tenancy.recent_records.recent_partition import (
    Bounds,
    RecentAnswer,
    RecentPartition,
)
from bifrost.tenancy.recent_records.recent_records import (
    MAX_BEGUN,
    OVERHEAD_BYTES,
    RecentRecords,
    RecentView,
)
from bifrost.tenancy.recent_records.shared_poll import PollEnd

NOW = [0]
SIZE = 1000
EACH = SIZE + OVERHEAD_BYTES


@pytest.fixture
def store() -> RecentRecords:
    NOW[0] = 1
    made = RecentRecords(lambda: NOW[0])
    made.limit(10 * EACH, 4 * EACH)
    return made


def keep(
    view: RecentView, begin: int, partition: int = 0, size: int = SIZE, topic: str = "orders"
) -> RecentPartition:
    """Keep an answer of ten offsets, if there is room."""
    known = view.topic(topic)[partition]
    bounds = Bounds(3, begin + 10, begin + 10, 0, NOW[0])
    if view.tenant.has_room(size):
        view.tenant.keep(known, RecentAnswer(begin, begin + 10, 100, bounds, None, bytes(size)))
    return known


def begins(known: RecentPartition) -> list[int]:
    return [one.begin for one in known.answers]


def test_connections_of_one_account_at_one_broker_share(store: RecentRecords) -> None:
    first, second = (store.view("acme", "kafka", ("acme",), "app", 1) for _ in range(2))
    keep(first, 0)

    assert second.topic("orders")[0].find(0, 3, 100, NOW[0]) is not None
    assert second.topic("orders")[1].find(0, 3, 100, NOW[0]) is None


@pytest.mark.parametrize(
    ("tenant", "key"),
    [
        ("globex", ("kafka", ("acme",), "app", 1)),
        ("acme", ("other", ("acme",), "app", 1)),
        ("acme", ("kafka", ("acme", "eu"), "app", 1)),
        ("acme", ("kafka", ("acme",), "report", 1)),
        ("acme", ("kafka", ("acme",), "app", 2)),
        ("acme", ("kafka", ("acme",), "app", None)),
    ],
    ids=["tenant", "cluster", "namespace", "user", "broker", "single address"],
)
def test_nothing_is_given_to_others(store: RecentRecords, tenant: str, key: tuple[object, ...]) -> None:
    keep(store.view("acme", "kafka", ("acme",), "app", 1), 0)

    assert not store.view(tenant, *key).topic("orders")[0].answers


def test_the_oldest_go_first_at_the_bound_of_a_tenant(store: RecentRecords) -> None:
    view = store.view("acme")
    for number in range(6):
        known = keep(view, number)

    assert begins(known) == [2, 3, 4, 5]
    assert (store.bytes, dict(store.held)) == (4 * EACH, {"acme": 4 * EACH})


def test_what_a_connection_behind_needs_stays(store: RecentRecords) -> None:
    view = store.view("acme")
    behind = view.topic("orders")[0]
    behind.note_reader(view.number, 1, NOW[0], is_part=True)
    for number in (0, 10, 20, 30, 40):
        known = keep(view, number)
    assert (begins(known), store.bytes) == ([0, 10, 20, 30], 4 * EACH)
    assert view.tenant.is_full
    behind.note_reader(view.number, 25, NOW[0], is_part=True)
    keep(view, 50)
    keep(view, 60)

    assert (begins(known), store.bytes) == ([20, 30, 50, 60], 4 * EACH)
    # Nobody comes to what is behind a gap without the broker.
    assert begins(keep(view, 70)) == [20, 30, 60, 70]
    assert not view.tenant.is_full


def test_what_is_needed_makes_room_for_another_tenant(store: RecentRecords) -> None:
    views = [store.view(name) for name in ("acme", "globex", "initech")]
    for view in views[:2]:
        view.topic("orders")[0].note_reader(view.number, 0, NOW[0], is_part=True)
        for number in range(4):
            keep(view, number)
    for number in range(3):
        keep(views[2], number)

    assert store.held == {"acme": 3 * EACH, "globex": 4 * EACH, "initech": 3 * EACH}


def test_at_the_bound_of_all_the_tenant_with_most_gives_way(store: RecentRecords) -> None:
    views = {name: store.view(name) for name in ("acme", "globex", "initech")}
    for number in range(4):
        for name in ("acme", "globex"):
            keep(views[name], number)
    for number in range(3):
        keep(views["initech"], number)

    assert store.bytes == 10 * EACH
    assert store.held == {"acme": 3 * EACH, "globex": 4 * EACH, "initech": 3 * EACH}


def test_what_is_larger_than_the_bound_is_not_kept(store: RecentRecords) -> None:
    known = keep(store.view("acme"), 0, size=4 * EACH)

    assert (begins(known), store.bytes) == ([], 0)


def test_what_is_old_makes_room(store: RecentRecords) -> None:
    view, other = store.view("acme"), store.view("globex")
    keep(view, 0)
    keep(other, 0)
    NOW[0] += KEPT_NS
    known = keep(view, 1)
    assert begins(known) == [1]
    assert store.held == {"acme": EACH, "globex": EACH}
    store.drop_stale()

    assert store.held == {"acme": EACH, "globex": 0}


def test_a_lower_bound_is_kept_at_once(store: RecentRecords) -> None:
    view, other = store.view("acme"), store.view("globex")
    for number in range(4):
        known, least = keep(view, number), keep(other, number)
    store.limit(3 * EACH, 2 * EACH)
    assert (begins(known), begins(least)) == ([3], [2, 3])
    store.limit(0, 0)

    assert (store.bytes, store.is_on) == (0, False)
    assert begins(keep(view, 9)) == []


def test_a_partition_keeps_some_answers(store: RecentRecords) -> None:
    store.limit(2**30, 2**30)
    view = store.view("acme")
    for number in range(MAX_ANSWERS + 3):
        known = keep(view, number)

    assert begins(known) == [*range(3, MAX_ANSWERS + 3)]
    assert store.bytes == MAX_ANSWERS * EACH
    assert sum(len(answer.records) for _, answer in view.tenant.queue) == MAX_ANSWERS * SIZE
    NOW[0] += KEPT_NS
    store.drop_stale()
    assert (begins(known), store.bytes) == ([], 0)


def test_topics_that_are_not_used_are_forgotten(
    store: RecentRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_records, "MAX_PARTITIONS", 4)
    view = store.view("acme")
    for topic, partition in (("orders", 0), ("payments", 0), ("payments", 1), ("refunds", 0)):
        keep(view, 5, partition, topic=topic)
    unused = view.topic("payments")
    for topic in ("orders", "refunds"):
        view.topic(topic)
    keep(view, 5, 1)

    assert (store.bytes, view.topic("orders").keys()) == (3 * EACH, {0, 1})
    assert sum(len(answer.records) for _, answer in view.tenant.queue) == 3 * SIZE
    assert unused.is_forgotten
    assert begins(unused[0]) == []
    assert unused[2].find(5, 3, 100, NOW[0]) is None, "a request may still be looking at it"
    keep(view, 5, 0, topic="payments")
    assert [name for _, name in view.tenant.topics] == ["refunds", "orders", "payments"]
    NOW[0] += KEPT_NS
    store.drop_stale()
    assert store.bytes == 0


def test_what_came_for_a_topic_that_was_forgotten_is_counted_and_goes_with_the_rest(
    store: RecentRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_records, "MAX_PARTITIONS", 1)
    view = store.view("acme")
    asked = view.topic("orders")[0]
    keep(view, 5, topic="payments")
    assert asked not in [one for topic in view.tenant.topics.values() for one in topic.values()]
    view.tenant.keep(asked, RecentAnswer(5, 15, 100, Bounds(3, 15, 15, 0, NOW[0]), None, bytes(SIZE)))
    assert store.bytes == 2 * EACH
    store.forget("acme")

    assert (store.bytes, store.held["acme"], begins(asked)) == (0, 0, [])


def test_a_topic_alone_keeps_all_of_its_partitions(
    store: RecentRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_records, "MAX_PARTITIONS", 2)
    view = store.view("acme")
    for partition in range(3):
        keep(view, 5, partition)

    assert (store.bytes, len(view.topic("orders"))) == (3 * EACH, 3)


def test_topics_without_partitions_have_a_bound(
    store: RecentRecords, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_records, "MAX_PARTITIONS", 2)
    view = store.view("acme")
    for topic in ("orders", "payments", "refunds"):
        view.topic(topic)

    assert [name for _, name in view.tenant.topics] == ["payments", "refunds"]


def test_what_is_forgotten_of_a_tenant_is_not_given(store: RecentRecords) -> None:
    view, other = store.view("acme"), store.view("globex")
    known, kept = keep(view, 0), keep(other, 0)
    known.note_bounds(Bounds(3, 10, 10, 0, NOW[0]))
    store.forget("acme")
    store.forget("nobody")

    assert (begins(known), begins(kept), known.bounds(3, NOW[0])) == ([], [0], None)
    assert (view.tenant.generation, other.tenant.generation) == (1, 0)
    assert store.held == {"acme": 0, "globex": EACH}


def test_the_bytes_are_right_whatever_comes(store: RecentRecords) -> None:
    """Random answers of three tenants: never more than the bounds, and the sum is that of what is there."""
    chance = random.Random(5)
    views = [store.view(name) for name in ("acme", "globex", "initech")]
    for number in range(3000):
        NOW[0] += chance.choice((0, 0, 1, FRESH_NS // 8))
        view = chance.choice(views)
        partition = chance.randrange(5)
        view.topic("orders")[partition].note_reader(
            chance.choice((view.number, 98, 99)), number - 99, NOW[0], is_part=True
        )
        keep(view, number, partition, chance.choice((0, 10, SIZE, 5 * SIZE)))
        if number % 500 == 499:
            store.forget("acme")
        held = {
            one.tenant.tenant: sum(
                len(answer.records) + OVERHEAD_BYTES
                for topic in one.tenant.topics.values()
                for known in topic.values()
                for answer in known.answers
            )
            for one in views
        }
        assert {name: size for name, size in store.held.items() if size} == {
            name: size for name, size in held.items() if size
        }
        in_memory = sum(len(answer.records) for one in views for _, answer in one.tenant.queue)
        assert in_memory <= store.bytes == sum(held.values()) <= 10 * EACH
        assert max(held.values()) <= 4 * EACH


def test_frames_leave_less_room(store: RecentRecords) -> None:
    """What there is no room for any more goes with the next answer, or with the look of each second."""
    left = [10 * EACH]
    store.spare = lambda: left[0]
    view = store.view("acme")
    view.topic("orders")[0].note_reader(view.number, 0, NOW[0], is_part=True)
    for number in (0, 10, 20):
        known = keep(view, number)
    left[0] = 2 * EACH
    assert begins(keep(view, 30)) == [20, 30]
    left[0] = EACH
    store.drop_stale()
    assert begins(known) == [30]
    left[0] = -1
    store.drop_stale()

    assert (begins(known), store.bytes) == ([], 0)


def test_there_is_room_beside_what_is_coming(store: RecentRecords) -> None:
    view = store.view("acme", "kafka")
    known = keep(view, 0)
    known.note_reader(view.number, 5, NOW[0], is_part=True)
    assert not view.tenant.is_full

    end = PollEnd()
    view.tenant.expect(end, 3 * EACH)
    assert view.tenant.is_full
    end.come()
    assert not view.tenant.is_full


def test_a_fetch_of_more_than_the_bound_waits_for_an_empty_store_alone(store: RecentRecords) -> None:
    view = store.view("acme", "kafka")
    view.tenant.expect(PollEnd(), 100 * EACH)
    assert not view.tenant.is_full


def test_what_others_have_read_is_kept_for_connections_that_are_about_to_begin(store: RecentRecords) -> None:
    first, second = store.view("acme", "kafka"), store.view("acme", "kafka")
    second.note_beginner("orders", 0)
    first.topic("orders")[0].place = first.place_of("orders", 0)
    for begin in range(0, 60, 10):
        first.topic("orders")[0].note_reader(first.number, begin, NOW[0], is_part=True)
        known = keep(first, begin)
    assert begins(known) == [0, 10, 20, 30], "later ones are not kept"

    known.note_reader(second.number, 40, NOW[0], is_part=True)
    keep(first, 60)
    assert begins(known) == [10, 20, 30, 60]


def test_nothing_of_another_partition_is_kept_for_them(store: RecentRecords) -> None:
    first, second, other = store.view("acme", "kafka"), store.view("acme", "kafka"), store.view("acme", "x")
    second.note_beginner("orders", 1)
    other.note_beginner("orders", 0)
    known = first.topic("orders")[0]
    known.place = first.place_of("orders", 0)
    known.note_reader(first.number, 50, NOW[0], is_part=True)
    for begin in range(0, 60, 10):
        keep(first, begin)

    assert begins(known) == [20, 30, 40, 50]


def test_they_are_awaited_for_a_moment(store: RecentRecords) -> None:
    first, second = store.view("acme", "kafka"), store.view("acme", "kafka")
    second.note_beginner("orders", 0)
    known = first.topic("orders")[0]
    known.place = first.place_of("orders", 0)
    NOW[0] += FRESH_NS
    known.note_reader(first.number, 50, NOW[0], is_part=True)
    for begin in range(0, 60, 10):
        keep(first, begin)

    assert begins(known) == [20, 30, 40, 50]


def test_a_bounded_number_of_them_is_known(store: RecentRecords) -> None:
    views = [store.view("acme", "kafka") for _ in range(MAX_READERS + 1)]
    for one in views:
        one.note_beginner("orders", 0)
    begun = views[0].tenant._beginners
    assert list(begun[views[0].place_of("orders", 0)]) == [one.number for one in views[:-1]]

    for number in range(1, MAX_BEGUN + 1):
        views[0].note_beginner("orders", number)
    assert len(begun) == MAX_BEGUN
    assert views[0].place_of("orders", 0) not in begun


def test_nothing_is_kept_for_a_connection_that_has_ended(store: RecentRecords) -> None:
    first, second = store.view("acme", "kafka"), store.view("acme", "kafka")
    known = first.topic("orders")[0]
    for view in (second, first):
        known.note_reader(view.number, 0, NOW[0], is_part=False)
    for begin in range(0, 60, 10):
        keep(first, begin)
    assert known.is_wanted
    assert known.has_company(first.number, 0, NOW[0])
    assert begins(known) == [0, 10, 20, 30], "later ones are not kept"
    second.end()
    known.note_reader(first.number, 60, NOW[0], is_part=False)

    assert not known.is_wanted
    assert not known.has_company(first.number, 60, NOW[0])
    assert begins(keep(first, 60)) == [10, 20, 30, 60]


def test_a_beginner_that_has_ended_is_not_awaited(store: RecentRecords) -> None:
    first, second = store.view("acme", "kafka"), store.view("acme", "kafka")
    second.note_beginner("orders", 0)
    second.end()
    known = first.topic("orders")[0]
    known.place = first.place_of("orders", 0)
    known.note_reader(first.number, 50, NOW[0], is_part=True)
    for begin in range(0, 60, 10):
        keep(first, begin)

    assert begins(known) == [20, 30, 40, 50]
    assert first.tenant.open_connections == {first.number}
