from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def ask(*topics: str):
    return messages.DescribeProducersRequest(
        topics=[{"name": name, "partition_indexes": [0]} for name in topics]
    )


def answer(*topics: tuple[str, int, str | None]):
    return messages.DescribeProducersResponse(
        topics=[
            {"name": name, "partitions": [{"error_code": error, "error_message": text}]}
            for name, error, text in topics
        ]
    )


def test_a_hidden_topic_is_asked_for_as_a_legal_one_that_no_topic_is(stage: Stage) -> None:
    absent = stage.namespaces["acme"].absent_topic("users")
    text = "Topic '{}' does not exist"
    assert (
        stage.play("acme")
        >> client_sends(ask("orders", "users"))
        << to_broker(ask(physical_name("acme", "orders"), physical_name("acme", absent)))
        >> broker_answers(
            answer(
                (physical_name("acme", "orders"), 0, None),
                (physical_name("acme", absent), UNKNOWN, text.format(physical_name("acme", absent))),
            )
        )
        << to_client(answer(("orders", 0, None), ("users", UNKNOWN, text.format("users"))))
    )


def test_a_hidden_and_an_unknown_topic_are_answered_the_same_in_every_byte(stage: Stage) -> None:
    # users exists, for globex; nosuch exists nowhere.
    answers = []
    for name in ("users", "nosuch"):
        physical = physical_name("acme", f"{stage.namespaces['acme'].absent_topic(name)}")
        book = stage.play("acme") >> client_sends(ask(name)) << to_broker(ask(physical))
        book >> broker_answers(answer((physical, UNKNOWN, None)))
        answers.append(book.said.to_client.popleft())

    assert answers[0].replace(b"\x06users", b"\x07nosuch") == answers[1]


def test_a_name_that_no_topic_can_have_is_left_to_the_broker(stage: Stage) -> None:
    assert stage.play() >> client_sends(ask("a b")) << to_broker(ask(physical_name("acme", "/a b")))
