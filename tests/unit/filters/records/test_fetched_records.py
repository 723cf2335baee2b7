import pytest

from bifrost.records.codec.columns import ColumnRecord, Header
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from support.physical_names import physical_name
from support.records.record_columns import CODECS, MIB, batch_of, marker_of
from support.stage import messages
from support.stage.filtered import filtered, headers
from support.stage.messages import fetch, fetched
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
ON_FETCH = {"topics": ["orders"], "direction": "fetch"}
ID = bytes(15) + b"\7"
SEEN: tuple[Header, ...] = ((b"seen", b"yes"),)


def edge(**config: object):
    return headers(ON_FETCH, **({"add": [{"key": "seen", "value": "yes"}]} | config))


def batch(*headers: Header, codec: int = 0, offset: int = 5, **fields: object) -> bytes:
    records = [ColumnRecord(i, i, b"k", b"v" * 10, headers) for i in range(2)]
    return batch_of(records, codec=codec, base_offset=offset, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("codec", range(len(CODECS)))
@pytest.mark.parametrize("version", [4, 12])
def test_records_reach_the_client_as_the_filters_leave_them(stage: Stage, codec: int, version: int) -> None:
    filtered(stage, edge())
    sent = batch(codec=codec) + marker_of(batch(offset=7)) + batch(codec=codec, offset=9)
    made = batch(*SEEN, codec=codec) + marker_of(batch(offset=7)) + batch(*SEEN, codec=codec, offset=9)

    assert (
        stage.play()
        >> client_sends(fetch("orders"), version)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=sent))
        << to_client(fetched("orders", records=made))
    )


def test_topics_by_id_pass_the_filters(stage: Stage) -> None:
    filtered(stage, edge())
    stage.topic_ids.learn(ID, ORDERS.encode())

    assert (
        stage.play()
        >> client_sends(fetch(ID), 13)
        << to_broker(fetch(ID))
        >> broker_answers(fetched(ID, records=batch()))
        << to_client(fetched(ID, records=batch(*SEEN)))
    )


def test_topics_that_no_rule_matches_are_not_decoded(stage: Stage, decoded: list[str]) -> None:
    filtered(stage, edge())
    book = stage.play()
    decoded.clear()

    assert (
        book
        >> client_sends(fetch("billing"), 12)
        << to_broker(fetch(BILLING))
        >> broker_answers(fetched(BILLING, records=b"no batch"))
        << to_client(fetched("billing", records=b"no batch"))
    )
    assert decoded == []


def test_a_batch_that_is_cut_off_is_left_out(stage: Stage) -> None:
    filtered(stage, edge())

    assert (
        stage.play()
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=batch() + batch(offset=7)[:-5]))
        << to_client(fetched("orders", records=batch(*SEEN)))
    )


def test_batches_before_a_broken_one_come_first_and_then_the_error(stage: Stage) -> None:
    filtered(stage, edge())
    broken = batch(offset=7)[:-1] + b"?"
    book = (
        stage.play()
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=batch() + broken))
        << to_client(fetched("orders", records=batch(*SEEN)))
    )

    assert (
        book
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=broken))
        << to_client(fetched("orders", records=b"", error_code=ErrorCode.CORRUPT_MESSAGE))
    )


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (batch_of([ColumnRecord(0, 0, None, bytes(64 * MIB))], codec=4), ErrorCode.MESSAGE_TOO_LARGE),
        (batch()[:16] + b"\1" + batch()[17:], ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    ],
)
def test_what_cannot_be_read_is_an_error(stage: Stage, records: bytes, code: ErrorCode) -> None:
    filtered(stage, edge(), max_unpacked_batch_bytes=MIB)

    assert (
        stage.play()
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=records))
        << to_client(fetched("orders", records=b"", error_code=code))
    )


def test_what_has_no_room_in_the_answer_comes_with_the_next(stage: Stage) -> None:
    records = filtered(stage, edge(), max_unpacked_bytes=4 * MIB, max_unpacked_batch_bytes=2 * MIB)
    large = batch_of([ColumnRecord(0, 0, None, bytes(MIB))])
    new = batch_of([ColumnRecord(0, 0, None, bytes(MIB), SEEN)])

    assert (
        stage.play()
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=large * 5))
        << to_client(fetched("orders", records=new * 3))
    )
    assert records.process.memory.used == 0


def share_fetched(**partition: object) -> Message:
    return messages.build(
        "ShareFetchResponse",
        {"responses": [{"topic_id": ID, "partitions": [{"partition_index": 0, **partition}]}]},
    )


def share_fetch() -> Message:
    return messages.build(
        "ShareFetchRequest",
        {"group_id": None, "topics": [{"topic_id": ID, "partitions": [{"partition_index": 0}]}]},
    )


ACQUIRED = [{"first_offset": 5, "last_offset": 6, "delivery_count": 1}]


def test_members_of_share_groups_get_transformed_records(stage: Stage) -> None:
    filtered(stage, edge())
    stage.topic_ids.learn(ID, ORDERS.encode())

    assert (
        stage.play()
        >> client_sends(share_fetch())
        << to_broker(share_fetch())
        >> broker_answers(share_fetched(records=batch(), acquired_records=ACQUIRED))
        << to_client(share_fetched(records=batch(*SEEN), acquired_records=ACQUIRED))
    )


def test_members_of_share_groups_get_no_part_of_what_they_acquired(stage: Stage) -> None:
    filtered(stage, edge())
    stage.topic_ids.learn(ID, ORDERS.encode())
    broken = batch(offset=7)[:-1] + b"?"

    assert (
        stage.play()
        >> client_sends(share_fetch())
        << to_broker(share_fetch())
        >> broker_answers(share_fetched(records=batch() + broken, acquired_records=ACQUIRED))
        << to_client(
            share_fetched(
                records=b"",
                error_code=ErrorCode.CORRUPT_MESSAGE,
                error_message="the batch at offset 7 has another checksum than it says",
            )
        )
    )
