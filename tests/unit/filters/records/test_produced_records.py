from dataclasses import replace

import pytest

from bifrost.filters.records import record_topics
from bifrost.filters.records.unenforced_records import UnenforcedPlace
from bifrost.records.codec.columns import ColumnRecord, Columns, Header
from bifrost.session.close_reason import CloseReason
from bifrost.session.needs import TURN
from bifrost.tenancy.broker_state.broker_state import StateLimits
from bifrost.transforms.record_transform import Direction, Noted
from bifrost.transforms.transform_kind import TransformKind
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from support.physical_names import physical_name
from support.records.record_columns import CODECS, MIB, batch_of, marker_of, only_batch
from support.stage import messages
from support.stage.filtered import filtered, headers, policy, ruled
from support.stage.messages import produce, produced
from support.stage.playbook import (
    Playbook,
    broker_answers,
    client_sends,
    ends,
    no_answer,
    request_frame,
    to_broker,
    to_client,
)
from support.stage.refused_records import answers, refused
from support.stage.stage import TENANTS, Stage, account

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
ON_ORDERS = {"topics": ["orders"]}
REGION = {"add": [{"key": "region", "value": "eu"}]}
BATCH_OF_REGION: tuple[Header, ...] = ((b"region", b"eu"),)
ID = bytes(15) + b"\7"


def batch(
    *headers: Header, codec: int = 0, key: bytes | None = b"k", count: int = 2, **fields: object
) -> bytes:
    records = [ColumnRecord(i, i, key, b"v" * 10, headers) for i in range(count)]
    return batch_of(records, codec=codec, **fields)  # type: ignore[arg-type]


def partitions(topic: str, *records: bytes | None) -> Message:
    data = [{"index": index, "records": one} for index, one in enumerate(records)]
    return messages.build(
        "ProduceRequest",
        {"acks": -1, "timeout_ms": 1500, "topic_data": [{"name": topic, "partition_data": data}]},
    )


NO_KEYS = refused(
    ErrorCode.INVALID_RECORD,
    "One or more records have been rejected",
    (0, "policy: the record has no key"),
    (1, "policy: the record has no key"),
)


ZSTD = CODECS.index("zstd")


@pytest.mark.parametrize("codec", range(len(CODECS)))
@pytest.mark.parametrize("version", [7, 8, 12])
def test_records_reach_the_broker_as_the_filters_leave_them(stage: Stage, codec: int, version: int) -> None:
    filtered(stage, headers(ON_ORDERS, **REGION))
    sent = batch(codec=codec, producer=(7, 1, 40))

    assert (
        stage.play()
        >> client_sends(produce("orders", records=sent), version)
        << to_broker(produce(ORDERS, records=batch(*BATCH_OF_REGION, codec=codec, producer=(7, 1, 40))))
        >> broker_answers(produced(ORDERS))
        << to_client(produced("orders"))
    )


def test_records_of_topics_by_id_pass_the_filters(stage: Stage) -> None:
    filtered(stage, headers(ON_ORDERS, **REGION))
    stage.topic_ids.learn(ID, ORDERS.encode())

    assert (
        stage.play()
        >> client_sends(messages.produce_by_id(ID, records=batch()), 13)
        << to_broker(messages.produce_by_id(ID, records=batch(*BATCH_OF_REGION)))
        >> broker_answers(produced(ID))
        << to_client(produced(ID))
    )


def test_topics_that_no_rule_matches_are_not_decoded(stage: Stage, decoded: list[str]) -> None:
    filtered(stage, headers(ON_ORDERS, **REGION))
    book = stage.play()
    decoded.clear()

    assert (
        book
        >> client_sends(produce("billing", records=b"no batch"), 12)
        << to_broker(produce(BILLING, records=b"no batch"))
        >> broker_answers(produced(BILLING))
        << to_client(produced("billing"))
    )
    assert decoded == []
    book >> client_sends(produce("orders", records=batch()), 12)
    assert decoded == ["ProduceRequest"]


def test_records_of_other_topics_keep_their_bytes(stage: Stage) -> None:
    filtered(stage, headers(ON_ORDERS, **REGION))
    request = produce("orders", "billing", records=batch())
    expected = produce(ORDERS, BILLING, records=batch())
    expected.topic_data[0].partition_data[0].records = batch(*BATCH_OF_REGION)

    book = stage.play() >> client_sends(request, 12)

    assert book << to_broker(expected)


def test_where_filters_leave_nothing_to_the_broker_the_answers_of_all_are_told() -> None:
    no_producers = StateLimits(1, 1, 1, 1, 0, 1)
    stage = Stage({**TENANTS, "acme": replace(TENANTS["acme"], state_limits=no_producers)})
    filtered(stage, policy(ON_ORDERS, require_key=True))
    request = produce("orders", "billing", records=batch(key=None))
    request.topic_data[1].partition_data[0].records = batch(producer=(8, 0, 0))

    book = stage.play() >> client_sends(request, 12)

    text = "the tenant has used 0 producers with an ID, counted for each partition, in the last day, and this cluster"
    no_room = refused(ErrorCode.POLICY_VIOLATION, f"{text} allows no more (max_producers)")
    assert book << to_client(answers(("orders", {0: NO_KEYS}), ("billing", {0: no_room})))


def test_a_rejected_batch_is_answered_and_other_partitions_go_on(stage: Stage) -> None:
    filtered(stage, policy(ON_ORDERS, require_key=True))

    assert (
        stage.play()
        >> client_sends(partitions("orders", batch(), batch(key=None), batch(codec=1)), 12)
        << to_broker(
            messages.build(
                "ProduceRequest",
                {
                    "acks": -1,
                    "timeout_ms": 1500,
                    "topic_data": [
                        {
                            "name": ORDERS,
                            "partition_data": [
                                {"index": 0, "records": batch()},
                                {"index": 2, "records": batch(codec=1)},
                            ],
                        }
                    ],
                },
            )
        )
        >> broker_answers(answers((ORDERS, {0: {"base_offset": 5}, 2: {"base_offset": 6}})))
        << to_client(answers(("orders", {0: {"base_offset": 5}, 2: {"base_offset": 6}, 1: NO_KEYS})))
    )


def test_a_request_of_which_nothing_is_left_is_answered_at_once(stage: Stage) -> None:
    filtered(stage, policy(require_key=True))

    book = stage.play() >> client_sends(produce("orders", "billing", records=batch(key=None)), 12)

    assert book << to_client(answers(("orders", {0: NO_KEYS}), ("billing", {0: NO_KEYS})))


@pytest.mark.parametrize("version", [3, 6])
def test_zstd_before_version_7_is_refused_and_other_partitions_go_on(stage: Stage, version: int) -> None:
    filtered(stage, headers(ON_ORDERS, **REGION))
    packed, plain = batch(codec=ZSTD), batch(codec=1)

    assert (
        stage.play()
        >> client_sends(partitions("orders", plain, packed), version)
        << to_broker(partitions(ORDERS, batch(*BATCH_OF_REGION, codec=1)))
        >> broker_answers(answers((ORDERS, {0: {"base_offset": 6}})))
        << to_client(
            answers(
                (
                    "orders",
                    {
                        0: {"base_offset": 6},
                        1: {"error_code": ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "base_offset": -1},
                    },
                )
            )
        )
    )


def test_before_version_8_the_answer_has_a_code_that_clients_know_alone(stage: Stage) -> None:
    filtered(stage, policy(require_key=True))

    book = stage.play() >> client_sends(produce("orders", records=batch(key=None)), 7)

    assert book << to_client(
        answers(
            (
                "orders",
                {0: {"error_code": ErrorCode.POLICY_VIOLATION, "base_offset": -1, "log_start_offset": -1}},
            )
        )
    )


def test_a_rejected_request_without_an_answer_ends_the_connection(stage: Stage) -> None:
    filtered(stage, policy(ON_ORDERS, require_key=True))

    assert (
        stage.play()
        >> client_sends(produce("orders", acks=0, records=batch()), 12)
        << to_broker(produce(ORDERS, acks=0, records=batch()))
        >> client_sends(produce("orders", acks=0, records=batch(key=None)), 12)
        << no_answer()
        << ends(CloseReason.UNSUPPORTED)
    )


@pytest.mark.parametrize("acks", [1, -1])
def test_acks_that_the_policy_does_not_allow_are_refused(stage: Stage, acks: int) -> None:
    filtered(stage, policy(ON_ORDERS, acks=["all"]))
    book = stage.play() >> client_sends(produce("orders", acks=acks, records=batch()), 12)

    if acks == -1:
        assert book << to_broker(produce(ORDERS, acks=acks, records=batch()))
    else:
        told = refused(ErrorCode.POLICY_VIOLATION, "policy: acks=1 is not allowed")
        assert book << to_client(answers(("orders", {0: told})))


@pytest.mark.parametrize(
    ("records", "code"),
    [
        (batch()[:-1], ErrorCode.CORRUPT_MESSAGE),
        (batch()[:-1] + b"?", ErrorCode.CORRUPT_MESSAGE),
        (batch() + batch(codec=2)[:-1], ErrorCode.CORRUPT_MESSAGE),
        (batch()[:16] + b"\1" + batch()[17:], ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    ],
)
def test_what_cannot_be_read_never_reaches_the_broker(stage: Stage, records: bytes, code: ErrorCode) -> None:
    filtered(stage, headers(ON_ORDERS, **REGION))

    book = stage.play() >> client_sends(produce("orders", records=records), 7)

    assert book << to_client(
        answers(("orders", {0: {"error_code": code, "base_offset": -1, "log_start_offset": -1}}))
    )


def test_a_bomb_is_refused_and_counted(stage: Stage) -> None:
    records = filtered(stage, headers(ON_ORDERS, **REGION), max_unpacked_batch_bytes=MIB)
    bomb = batch_of([ColumnRecord(0, 0, None, bytes(64 * MIB))], codec=4)

    book = stage.play() >> client_sends(produce("orders", records=bomb), 7)

    told = {"error_code": ErrorCode.MESSAGE_TOO_LARGE, "base_offset": -1, "log_start_offset": -1}
    assert book << to_client(answers(("orders", {0: told})))
    assert records.process.memory.hits == {("max_unpacked_batch_bytes", "acme"): 1}
    assert records.process.memory.used == 0


def test_a_large_request_is_not_refused_for_its_size(stage: Stage) -> None:
    filtered(stage, headers(ON_ORDERS, **REGION))
    large = batch_of([ColumnRecord(0, 0, None, bytes(MIB))])

    book = stage.play() >> client_sends(partitions("orders", *[large] * 10), 12)

    book << to_broker(
        partitions(ORDERS, *[batch_of([ColumnRecord(0, 0, None, bytes(MIB), BATCH_OF_REGION)])] * 10)
    )
    assert book


def test_partitions_beyond_the_bound_of_a_request_are_refused(stage: Stage) -> None:
    records = filtered(
        stage, headers(ON_ORDERS, **REGION), max_unpacked_bytes=4 * MIB, max_unpacked_batch_bytes=2 * MIB
    )
    large = batch_of([ColumnRecord(0, 0, None, bytes(MIB))])
    book = stage.play() >> client_sends(partitions("orders", *[large] * 5), 12)

    new = batch_of([ColumnRecord(0, 0, None, bytes(MIB), BATCH_OF_REGION)])
    assert book << to_broker(partitions(ORDERS, *[new] * 3))
    assert records.process.memory.hits == {("max_unpacked_bytes", "acme"): 2}
    assert records.process.memory.used == 0


def test_partitions_without_records_are_left_to_the_broker(stage: Stage) -> None:
    filtered(stage, headers(ON_ORDERS, **REGION))

    book = stage.play() >> client_sends(partitions("orders", None, b""), 12)

    assert book << to_broker(partitions(ORDERS, None, b""))


def test_markers_stay_as_they_are(stage: Stage) -> None:
    filtered(stage, headers(ON_ORDERS, **REGION))
    marker = marker_of(batch())

    assert only_batch(marker).is_control
    book = stage.play() >> client_sends(produce("orders", records=marker), 12)

    assert book << to_broker(produce(ORDERS, records=marker))


def test_a_user_whom_no_rule_names_takes_the_way_without_filters(stage: Stage, decoded: list[str]) -> None:
    filtered(stage, headers({"principals": ["User:somebody"]}, **REGION))
    book = stage.play()
    decoded.clear()

    assert book >> client_sends(produce("orders"), 12) << to_broker(produce(ORDERS))
    assert decoded == []


def test_a_request_waits_while_others_use_the_memory(stage: Stage) -> None:
    records = filtered(
        stage,
        headers(ON_ORDERS, **REGION),
        max_unpacked_bytes_total=2 * MIB,
        max_unpacked_bytes=2 * MIB,
        max_unpacked_batch_bytes=2 * MIB,
    )
    other = records.process.memory.of_request()
    taken = other.take(2 * MIB - 1000) or 2 * MIB - 1000
    book = stage.play()
    request = produce("orders", records=batch(codec=1, count=50))
    book.session.receive_from_client(request_frame(request, 12, 9, b"app", b"\0"))
    assert book.session.needs == (TURN,)

    other.give_back(taken)

    def gets_its_turn(book: Playbook) -> str:
        book.play(lambda: book.session.meet(TURN), CloseReason.MALFORMED)
        return "its turn comes"

    new = produce(ORDERS, records=batch(*BATCH_OF_REGION, codec=1, count=50))
    assert book >> gets_its_turn << to_broker(new, client_id=b"app")
    assert records.process.memory.hits == {("max_unpacked_bytes_total", "acme"): 1}


def test_a_policy_of_a_namespace_refuses_settings_of_acks_before_any_filter(stage: Stage) -> None:
    hits = ruled(stage, headers(ON_ORDERS, **REGION), acks=["1"])
    text = "Policy acks of namespace acme allows 1, not all"

    assert (
        stage.play()
        >> client_sends(produce("orders", records=batch()), 12)
        << to_client(answers(("orders", {0: refused(ErrorCode.POLICY_VIOLATION, text)})))
    )
    assert hits == {("acks", "acme"): 1}


def test_a_policy_of_a_namespace_refuses_compression_by_the_header_of_a_batch_alone(stage: Stage) -> None:
    hits = ruled(stage, compression=["zstd", "lz4"])
    text = "Policy compression of namespace acme allows zstd, lz4, not gzip"
    zstd, gzip = batch(codec=4), batch(codec=1)

    assert (
        stage.play()
        >> client_sends(partitions("orders", zstd, gzip), 12)
        << to_broker(
            messages.build(
                "ProduceRequest",
                {
                    "acks": -1,
                    "timeout_ms": 1500,
                    "topic_data": [{"name": ORDERS, "partition_data": [{"index": 0, "records": zstd}]}],
                },
            )
        )
        >> broker_answers(answers((ORDERS, {0: {}})))
        << to_client(answers(("orders", {0: {}, 1: refused(ErrorCode.POLICY_VIOLATION, text)})))
    )
    assert hits == {("compression", "acme"): 1}


def test_records_are_not_looked_at_for_a_policy_about_acks(stage: Stage) -> None:
    ruled(stage, acks=["all"])

    assert (
        stage.play()
        >> client_sends(produce("orders", records=b"no batch"), 12)
        << to_broker(produce(ORDERS, records=b"no batch"))
        >> broker_answers(produced(ORDERS))
        << to_client(produced("orders"))
    )


def test_what_passes_though_a_filter_would_refuse_it_is_kept_for_the_journal(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Lenient:
        name = "trial"

        def transform(self, _batch: object, columns: Columns, *_: object) -> Noted:
            return Noted(columns, "unenforced", "trial: odd")

    kind = TransformKind(frozenset(Direction), lambda *_: Lenient())  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(record_topics, "kind_of", lambda _: kind)
    records = filtered(stage, policy(ON_ORDERS, require_key=True))
    sent = batch(key=None) + batch(key=None)

    assert (
        stage.play()
        >> client_sends(produce("orders", records=sent), 12)
        << to_broker(produce(ORDERS, records=sent))
        >> broker_answers(produced(ORDERS))
        << to_client(produced("orders"))
    )
    [(place, batches, reason)] = records.process.unenforced.take()
    assert place == UnenforcedPlace("acme", "trial", "acme", place.user, "orders", ORDERS)
    assert (place.user, batches, reason) == (account("acme").username, 2, "trial: odd")
