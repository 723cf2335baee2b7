"""Metadata by topic ID."""

import pytest

from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import metadata_of, topic_id
from support.stage.playbook import broker_answers, client_sends, learns, looks_up, to_broker, to_client
from support.stage.stage import Stage

UNKNOWN_ID = ErrorCode.UNKNOWN_TOPIC_ID
FOREIGN, ABSENT = topic_id(physical_name("globex", "orders")), topic_id("absent")


def asking(*topics: tuple[str | None, bytes]):
    return messages.MetadataRequest(topics=[{"name": name, "topic_id": one} for name, one in topics])


def unknown(*ids: bytes):
    return [{"topic_id": one, "name": None, "error_code": UNKNOWN_ID} for one in ids]


def failed(error_code: ErrorCode, *topics: tuple[str, bytes], whole: bool = False):
    answers = [{"name": name, "topic_id": one, "error_code": error_code} for name, one in topics]
    return messages.MetadataResponse(topics=answers, error_code=error_code if whole else 0)


@pytest.mark.parametrize("version", [10, 11])
@pytest.mark.parametrize("other", [FOREIGN, ABSENT])
def test_an_id_is_an_invalid_request_before_it_is_allowed(stage: Stage, version: int, other: bytes) -> None:
    own = stage.topic(physical_name("acme", "orders"))
    stage.topic(physical_name("globex", "orders"))
    stage.namespaces["acme"].looked_up([ABSENT])
    topics = [("billing", bytes(16)), ("orders", other), ("orders", own)]

    book = stage.play() >> client_sends(asking(*topics), version)

    assert book << to_client(failed(ErrorCode.INVALID_REQUEST, *topics))
    assert stage.topic_ids.name_of(stage.masked(other)) is None


@pytest.mark.parametrize("version", [10, 11])
def test_a_null_name_is_an_invalid_request_before_ids_are_allowed(stage: Stage, version: int) -> None:
    topics = [("orders", bytes(16)), (None, bytes(16))]

    book = stage.play() >> client_sends(asking(*topics), version)

    assert book << to_client(failed(ErrorCode.INVALID_REQUEST, ("orders", bytes(16)), ("", bytes(16))))


@pytest.mark.parametrize("version", [12, 13])
def test_neither_name_nor_id_fails_as_at_a_broker(stage: Stage, version: int) -> None:
    topics = [("orders", bytes(16)), (None, bytes(16))]
    expected = [("orders", bytes(16)), ("", bytes(16))]

    book = stage.play() >> client_sends(asking(*topics), version)

    assert book << to_client(failed(ErrorCode.UNKNOWN_SERVER_ERROR, *expected, whole=version == 13))


@pytest.mark.parametrize("version", [12, 13])
def test_one_id_that_is_not_the_tenants_stands_in_for_all(stage: Stage, version: int) -> None:
    own, foreign = (
        stage.topic(physical_name("acme", "orders")),
        stage.topic(physical_name("globex", "orders")),
    )
    ids = [number.to_bytes(16, "big") for number in range(1, 10)]
    stage.namespaces["acme"].looked_up(ids)
    mask = stage.masked(ids[0])
    answer = metadata_of(physical_name("acme", "orders"))
    answer.topics = [*messages.MetadataResponse(topics=unknown(mask)).topics, *answer.topics]
    expected = metadata_of("orders", tenant="acme")
    expected.topics = [
        *messages.MetadataResponse(topics=unknown(*ids, foreign)).topics,
        *expected.topics,
    ]
    assert (
        stage.play()
        >> client_sends(asking(*((None, one) for one in [*ids, own, foreign, ids[3]])), version)
        << to_broker(asking((None, ids[0] and mask), (None, own)))
        >> broker_answers(answer)
        << to_client(expected)
    )


def test_names_beside_ids_are_ignored(stage: Stage) -> None:
    own = stage.topic(physical_name("acme", "orders"))
    assert (
        stage.play()
        >> client_sends(asking(("billing", bytes(16)), ("events", own), (None, bytes(16))), 12)
        << to_broker(asking((None, own)))
        >> broker_answers(metadata_of(physical_name("acme", "orders")))
        << to_client(metadata_of("orders", tenant="acme"))
    )


def test_an_error_with_a_name_and_an_id_teaches_nothing(stage: Stage) -> None:
    book = stage.play() >> client_sends(messages.metadata("orders"), 12)
    book << to_broker(messages.metadata(physical_name("acme", "orders")))

    book >> broker_answers(
        messages.MetadataResponse(
            topics=[
                {
                    "name": physical_name("acme", "orders"),
                    "topic_id": ABSENT,
                    "error_code": ErrorCode.INVALID_REQUEST,
                }
            ]
        )
    )

    assert (
        book
        << looks_up({ABSENT})
        >> learns({ABSENT: None})
        << to_client(messages.MetadataResponse(topics=[]))
    )
    assert stage.topic_ids.name_of(ABSENT) is None
