from collections import Counter

import pytest

from bifrost.tenancy.topic_bounds import (
    BY_DEFAULT,
    COUNTED_FOR_MS,
    MAX_RECENT,
    PARTITIONS_LIMIT,
    RECENT_MS,
    TOPICS_LIMIT,
    TopicBounds,
)
from bifrost.wire.error_codes import ErrorCode


class Scene:
    def __init__(self, max_topics: int = 3, max_partitions: int = 10) -> None:
        self.now_ms = 1_000
        self.hits: Counter[tuple[str, str]] = Counter()
        self.bounds = TopicBounds(lambda: self.now_ms, self.hits, "acme")
        self.bounds.limit(max_topics, max_partitions)

    def count(self, default_partitions: int = 1, **topics: int) -> None:
        self.bounds.count({name.encode(): count for name, count in topics.items()}, default_partitions)

    def asks(self, *wanted: tuple[str, int]) -> list[bool]:
        """Ask for all these in one request; return which are let through."""
        growth = self.bounds.grow()
        found = [growth.add(name.encode(), count) is None for name, count in wanted]
        growth.commit()
        return found


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_topics_are_bounded_to_the_last_one(scene: Scene) -> None:
    scene.count(a=1)

    assert scene.asks(("b", 1), ("c", 1), ("d", 1)) == [True, True, False]
    assert scene.hits == {(TOPICS_LIMIT, "acme"): 1}


def test_partitions_are_bounded_to_the_last_one(scene: Scene) -> None:
    scene.count(a=7)

    assert scene.asks(("b", 4), ("b", 3), ("a", 8)) == [False, True, False]
    assert scene.hits == {(PARTITIONS_LIMIT, "acme"): 2}


def test_what_is_refused_says_how_many_there_are_and_may_be(scene: Scene) -> None:
    scene.count(a=1, b=1, c=7)
    growth = scene.bounds.grow()

    topic, partitions = growth.add(b"d", 1), growth.add(b"c", 9)

    assert topic is not None
    assert partitions is not None
    assert topic.error_code == partitions.error_code == ErrorCode.POLICY_VIOLATION
    assert topic.message == (
        "Another topic is not allowed: there are 3, and this cluster allows 3 (max_topics)"
    )
    assert partitions.message == (
        "2 more partitions are not allowed: there are 9 over all topics, "
        "and this cluster allows 10 (max_partitions)"
    )


def test_what_is_there_may_be_named_again_and_is_the_brokers_to_refuse() -> None:
    scene = Scene(max_topics=1, max_partitions=1)
    scene.count(a=1)

    assert scene.asks(("a", 1), ("a", BY_DEFAULT), ("a", 0)) == [True, True, True]
    assert scene.asks(("b", 1)) == [False]


def test_a_name_that_stands_twice_in_a_request_counts_once(scene: Scene) -> None:
    assert scene.asks(("a", 5), ("a", 5), ("b", 5)) == [True, True, True]


def test_a_topic_without_a_number_has_the_brokers_default(scene: Scene) -> None:
    scene.count(default_partitions=4)

    assert scene.asks(("a", BY_DEFAULT), ("b", BY_DEFAULT), ("c", BY_DEFAULT)) == [True, True, False]


@pytest.mark.parametrize("partitions", [0, -2])
def test_a_number_that_no_broker_takes_makes_no_room(scene: Scene, partitions: int) -> None:
    scene.count(a=9)

    assert scene.asks(("b", partitions), ("c", 1), ("d", 1)) == [True, True, False]


def test_what_was_let_through_counts_although_an_older_list_lacks_it(scene: Scene) -> None:
    scene.count()
    scene.asks(("a", 2), ("b", 2))
    scene.now_ms += RECENT_MS - 1
    scene.count(a=2)

    assert scene.asks(("c", 2), ("d", 2)) == [True, False]


def test_what_was_let_through_and_never_came_to_be_counts_for_a_while_only(scene: Scene) -> None:
    scene.asks(("a", 2), ("b", 2), ("c", 2))
    scene.now_ms += RECENT_MS
    scene.count()

    assert scene.asks(("d", 2)) == [True]


def test_a_request_that_is_not_carried_out_leaves_no_trace(scene: Scene) -> None:
    scene.bounds.grow().add(b"a", 10)

    assert scene.asks(("b", 10)) == [True]


def test_what_was_deleted_makes_room_at_once(scene: Scene) -> None:
    scene.count(a=4, b=4, c=2)
    assert scene.asks(("d", 1)) == [False]

    scene.bounds.note_deleted(b"a")

    assert scene.asks(("d", 4), ("e", 1)) == [True, False]


def test_a_deletion_lets_every_namespace_forget_the_topic(scene: Scene) -> None:
    class Namespace:
        is_told = False

        def topic_was_deleted(self, topic: bytes) -> None:
            self.is_told = True

    own, below = Namespace(), Namespace()
    scene.bounds.namespaces.update((own, below))

    scene.bounds.note_deleted(b"a")

    assert own.is_told
    assert below.is_told


def test_a_count_is_believed_for_a_moment(scene: Scene) -> None:
    assert not scene.bounds.is_counted

    scene.count()
    assert scene.bounds.is_counted
    scene.now_ms += COUNTED_FOR_MS
    assert not scene.bounds.is_counted


def test_counting_may_end_where_there_is_no_room(scene: Scene) -> None:
    reached = scene.bounds.is_reached_by

    assert (reached(3, 10), reached(4, 4), reached(1, 11)) == (False, True, True)


def test_bounds_may_change_and_what_is_there_stays(scene: Scene) -> None:
    scene.count(a=4, b=4, c=2)
    scene.bounds.limit(1, 1)
    assert scene.asks(("a", 4), ("d", 1)) == [True, False]

    scene.bounds.limit(4, 11)

    assert scene.asks(("d", 1)) == [True]


def test_what_is_remembered_is_bounded() -> None:
    scene = Scene(max_topics=10 * MAX_RECENT, max_partitions=10 * MAX_RECENT)
    scene.asks(*((f"t{number}", 1) for number in range(MAX_RECENT + 100)))

    growth = scene.bounds.grow()

    assert sum(growth.has(f"t{number}".encode()) for number in range(MAX_RECENT + 100)) == MAX_RECENT
