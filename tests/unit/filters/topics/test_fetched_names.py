"""A Fetch by names asks the broker for nothing but topics that exist."""

from dataclasses import replace

import pytest

from bifrost.filters.fetch import FINAL_EPOCH, session_not_found
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import FetchResponse
from support.physical_names import prefix_of
from support.stage.messages import fetch, fetched, metadata, metadata_of, topic_id
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import TENANTS, Stage

PREFIX = prefix_of("acme")
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
def stage() -> Stage:
    return Stage({**TENANTS, "acme": replace(TENANTS["acme"], allowed_topics=None, max_topics=2)})


def forbidding(*names: str) -> Message:
    return metadata(*(PREFIX + name for name in names), allow_auto_topic_creation=False)


def told(**codes: int) -> Message:
    """Answer a Metadata request of the gateway's with an error code for each topic."""
    answer = metadata_of(*(PREFIX + name for name in codes))
    for topic, code in zip(answer.topics, codes.values(), strict=True):
        topic.error_code = code
    return answer


def absent(*names: str) -> Message:
    """Answer as a broker does that does not know the topics."""
    answer = fetched(*names, error_code=UNKNOWN, records=b"")
    for topic in answer.responses:
        topic.partitions[0].high_watermark = -1
    return answer


def test_a_topic_that_exists_is_asked_about_once(stage: Stage) -> None:
    book = stage.play() >> client_sends(fetch("orders"), 12) << to_broker(forbidding("orders"))
    book >> broker_answers(told(orders=0)) << to_broker(fetch(PREFIX + "orders"))
    book >> broker_answers(fetched(PREFIX + "orders")) << to_client(fetched("orders"))

    assert book >> client_sends(fetch("orders"), 12) << to_broker(fetch(PREFIX + "orders"))
    assert stage.play() >> client_sends(fetch("orders"), 12) << to_broker(fetch(PREFIX + "orders"))


@pytest.mark.parametrize("code", [UNKNOWN, ErrorCode.INVALID_TOPIC_EXCEPTION])
@pytest.mark.parametrize("version", [4, 11, 12])
def test_one_that_does_not_is_answered_here(stage: Stage, version: int, code: ErrorCode) -> None:
    book = stage.play() >> client_sends(fetch("nothing"), version) << to_broker(forbidding("nothing"))

    assert book >> broker_answers(told(nothing=code)) << to_client(absent("nothing"))

    assert book >> client_sends(fetch("nothing"), version) << to_broker(forbidding("nothing"))


IMPOSSIBLE = ["", ".", "..", "a b", "m\u00e4rz", "x" * 250, "x" * (250 - len(PREFIX))]


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_no_broker_is_asked_about_a_name_that_no_topic_can_have(stage: Stage, name: str) -> None:
    book = stage.play() >> client_sends(fetch(name), 12)

    assert book << to_client(absent(name))


def test_the_longest_possible_name_is_asked_about(stage: Stage) -> None:
    name = "x" * (249 - len(PREFIX))

    assert stage.play() >> client_sends(fetch(name), 12) << to_broker(forbidding(name))


def test_the_others_are_asked_about(stage: Stage) -> None:
    book = stage.play() >> client_sends(fetch("orders", "a b", "nothing"), 12)
    book << to_broker(forbidding("orders", "nothing"))
    only = fetch(PREFIX + "orders", session_epoch=FINAL_EPOCH)
    book >> broker_answers(told(orders=0, nothing=UNKNOWN)) << to_broker(only)
    answer = fetched("orders")
    answer.responses += absent("a b", "nothing").responses
    assert book >> broker_answers(fetched(PREFIX + "orders")) << to_client(answer)

    assert book >> client_sends(fetch("orders"), 12) << to_broker(fetch(PREFIX + "orders"))


def test_the_others_are_read_without_a_session(stage: Stage) -> None:
    wanted = fetch("orders", "nothing", session_id=0, session_epoch=0)
    book = stage.play() >> client_sends(wanted, 12) << to_broker(forbidding("orders", "nothing"))
    only = fetch(PREFIX + "orders", session_id=0, session_epoch=FINAL_EPOCH)
    book >> broker_answers(told(orders=0, nothing=UNKNOWN)) << to_broker(only)

    both = fetched("orders")
    both.responses += absent("nothing").responses
    assert book >> broker_answers(fetched(PREFIX + "orders")) << to_client(both)


def test_a_session_that_names_one_ends(stage: Stage) -> None:
    stage.namespaces["acme"].existing.let_fetch(b"orders")
    book = stage.play() >> client_sends(fetch("orders", session_id=0, session_epoch=0), 12)
    book << to_broker(fetch(PREFIX + "orders", session_id=0, session_epoch=0))
    (
        book
        >> broker_answers(fetched(PREFIX + "orders", session_id=7))
        << to_client(fetched("orders", session_id=7))
    )
    (
        book
        >> client_sends(fetch("nothing", session_id=7, session_epoch=1), 12)
        << to_broker(forbidding("nothing"))
    )

    assert book >> broker_answers(told(nothing=UNKNOWN)) << to_client(session_not_found())


def test_a_topic_of_which_the_broker_tells_something_else_is_asked_for(stage: Stage) -> None:
    book = stage.play() >> client_sends(fetch("orders"), 12) << to_broker(forbidding("orders"))
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED

    assert book >> broker_answers(told(orders=code)) << to_broker(fetch(PREFIX + "orders"))


def test_a_topic_that_the_tenant_has_deleted_is_asked_about_again(stage: Stage) -> None:
    namespace = stage.namespaces["acme"]
    namespace.existing.let_fetch(b"orders")
    assert namespace.bounds is not None

    namespace.bounds.note_deleted(f"{PREFIX}orders".encode())

    assert stage.play() >> client_sends(fetch("orders"), 12) << to_broker(forbidding("orders"))


def test_topic_ids_are_not_asked_about(stage: Stage) -> None:
    own = stage.topic(f"{PREFIX}orders")

    assert stage.play() >> client_sends(fetch(own), 13) << to_broker(fetch(own))
    assert own != topic_id("another")


def test_an_answer_without_absent_topics_stays_as_it_is(stage: Stage) -> None:
    stage.namespaces["acme"].existing.let_fetch(b"orders")
    refused = FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    book = stage.play() >> client_sends(fetch("orders"), 12) << to_broker(fetch(PREFIX + "orders"))

    assert book >> broker_answers(refused) << to_client(refused)
