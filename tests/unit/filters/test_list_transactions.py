import pytest

from bifrost.tenancy.topic_regex import confine
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name, prefix_of
from support.stage import messages
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage


def ask(pattern: str | None = None):
    return messages.ListTransactionsRequest(transactional_id_pattern=pattern)


def found(*transactional_ids: str):
    states = [
        {"transactional_id": one, "producer_id": 7, "transaction_state": "Ongoing"}
        for one in transactional_ids
    ]
    return messages.ListTransactionsResponse(transaction_states=states)


@pytest.mark.parametrize("version", range(3))
def test_only_own_transactions_are_listed(stage: Stage, version: int) -> None:
    assert (
        stage.play()
        >> client_sends(ask(), version)
        << to_broker(ask())
        >> broker_answers(
            found(
                physical_name("globex", "t"), physical_name("acme", "t"), "plain", physical_name("acme", "u")
            )
        )
        << to_client(found("t", "u"))
    )


def test_an_empty_pattern_means_all(stage: Stage) -> None:
    assert stage.play() >> client_sends(ask("")) << to_broker(ask(""))


def test_a_pattern_is_confined_to_the_namespace(stage: Stage) -> None:
    book = stage.play() >> client_sends(ask("t-[0-9]+"))

    assert book << to_broker(ask(confine("t-[0-9]+", prefix_of("acme"))))


def test_a_pattern_that_cannot_be_confined_is_invalid(stage: Stage) -> None:
    book = stage.play() >> client_sends(ask("("))

    assert book << to_client(
        messages.ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    )
