from bifrost.filters.records.unenforced_records import MAX_PLACES, UnenforcedPlace, UnenforcedRecords

ORDERS = UnenforcedPlace("acme", "trial", "acme", "alice", "orders", "physical")


def test_batches_of_one_place_are_told_together_and_once() -> None:
    records = UnenforcedRecords()

    records.note(ORDERS, 2, "first")
    records.note(ORDERS._replace(topic="clicks"), 1, "other")
    records.note(ORDERS, 3, "later")

    assert list(records.take()) == [(ORDERS, 5, "first"), (ORDERS._replace(topic="clicks"), 1, "other")]
    assert list(records.take()) == []


def test_places_beyond_the_bound_are_told_by_tenant_and_filter() -> None:
    records = UnenforcedRecords()

    for number in range(MAX_PLACES + 5):
        records.note(ORDERS._replace(topic=f"topic-{number}"), 1, "odd")
    records.note(ORDERS._replace(topic="topic-0"), 1, "odd")

    *own, folded = records.take()
    assert len(own) == MAX_PLACES
    assert own[0][1] == 2
    assert folded == (UnenforcedPlace("acme", "trial"), 5, "odd")
