from bifrost.routes.leaders import LeaderTable


def test_leaders_are_found_by_topic_and_partition() -> None:
    table = LeaderTable(10)
    table.put(b"orders", [3, -1], 7)

    found = table.find(b"orders")

    assert found is not None
    assert [found[partition] for partition in (-1, 0, 1, 2)] == [-1, 3, -1, -1]
    assert found.known_ms == 7
    assert table.find(b"billing") is None


def test_the_oldest_topics_are_forgotten_beyond_the_limit() -> None:
    table = LeaderTable(10)
    for number in range(5):
        table.put(b"%d" % number, [1, 2], 0)

    assert [table.find(b"%d" % number) is None for number in range(5)] == [True, True, False, False, False]
    assert (len(table), table.partitions) == (3, 9)
    table.put(b"large", [1] * 20, 0)
    assert (len(table), table.partitions) == (1, 21), "the newest stays, however large"


def test_topics_of_a_lost_broker_are_forgotten() -> None:
    table = LeaderTable(100)
    table.put(b"a", [1, 2], 0)
    table.put(b"b", [1], 0)
    table.put(b"c", [], 0)

    table.forget_node(2)
    table.forget([b"c", b"unknown"])

    assert table.find(b"a") is None
    assert table.find(b"b") is not None
    assert (len(table), table.partitions) == (1, 2)


def test_a_topic_that_is_put_again_counts_once() -> None:
    table = LeaderTable(100)
    table.put(b"a", [1, 2], 0)
    table.put(b"a", [1, 2, 3], 0)

    assert (len(table), table.partitions) == (1, 4)


def test_no_topic_is_forgotten_for_those_that_clients_make_up() -> None:
    table = LeaderTable(100)
    table.put(b"orders", [1, 2], 0)
    for number in range(20_000):
        table.put(b"absent-%d" % number, [], 0)

    assert table.find(b"orders") is not None
    assert table.find(b"absent-0") is None
    assert table.find(b"absent-19999") is not None
    assert (len(table), table.partitions) == (10_001, 3)


def test_a_name_that_no_topic_can_have_is_not_kept() -> None:
    table = LeaderTable(100)
    table.put(b"n" * 256, [], 0)

    assert len(table) == 0


def test_an_absent_topic_that_was_created_has_leaders_and_one_that_was_deleted_has_none() -> None:
    table = LeaderTable(100)
    table.put(b"orders", [], 0)
    table.put(b"orders", [4], 1)
    found = table.find(b"orders")
    assert found is not None
    assert found[0] == 4
    table.put(b"orders", [], 2)
    found = table.find(b"orders")
    assert found is not None

    assert (found[0], found.known_ms, len(table), table.partitions) == (-1, 2, 1, 0)
