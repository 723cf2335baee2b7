"""Records of topics with a way: sealed, opened and checked without decoding their message."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bifrost.filters.records.tenant_records import TenantRecords
from bifrost.filters.steps import RecordNeeds
from bifrost.forwarding.lane_names import lane_names
from bifrost.records.codec.columns import ColumnRecord, Header
from bifrost.schemas.schema_key import SchemaAnswer
from bifrost.session.close_reason import CloseReason
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.codec import decode
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.programs import compile_layout
from bifrost.wire.rewriting import RecordWay, rewrite
from support.encryption.sealing import packed_again, with_header
from support.physical_names import physical_name
from support.records.record_columns import CODECS, batch_of, marker_of
from support.stage import messages
from support.stage.filtered import headers
from support.stage.messages import fetch, fetched, produce, produce_by_id, produced
from support.stage.on_ways import (
    KeysAndSchemas,
    batch,
    on_orders,
    on_ways,
    sealing,
    validating,
    value_of,
)
from support.stage.playbook import (
    Playbook,
    Step,
    broker_answers,
    client_sends,
    request_frame,
    to_broker,
    to_client,
)
from support.stage.refused_records import answers, refused
from support.stage.stage import PORTS, Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
ID = bytes(15) + b"\7"
ALL = range(len(CODECS))
BEFORE_BODY = 11 + len(physical_name("acme", "a-client"))


@pytest.fixture
def played(stage: Stage) -> tuple[TenantRecords, KeysAndSchemas]:
    """A tenant whose topic `orders` is sealed; `billing` is not."""
    return on_ways(stage, sealing("orders"))


# -- what passes


@pytest.mark.parametrize("codec", ALL)
@pytest.mark.parametrize("version", [7, 12])
def test_produced_batches_are_sealed_in_place(
    stage: Stage, decoded: list[str], played: object, codec: int, version: int
) -> None:
    first, second = batch(codec), batch(codec, sequence=43, count=700)

    assert (
        stage.play()
        >> client_sends(produce("orders", "billing", records=first + second), version)
        << to_broker(_produced_to_both(on_orders(first) + on_orders(second, 1), first + second))
        >> broker_answers(produced(ORDERS, BILLING))
        << to_client(produced("orders", "billing"))
    )
    assert decoded == []


def _produced_to_both(orders: bytes, billing: bytes) -> Message:
    topics = [
        {"name": name, "partition_data": [{"index": 0, "records": records}]}
        for name, records in ((ORDERS, orders), (BILLING, billing))
    ]
    return messages.build("ProduceRequest", {"acks": -1, "timeout_ms": 1500, "topic_data": topics})


@pytest.mark.parametrize("version", [3, 6])
def test_a_message_without_a_place_for_ways_is_decoded(
    stage: Stage, decoded: list[str], played: object, version: int
) -> None:
    first = batch(1)

    assert (
        stage.play()
        >> client_sends(produce("orders", records=first), version)
        << to_broker(produce(ORDERS, records=on_orders(first)))
    )
    assert decoded == ["ProduceRequest"]


def test_topics_by_id_and_every_partition_have_their_own_place(
    stage: Stage, decoded: list[str], played: object
) -> None:
    stage.topic_ids.learn(ID, ORDERS.encode())
    data = batch()
    book = stage.play()

    assert (
        book
        >> client_sends(produce_by_id(ID, records=data), 13)
        << to_broker(produce_by_id(ID, records=on_orders(data)))
        >> client_sends(_to_partitions("orders", data, data, data), 9)
        << to_broker(_to_partitions(ORDERS, on_orders(data, 1), on_orders(data, 2, 1), on_orders(data, 3, 2)))
    )
    assert decoded == []


def _to_partitions(topic: str, *records: bytes) -> Message:
    partitions = [{"index": index, "records": one} for index, one in enumerate(records)]
    topics = [{"name": topic, "partition_data": partitions}]
    return messages.build("ProduceRequest", {"acks": -1, "timeout_ms": 1500, "topic_data": topics})


@pytest.mark.parametrize("codec", ALL)
@pytest.mark.parametrize("version", [4, 12])
def test_fetched_batches_are_opened_in_place(
    stage: Stage, decoded: list[str], played: object, codec: int, version: int
) -> None:
    first, second = batch(codec, 5), batch(codec, 9, sequence=43)
    marker = marker_of(batch(offset=8))
    stored = on_orders(first) + marker + on_orders(second) + on_orders(batch(codec, 12, sequence=46))[:-5]

    assert (
        stage.play()
        >> client_sends(fetch("orders", "billing"), version)
        << to_broker(fetch(ORDERS, BILLING))
        >> broker_answers(fetched(ORDERS, BILLING, records=stored))
        << to_client(_fetched_of_both(first + marker + second, stored))
    )
    assert decoded == []


def _fetched_of_both(orders: bytes, billing: bytes) -> Message:
    topics = [
        {"topic": name, "partitions": [{"high_watermark": 9, "records": records}]}
        for name, records in (("orders", orders), ("billing", billing))
    ]
    return messages.build("FetchResponse", {"responses": topics})


@pytest.mark.parametrize("codec", ALL)
def test_batches_that_a_broker_packed_again_are_opened_in_place(
    stage: Stage, decoded: list[str], played: object, codec: int
) -> None:
    stage.topic_ids.learn(ID, ORDERS.encode())
    data = batch(offset=5, codec=2)
    stored = with_header(packed_again(on_orders(data), codec), base_offset=5)

    assert (
        stage.play()
        >> client_sends(fetch(ID), 13)
        << to_broker(fetch(ID))
        >> broker_answers(fetched(ID, records=stored))
        << to_client(fetched(ID, records=data))
    )
    assert decoded == []


def test_batches_without_records_and_markers_stay(stage: Stage, decoded: list[str], played: object) -> None:
    stored = with_header(batch(offset=5)[:61], length=49, count=0) + marker_of(batch(offset=9))

    assert (
        stage.play()
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=stored))
        << to_client(fetched("orders", records=stored))
    )
    assert decoded == []


def checked(*values: bytes | None, headers: tuple[Header, ...] = (), codec: int = 0) -> bytes:
    return batch_of([ColumnRecord(i, i, b"k", value, headers) for i, value in enumerate(values)], codec=codec)


def test_batches_whose_schemas_are_known_pass_in_place(stage: Stage, decoded: list[str]) -> None:
    _, sources = on_ways(stage, validating("orders"))
    sources.schemas[8] = sources.schemas[bytes(range(16))] = SchemaAnswer()
    guid = b"\1" + bytes(range(16)) + b"payload"
    by_header: tuple[Header, ...] = ((b"other", None), (b"__value_schema_id", b"\0\0\0\0\7"))
    good = checked(value_of(), value_of(), None, guid, value_of(8), value_of()) + checked(
        b"", b"anything", headers=by_header
    )

    assert (
        stage.play()
        >> client_sends(produce("orders", records=good), 9)
        << to_broker(produce(ORDERS, records=good))
    )
    assert decoded == []
    assert len(sources.looked_up) == 3


def test_records_are_checked_and_sealed_on_one_way(stage: Stage, decoded: list[str]) -> None:
    on_ways(stage, validating("orders"), sealing("orders"))
    data = checked(value_of(), value_of())

    assert (
        stage.play()
        >> client_sends(produce("orders", records=data), 9)
        << to_broker(produce(ORDERS, records=on_orders(data)))
    )
    assert decoded == []


@pytest.mark.parametrize("codec", ALL)
def test_values_are_sealed_and_opened_in_place(stage: Stage, decoded: list[str], codec: int) -> None:
    on_ways(stage, sealing("orders", mode="values"))
    data, sent = batch(codec, count=30), {"records": b""}
    book = stage.play()

    book >> client_sends(produce("orders", records=data), 9)
    request = decode(compile_layout("ProduceRequest", 9), book.said.to_broker.popleft(), BEFORE_BODY)
    sent["records"] = bytes(request.topic_data[0].partition_data[0].records)  # type: ignore[attr-defined]

    assert b"a secret" not in sent["records"]
    assert len(sent["records"]) > len(data)
    assert (
        stage.play()
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, **sent))
        << to_client(fetched("orders", records=data))
    )
    assert decoded == []


# -- what does not


def test_a_key_that_is_not_at_hand_is_waited_for(stage: Stage, played: Any) -> None:
    _, sources = played
    sources.has_deks = False
    data = batch()

    assert (
        stage.play()
        >> client_sends(produce("orders", records=data), 9)
        >> given(sources)
        << to_broker(produce(ORDERS, records=on_orders(data)))
        >> broker_answers(produced(ORDERS))
        << to_client(produced("orders"))
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=on_orders(data)))
        >> given(sources)
        << to_client(fetched("orders", records=data))
    )


def given(sources: KeysAndSchemas) -> Step:
    """Answer what the session waits for."""

    def step(book: Playbook) -> str:
        (need,) = book.session.needs
        assert isinstance(need, RecordNeeds)
        met = replace(need, known={**need.known, **sources.known(need)})
        book.play(lambda: book.session.meet(met), CloseReason.MALFORMED)
        return "what was needed is known"

    return step


def flipped(data: bytes, at: int) -> bytes:
    made = bytearray(data)
    made[at] ^= 1
    return bytes(made)


CHECKSUM = "the batch at offset 0 has another checksum than it says"


@pytest.mark.parametrize(
    ("spoilt", "code", "reason"),
    [
        (lambda data: flipped(data, -1), ErrorCode.CORRUPT_MESSAGE, CHECKSUM),
        (lambda data: data[:-1], ErrorCode.CORRUPT_MESSAGE, "the last batch is cut off"),
        (lambda data: data + b"more", ErrorCode.CORRUPT_MESSAGE, "the last batch is cut off"),
        (
            lambda data: with_header(data, magic=1),
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
            "the batch has format v1",
        ),
    ],
)
def test_spoilt_batches_are_refused_as_without_a_way(
    stage: Stage, played: Any, spoilt: Callable[[bytes], bytes], code: ErrorCode, reason: str
) -> None:
    assert (
        stage.play()
        >> client_sends(produce("orders", records=batch(sequence=30) + spoilt(batch())), 9)
        << to_client(answers(("orders", {0: refused(code, reason)})))
    )
    assert played[0].process.memory.used == 0


def test_sealed_batches_that_were_changed_are_never_passed(stage: Stage, played: object) -> None:
    """Each has a right checksum."""
    good, moved = on_orders(batch(offset=5)), on_orders(batch(offset=5), partition=1)
    spoilt = [with_header(good, count=4), with_header(flipped(good, 300)), moved, batch(offset=5)]

    for stored in spoilt:
        book = stage.play()
        assert (
            book
            >> client_sends(fetch("orders"), 12)
            << to_broker(fetch(ORDERS))
            >> broker_answers(fetched(ORDERS, records=stored))
            << to_client(fetched("orders", records=b"", error_code=ErrorCode.CORRUPT_MESSAGE))
        )


def test_a_batch_that_stands_there_twice_is_an_error_also_in_a_later_answer(
    stage: Stage, played: object
) -> None:
    first, second = batch(offset=5), batch(offset=8, sequence=43)
    again = with_header(on_orders(first), base_offset=11)
    book = stage.play()

    assert (
        book
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=on_orders(first) + on_orders(second)))
        << to_client(fetched("orders", records=first + second))
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=again))
        << to_client(fetched("orders", records=b"", error_code=ErrorCode.CORRUPT_MESSAGE))
    )


BAD = [
    checked(value_of(), value_of(9)),
    checked(value_of(), b"no ID"),
    checked(value_of(), headers=((b"__value_schema_id", b"\0\0\0\0\7"),) * 2),
]


@pytest.mark.parametrize("data", BAD)
def test_records_that_name_no_schema_of_their_topic_are_refused(stage: Stage, data: bytes) -> None:
    _, sources = on_ways(stage, validating("orders"))
    sources.schemas[9] = SchemaAnswer("not of this topic")
    book = stage.play()

    book >> client_sends(produce("orders", records=checked(value_of()) + data), 9)

    assert not book.said.to_broker
    assert b"checked: " in book.said.to_client.popleft()


def test_other_filters_of_a_topic_keep_it_from_its_way(stage: Stage, decoded: list[str]) -> None:
    on_ways(stage, headers({"topics": ["orders"]}, remove=["x"]), sealing("orders"))
    data = batch()

    assert (
        stage.play()
        >> client_sends(produce("orders", records=data), 9)
        << to_broker(produce(ORDERS, records=on_orders(data)))
    )
    assert decoded == ["ProduceRequest"]


def test_what_does_not_know_ways_cannot_pass_the_records_on(stage: Stage, played: Any) -> None:
    topics = played[0].topics(stage.namespaces["acme"], "alice", None)
    names = lane_names(stage.namespaces["acme"], PORTS, None, topics).of_api(ApiKey.PRODUCE).to_physical
    way = names.missing(Entity.TOPIC_NAME, b"orders")
    plan = stage.shared.plans.plan_for(ApiKey.PRODUCE, 9)
    assert plan is not None
    program = topics.plan(plan).request.program

    frame = request_frame(produce("orders", records=batch()), 9, 1)

    assert isinstance(way, RecordWay)
    assert way.name == ORDERS.encode()
    assert rewrite(program, frame, len(frame) - len(frame.split(b"a-client\0", 1)[1]), names) is None
    assert plan.request.program is not None
    with pytest.raises(TypeError):
        b"".join([way])  # type: ignore[list-item]  # it is no name
