"""Requests and answers that wait for what transforms need, as a session has them."""

from collections import Counter
from dataclasses import replace

import pytest

from bifrost.filters.records import record_topics, record_work, tenant_records
from bifrost.filters.records.transform_meter import TIME, TransformKey
from bifrost.filters.steps import RecordNeeds
from bifrost.records.codec.columns import ColumnRecord
from bifrost.session.close_reason import CloseReason
from bifrost.transforms.record_transform import Direction, Failure
from bifrost.transforms.transform_kind import TransformKind
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.records.needing import AtHand, NeedsText, Text
from support.records.record_columns import batch_of
from support.stage.filtered import filtered, policy
from support.stage.messages import fetch, fetched, produce, produced
from support.stage.playbook import Playbook, Step, broker_answers, client_sends, to_broker, to_client
from support.stage.refused_records import answers, refused
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")


def of(*values: bytes) -> bytes:
    return batch_of([ColumnRecord(i, i, b"k", value) for i, value in enumerate(values)])


def answered(answers: dict[str, object]) -> Step:
    """Answer what the session waits for, which must be this."""

    def step(book: Playbook) -> str:
        (need,) = book.session.needs
        assert isinstance(need, RecordNeeds)
        given = {Text(name): answer for name, answer in answers.items()}
        assert need.keys == given.keys()
        met = replace(need, known={**need.known, **given})
        book.play(lambda: book.session.meet(met), CloseReason.MALFORMED)
        return f"what {sorted(answers)} are is known"

    return step


@pytest.fixture
def counts() -> Counter[TransformKey]:
    """What the filters count."""
    return Counter()


@pytest.fixture
def texts(stage: Stage, counts: Counter[TransformKey], monkeypatch: pytest.MonkeyPatch) -> AtHand:
    """What the values of topic `orders` stand for, on both ways."""
    kind = TransformKind(frozenset(Direction), lambda *_: NeedsText())
    for module in (record_topics, tenant_records):
        monkeypatch.setattr(module, "kind_of", lambda _: kind)
    monkeypatch.setattr("bifrost.transforms.tenant_filters.kind_of", lambda _: kind)
    records = filtered(stage, policy({"topics": ["orders"]}, require_key=True))
    records.process.counts = counts
    found = records.process.sources = AtHand({Text("there"): b"1"})
    return found


def counted(counts: Counter[TransformKey], direction: str) -> dict[str, int]:
    """What the transform has counted on one way, but for the time."""
    return {key.number: n for key, n in counts.items() if key.direction == direction and key.number != TIME}


def test_a_request_waits_for_what_its_records_need(stage: Stage, texts: AtHand) -> None:
    assert (
        stage.play()
        >> client_sends(produce("orders", records=of(b"there", b"a") + of(b"b")), 12)
        >> client_sends(produce("billing"), 12)
        >> answered({"a": b"2", "b": b"3"})
        << to_broker(produce(ORDERS, records=of(b"1", b"2") + of(b"3")))
        << to_broker(produce(BILLING))
        >> broker_answers(produced(ORDERS))
        << to_client(produced("orders"))
    )


def test_an_answer_waits_and_later_ones_behind_it(stage: Stage, texts: AtHand) -> None:
    assert (
        stage.play()
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=of(b"a") + of(b"there")))
        >> answered({"a": b"2"})
        << to_client(fetched("orders", records=of(b"2") + of(b"1")))
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=of(b"a")))
        >> answered({"a": b"other"})
        << to_client(fetched("orders", records=of(b"other")))
    )


def test_records_without_an_answer_are_an_error_that_clients_retry(stage: Stage, texts: AtHand) -> None:
    away = Failure("away", is_retriable=True)

    assert (
        stage.play()
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=of(b"a")))
        >> answered({"a": away})
        << to_client(fetched("orders", records=b"", error_code=ErrorCode.KAFKA_STORAGE_ERROR))
    )


def test_a_request_that_needs_too_much_is_an_error_and_its_connection_goes_on(
    stage: Stage, texts: AtHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_work, "MAX_KEYS", 1)
    monkeypatch.setattr(record_work, "MAX_NEEDS", 2)

    assert (
        stage.play()
        >> client_sends(produce("orders", records=of(b"a") + of(b"b") + of(b"c")), 12)
        >> answered({"a": b"1"})
        >> answered({"b": b"2"})
        << to_client(
            answers(
                (
                    "orders",
                    {0: refused(ErrorCode.POLICY_VIOLATION, "its filters asked 2 times for what they need")},
                )
            )
        )
        >> client_sends(produce("orders", records=of(b"there")), 12)
        << to_broker(produce(ORDERS, records=of(b"1")))
        >> broker_answers(produced(ORDERS))
        << to_client(produced("orders"))
    )


def test_batches_of_a_message_that_waits_are_counted_once(
    stage: Stage, texts: AtHand, counts: Counter[TransformKey]
) -> None:
    """The second of three batches has what it needs at once."""
    sent = of(b"a") + of(b"there", b"there") + of(b"b")
    made = of(b"2") + of(b"1", b"1") + of(b"3")

    assert (
        stage.play()
        >> client_sends(produce("orders", records=sent), 12)
        >> answered({"a": b"2", "b": b"3"})
        << to_broker(produce(ORDERS, records=made))
        >> broker_answers(produced(ORDERS))
        << to_client(produced("orders"))
        >> client_sends(fetch("orders"), 12)
        << to_broker(fetch(ORDERS))
        >> broker_answers(fetched(ORDERS, records=sent))
        >> answered({"a": b"2", "b": b"3"})
        << to_client(fetched("orders", records=made))
    )
    for direction in ("produce", "fetch"):
        assert counted(counts, direction) == {"batches": 3, "records": 4, "rejections": 0}


def test_batches_that_are_refused_after_a_wait_are_counted_once(
    stage: Stage, texts: AtHand, counts: Counter[TransformKey]
) -> None:
    book = stage.play()

    book >> client_sends(produce("orders", records=of(b"there") + of(b"a")), 12)
    assert counted(counts, "produce") == {}
    answered({"a": Failure("gone", is_retriable=False)})(book)

    assert counted(counts, "produce") == {"batches": 2, "records": 2, "rejections": 1}
    assert counts["acme", "texts", "produce", TIME] > 0  # type: ignore[index]  # a tuple equal to its key
