from bifrost.journal.identity import Identity, Software
from bifrost.journal.journal import Journal
from bifrost.journal.meter import MAX_SOFTWARE_LENGTH, Meter, bounded_software
from bifrost.journal.topic_names import TopicNames
from bifrost.wire.api_keys import ApiKey
from support.gateways.journalling import StillClock, journal, rows, written
from support.physical_names import physical_name
from support.stage.stage import Stage

ALICE = Identity("initech", "main", "initech", "User:alice")


def meter_of(one: Journal, stage: Stage) -> Meter:
    return Meter(one, ALICE, TopicNames(stage.namespaces["initech"]), "10.0.0.1:5")


def test_a_connection_is_the_client_s_whose_id_its_first_request_says(stage: Stage) -> None:
    clock = StillClock(0)
    one = journal(clock)
    meter = meter_of(one, stage)
    clock.now_ms = 40
    meter.become(b"shop")
    clock.now_ms = 100
    meter.close()

    (row,) = rows(written(one, ends_interval=True), "connection")

    assert (row["client_id"], row["connections_opened"], row["connections_closed"]) == ("shop", 1, 1)
    assert row["connection_ms"] == 100


def test_one_that_never_asked_for_anything_is_counted_too(stage: Stage) -> None:
    one = journal(StillClock())

    meter_of(one, stage).close()

    (row,) = rows(written(one, ends_interval=True), "connection")
    assert row["connections_opened"] == row["connections_closed"] == 1
    assert "client_id" not in row


def test_another_client_id_is_another_client_and_no_new_connection(stage: Stage) -> None:
    one = journal(StillClock())
    meter = meter_of(one, stage)
    for client_id in (b"a", b"b"):
        assert not meter.is_of(client_id)
        meter.become(client_id)
        assert meter.is_of(client_id)
        meter.usage(ApiKey.HEARTBEAT, 4).answer(1)
    meter.close()

    records = written(one, ends_interval=True)

    assert {row["client_id"] for row in rows(records, "request")} == {"a", "b"}
    connections = {row["client_id"]: row for row in rows(records, "connection")}
    assert connections["a"]["connections_opened"] == connections["b"]["connections_closed"] == 1
    assert "connections_opened" not in connections["b"]


def test_a_client_may_say_later_what_it_is(stage: Stage) -> None:
    one = journal(StillClock())
    meter = meter_of(one, stage)

    assert meter.name(Software("librdkafka", "2"))
    meter.become(b"a")
    assert not meter.name(Software("librdkafka", "2"))
    assert meter.name(Software("librdkafka", "3"))

    meter.usage(ApiKey.HEARTBEAT, 4).answer(1)
    (row,) = rows(written(one, ends_interval=True), "request")
    assert row["client_software_version"] == "3"


def test_what_a_client_says_that_it_is_is_bounded() -> None:
    assert bounded_software(Software("n" * 1000, None)) == Software("n" * MAX_SOFTWARE_LENGTH, None)


def change(meter: Meter, after: dict[str, str], *, is_done: bool = True, is_deleted: bool = False) -> None:
    meter.change(
        physical_name("initech", "t"), after, is_done=is_done, is_topic=True, is_deleted=is_deleted, api="X"
    )


def test_a_change_says_what_was_before_as_far_as_it_is_known(stage: Stage) -> None:
    clock = StillClock(10)
    one = journal(clock)
    meter = meter_of(one, stage)

    change(meter, {"partitions": "2", "replication_factor": "1"})
    clock.now_ms = 20
    change(meter, {"partitions": "3"}, is_done=False)
    change(meter, {"partitions": "4"})
    change(meter, {}, is_deleted=True)
    change(meter, {"partitions": "1"})

    told = [record["event"] for record in written(one)]
    assert [one.get("before") for one in told] == [
        None,
        {"partitions": "2"},
        {"partitions": "2"},
        {"partitions": "4", "replication_factor": "1"},
        None,
    ]
    assert [one["outcome"] for one in told] == ["success", "failure", "success", "success", "success"]
    assert told[1]["before_ms"] == 10
    assert told[0]["physical_name"] == physical_name("initech", "t")
    assert told[0]["client_address"] == "10.0.0.1:5"
