from dataclasses import replace

from bifrost.journal.identity import Identity, Software
from bifrost.journal.rows import api_name, connection_row, error_name, usage_rows
from bifrost.journal.topic_names import TopicNames
from bifrost.journal.usage_table import Client, UsageTable
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import AddOffsetsToTxnRequest, HeartbeatRequest
from support.clients.raw_client import request_frame
from support.clients.raw_operations import produce_request
from support.clients.record_batches import build_batch
from support.gateways.journalling import StillClock
from support.physical_names import physical_name
from support.stage.stage import Stage

ALICE = Identity(
    "initech", "main", "initech:eu", "User:alice", b"sh\xffop", Software("librdkafka", "2.16"), False
)
HEADER = 10 + 3 + 1
"""Of a request of the client "raw", up to its body."""


def client_of(stage: Stage, identity: Identity = ALICE) -> Client:
    table = UsageTable(100, 100, StillClock(), lambda *_: None)
    return table.client(identity, TopicNames(stage.namespaces["initech"]))


def test_a_row_says_who_what_and_how_much(stage: Stage) -> None:
    client, batch = client_of(stage), build_batch([b"a", b"b"])
    frame = request_frame(produce_request("orders", batch), 9, 1)[4:]
    usage = client.usage(ApiKey.PRODUCE, 9)
    usage.count_request(frame, HEADER)
    usage.answer(100)

    (request, topic), topics = usage_rows(client, ApiKey.PRODUCE, 9)

    assert topics == 1
    who = {
        "upstream": "main",
        "namespace": "initech:eu",
        "principal": "User:alice",
        "client_id": "sh\ufffdop",
    }
    for row in (request, topic):
        assert who.items() <= row.items()
        assert (row["client_software_name"], row["api"], row["api_version"]) == ("librdkafka", "Produce", 9)
    assert (request["requests"], request["responses"]) == (1, 1)
    assert (request["bytes_in"], request["bytes_out"]) == (len(frame) + 4, 100)
    assert (topic["topic"], topic["physical_topic"]) == ("orders", physical_name("initech", "orders"))
    assert (topic["records_in"], topic["batches_in"], topic["bytes_in"]) == (2, 1, len(batch))
    assert topic["batches"] == [
        {"codec": "none", "acks": -1, "batches": 1, "records": 2, "bytes": len(batch)}
    ]


def test_a_group_and_a_transactional_id_have_rows_of_their_own(stage: Stage) -> None:
    client = client_of(stage)
    request = AddOffsetsToTxnRequest(transactional_id="pay", group_id="shop")
    frame = request_frame(request, 2, 1)[4:]
    usage = client.usage(ApiKey.ADD_OFFSETS_TO_TXN, 2)
    for _ in range(2):
        usage.count_request(frame, HEADER - 1)

    (_, *rows), count = usage_rows(client, ApiKey.ADD_OFFSETS_TO_TXN, 2)

    assert count == 2
    assert [(row["scope"], row["resource_name"], row["physical_name"], row["requests"]) for row in rows] == [
        ("transactional_id", "pay", physical_name("initech", "pay"), 2),
        ("group", "shop", physical_name("initech", "shop"), 2),
    ]
    assert {(row["principal"], row["api"], row["is_folded"]) for row in rows} == {
        ("User:alice", "AddOffsetsToTxn", False)
    }


def test_what_found_no_room_has_a_folded_row(stage: Stage) -> None:
    client = client_of(stage)
    usage = client.usage(ApiKey.HEARTBEAT, 3)
    usage.count_request(request_frame(HeartbeatRequest(group_id="g" * 257), 3, 1)[4:], HEADER - 1)

    (_, row), _ = usage_rows(client, ApiKey.HEARTBEAT, 3)

    assert (row["scope"], row["is_folded"], row["requests"]) == ("group", True, 1)
    assert row["resource_name"] is row["physical_name"] is None


def test_nothing_counted_is_no_row(stage: Stage) -> None:
    client = client_of(stage)
    client.usage(ApiKey.PRODUCE, 9)

    rows, topics = usage_rows(client, ApiKey.PRODUCE, 9)
    assert (list(rows), topics) == ([], 0)
    assert connection_row(client) is None


def test_acks_of_zero_are_said(stage: Stage) -> None:
    client = client_of(stage)
    frame = request_frame(produce_request("orders", build_batch([b"a"]), acks=0), 9, 1)[4:]
    client.usage(ApiKey.PRODUCE, 9).count_request(frame, HEADER)

    _, topic = usage_rows(client, ApiKey.PRODUCE, 9)[0]

    assert topic["batches"][0]["acks"] == 0


def test_connections_have_a_row(stage: Stage) -> None:
    client = client_of(stage, replace(ALICE, is_folded=True))
    client.enter(is_new=True, before_ms=30)

    row = connection_row(client)

    assert row is not None
    assert (row["connections_opened"], row["connections"], row["connection_ms"]) == (1, 1, 30)
    assert row["is_folded"] is True


def test_names_are_kafka_s() -> None:
    assert api_name(ApiKey.INCREMENTAL_ALTER_CONFIGS) == "IncrementalAlterConfigs"
    assert error_name(3) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert error_name(-1) == "UNKNOWN_SERVER_ERROR"
    assert error_name(30_000) == "30000"
