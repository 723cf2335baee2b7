"""Topics of a Fetch that no broker is asked about end its session."""

import pytest

from bifrost.filters.fetch import FINAL_EPOCH, session_not_found
from bifrost.filters.left_out.fetches import leave_out
from bifrost.filters.left_out.items import LeftOut
from bifrost.filters.steps import FORWARD, Answer, RequestStep
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from support.stage.guards import exchange_of, guard_of
from support.stage.messages import fetch
from support.stage.stage import Stage

CODE = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def without_first(request: Message, count: int, version: int = 12) -> RequestStep:
    """Leave so many topics out."""
    exchange = exchange_of(guard_of(Stage()), ApiKey.FETCH, version)
    kept, refused = request.topics[count:], request.topics[:count]
    return leave_out(LeftOut(), exchange, request, kept, refused, CODE)


def test_a_fetch_of_which_nothing_is_refused_stays_as_it_is() -> None:
    request = fetch("a", session_epoch=0)

    assert without_first(request, 0) is FORWARD
    assert request == fetch("a", session_epoch=0)


@pytest.mark.parametrize(("version", "epoch"), [(6, 0), (7, FINAL_EPOCH), (12, FINAL_EPOCH)])
def test_what_is_left_is_read_without_a_session(version: int, epoch: int) -> None:
    request = fetch("a", "b", session_epoch=0)

    assert without_first(request, 1, version) is FORWARD
    assert [one.topic for one in request.topics] == ["b"]
    assert request.session_epoch == epoch


def test_a_session_that_goes_on_ends() -> None:
    step = without_first(fetch("a", "b", session_id=7, session_epoch=3), 1)

    assert step == Answer(session_not_found())


def test_where_nothing_is_left_the_answer_is_at_hand() -> None:
    step = without_first(fetch("a", "b", session_epoch=0), 2)

    assert isinstance(step, Answer)
    assert [(one.topic, one.partitions[0].error_code) for one in step.response.responses] == [
        ("a", CODE),
        ("b", CODE),
    ]
