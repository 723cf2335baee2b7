from collections import Counter, defaultdict
from typing import Any

from bifrost.journal.identity import Identity
from bifrost.journal.journal import Journal, JournalLimits
from bifrost.journal.known_topics import KnownTopics
from bifrost.journal.record import Source
from bifrost.journal.topic_names import TopicNames
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entity import Entity
from support.gateways.journalling import StillClock, journal, rows, written
from support.physical_names import physical_name
from support.stage.stage import Stage

ALICE = Identity("initech", "main", "initech", "User:alice", b"shop")


def test_an_event_is_a_record_of_its_moment() -> None:
    clock = StillClock(5000)
    one = journal(clock)

    one.event("reload", "applied", detail="x")

    (record,) = written(one)
    assert record["event"] == {"type": "reload", "outcome": "applied", "detail": "x"}
    assert (record["interval_start_ms"], record["interval_end_ms"]) == (5000, 5000)
    assert "tenant" not in record


def test_a_client_s_event_says_who_it_is() -> None:
    one = journal(StillClock())

    one.client_event("denial", "denied", ALICE, rule="allowed_topics")

    (record,) = written(one)
    assert record["tenant"] == "initech"
    assert record["event"]["client_id"] == "shop"


def test_events_of_a_tenant_are_bounded_for_an_interval() -> None:
    one = journal(StillClock(), events=2)
    for _ in range(5):
        one.event("limit", "hit", "acme")
    one.event("limit", "hit", "globex")

    before, after = written(one), written(one, ends_interval=True)
    one.event("limit", "hit", "acme")
    later = written(one)

    assert [record["tenant"] for record in before] == ["acme", "acme", "globex"]
    assert [record["drop"] for record in after] == [
        {"dropped_kind": "event", "count": 3, "reason": "event_limit"}
    ]
    assert len(later) == 1
    assert one.buffer.drops == {("acme", "event", "event_limit"): 3}


def test_what_the_gateway_does_is_told_however_many_strangers_come() -> None:
    one = journal(StillClock(), events=1)
    for _ in range(3):
        one.event("authentication", "failure", client_address="10.0.0.1:5")

    one.event("reload", "applied")

    assert [record["event"]["type"] for record in written(one)] == ["authentication", "reload"]


def test_an_interval_s_rows_cover_it_and_then_begin_anew(stage: Stage) -> None:
    clock = StillClock(1000)
    one = journal(clock)
    client = one.table.client(ALICE, TopicNames(stage.namespaces["initech"]))
    client.enter(is_new=True)
    client.usage(ApiKey.HEARTBEAT, 4).answer(10)
    clock.now_ms = 11_000

    first = written(one, ends_interval=True)
    clock.now_ms = 21_000
    second = written(one, ends_interval=True)

    assert {(record["interval_start_ms"], record["interval_end_ms"]) for record in first} == {(1000, 11_000)}
    assert rows(first, "request", api="Heartbeat")[0]["responses"] == 1
    assert rows(second, "request") == []
    assert rows(second, "connection")[0]["connection_ms"] == 10_000


def test_usage_that_finds_no_room_goes_on_counting(stage: Stage) -> None:
    clock = StillClock(1000)
    one = journal(clock, buffer_bytes=5000)
    client = one.table.client(ALICE, TopicNames(stage.namespaces["initech"]))
    client.enter(is_new=True)
    usage = client.usage(ApiKey.HEARTBEAT, 4)
    while one.buffer.append("event", None, (1, 2), {"type": "start", "outcome": "done"}):  # type: ignore[arg-type]
        usage.answer(10)
    count = len(one.buffer)

    clock.now_ms = 11_000
    for _ in one.end_interval():
        pass
    full = written(one)
    usage.answer(10)
    clock.now_ms = 21_000
    late = written(one, ends_interval=True)

    assert rows(full, "request") == []
    assert rows(late, "request")[0]["responses"] == count + 1
    row = next(record for record in late if record["kind"] == "usage")
    assert (row["interval_start_ms"], row["interval_end_ms"]) == (1000, 21_000)


def test_a_client_that_is_gone_is_forgotten_once_it_is_told_of(stage: Stage) -> None:
    one = journal(StillClock())
    client = one.table.client(ALICE, TopicNames(stage.namespaces["initech"]))
    client.enter(is_new=True)
    client.usage(ApiKey.HEARTBEAT, 4).answer(10)
    client.leave(has_ended=True)

    assert len(written(one, ends_interval=True)) == 2
    assert len(one.table) == 2
    assert written(one, ends_interval=True) == []
    assert len(one.table) == 0


def test_it_counts_where_it_is_told_to_and_knows_what_it_is_given() -> None:
    counters: defaultdict[str, Counter[Any]] = defaultdict(Counter)
    known = KnownTopics()
    limits = JournalLimits(1_000_000, 1000, 1000, 1)
    one = Journal(Source("gw", 7), limits, StillClock(), known_topics=known, counter=counters.__getitem__)

    for _ in range(3):
        one.event("authentication", "failure", "acme")
    one.table.folded["acme"] += 1

    assert one.known_topics is known
    assert counters == {
        "journal_dropped": {("acme", "event", "event_limit"): 2},
        "journal_folded": {"acme": 1},
    }


def test_a_denial_of_a_topic_is_written_when_its_interval_ends() -> None:
    # To write it takes 0.2 ms: a client would see by the time that another tenant has the topic ID that it named.
    clock, stage = StillClock(5000), Stage()
    one = journal(clock, events=2)
    foreign = stage.topic(physical_name("globex", "orders"))
    usage = one.table.client(ALICE, TopicNames(stage.namespaces["initech"])).usage(ApiKey.FETCH, 13)

    for _ in range(3):
        usage.resolve(usage, Entity.TOPIC_ID, foreign, False).on_use()

    assert written(one) == []
    clock.now_ms += 1000
    denials = [record for record in written(one, ends_interval=True) if "event" in record]
    assert [record["event"]["rule"] for record in denials] == ["foreign_topic_id"] * 2
    assert {record["interval_end_ms"] for record in denials} == {5000}
    assert denials[0]["event"]["principal"] == "User:alice"
    assert one.buffer.drops == {("initech", "event", "event_limit"): 1}
