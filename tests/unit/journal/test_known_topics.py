from bifrost.journal.known_topics import Known, KnownTopics


def test_facts_are_added_to_those_before() -> None:
    known = KnownTopics()

    known.learn("main", "t", 10, {"partitions": "2", "replication_factor": "3"})
    known.learn("main", "t", 20, {"partitions": "4"})

    assert known.get("main", "t") == Known(20, {"partitions": "4", "replication_factor": "3"})
    assert known.get("other", "t") is None


def test_what_is_gone_had_nothing() -> None:
    known = KnownTopics()
    known.learn("main", "t", 10, {"partitions": "2"})

    known.learn_gone("main", "t", 20)

    assert known.get("main", "t") == Known(20, {})


def test_the_oldest_is_forgotten() -> None:
    known = KnownTopics(2)

    for name in ("a", "b", "c"):
        known.learn("main", name, 10, {})

    assert known.get("main", "a") is None
    assert known.get("main", "c") is not None
