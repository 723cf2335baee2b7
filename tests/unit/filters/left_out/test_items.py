"""Items that the broker is not asked about come back with its answer."""

from bifrost.filters.filter import Exchange
from bifrost.filters.left_out.items import LeftOut, joined_topics
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.guards import exchange_of, guard_of
from support.stage.stage import Stage

ONE, OTHER = LeftOut(), LeftOut()
CODES = (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.POLICY_VIOLATION)


def exchange_without(*names: str) -> tuple[Exchange, messages.Message]:
    """Take the first topic out of a Produce for one reason, and the second for another; return the last answer."""
    exchange = exchange_of(guard_of(Stage()), ApiKey.PRODUCE, 9)
    request = messages.produce(*names)
    for owner, code in zip((ONE, OTHER), CODES, strict=True):
        first, *rest = request.topic_data
        answer = owner.take_out(exchange, request, "topic_data", rest, [first], code)
    assert answer is not None
    assert [one.name for one in request.topic_data] == list(names[2:])
    assert exchange.wants_response
    return exchange, answer


def codes_of(response: messages.Message) -> list[tuple[str, int]]:
    return [(one.name, one.partition_responses[0].error_code) for one in response.responses]


def test_each_filter_puts_back_what_it_has_taken_out() -> None:
    exchange, _ = exchange_without("a", "b", "c")
    response = messages.produced("c")

    ONE.put_back(exchange, response)
    assert codes_of(response) == [("c", 0), ("a", CODES[0])]
    OTHER.put_back(exchange, response)
    assert codes_of(response) == [("c", 0), ("a", CODES[0]), ("b", CODES[1])]


def test_an_answer_without_the_broker_has_what_other_filters_have_taken_out() -> None:
    exchange, answer = exchange_without("a", "b")

    step = OTHER.without_broker(exchange, answer)

    assert codes_of(step.response) == [("b", CODES[1]), ("a", CODES[0])]


def test_the_partitions_of_a_topic_come_in_one_entry() -> None:
    response = messages.produced("a", "b", "a")
    response.responses[2].partition_responses[0].index = 1

    joined = joined_topics(response.responses, "partition_responses")

    assert [(one.name, [part.index for part in one.partition_responses]) for one in joined] == [
        ("a", [0, 1]),
        ("b", [0]),
    ]


def test_nothing_that_is_refused_changes_nothing() -> None:
    exchange = exchange_of(guard_of(Stage()), ApiKey.PRODUCE, 9)
    request, response = messages.produce("a"), messages.produced("a")

    assert ONE.take_out(exchange, request, "topic_data", request.topic_data, [], CODES[0]) is None
    ONE.put_back(exchange, response)
    assert not exchange.wants_response
    assert codes_of(response) == [("a", 0)]
