"""What a filter sees of a Fetch; how a session comes to it is in tests/unit/session/test_fetching.py."""

from bifrost.filters.fetch import FOREIGN_SESSION, FetchFilter, session_not_found
from bifrost.filters.steps import FORWARD, Answer
from bifrost.wire.error_codes import ErrorCode
from support.stage.messages import fetch
from support.stage.stage import Stage


def test_a_consumers_fetch_goes_on(stage: Stage) -> None:
    request = fetch("orders", session_id=5, session_epoch=1)

    assert FetchFilter().on_request(stage.exchange(12), request) is FORWARD
    assert request == fetch("orders", session_id=5, session_epoch=1)


def test_a_foreign_session_is_taken_out(stage: Stage) -> None:
    request, exchange = fetch("orders", session_id=5, session_epoch=0), stage.exchange(12)
    exchange.keep(FOREIGN_SESSION, True)

    assert FetchFilter().on_request(exchange, request) is FORWARD
    assert request == fetch("orders", session_id=0, session_epoch=0)


def test_a_follower_is_refused_partition_by_partition(stage: Stage) -> None:
    request = fetch("orders", "users", replica_id=2)
    request.topics[0].partitions *= 2

    step = FetchFilter().on_request(stage.exchange(11), request)

    assert isinstance(step, Answer)
    answer = step.response
    assert [(topic.topic, len(topic.partitions)) for topic in answer.responses] == [
        ("orders", 2),
        ("users", 1),
    ]
    errors = {partition.error_code for topic in answer.responses for partition in topic.partitions}
    assert errors == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}


def test_a_session_that_is_not_found_is_none(stage: Stage) -> None:
    answer = session_not_found()

    assert (answer.error_code, answer.session_id) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, 0)
