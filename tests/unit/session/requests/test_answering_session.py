from bifrost.session.client_session import ClientSession
from bifrost.session.requests.answering_session import AnsweringSession
from support.physical_names import physical_name
from support.stage import messages
from support.stage.messages import metadata
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage


def test_an_answer_of_its_own_waits_for_those_before_it(stage: Stage) -> None:
    book = stage.play()
    assert isinstance(book.session, AnsweringSession)
    assert isinstance(book.session, ClientSession)
    orders = physical_name("acme", "orders")
    denied = messages.build("ElectLeadersRequest", {"topic_partitions": None, "timeout_ms": 1})

    book >> client_sends(metadata("orders", allow_auto_topic_creation=False), 9)
    book << to_broker(metadata(orders, allow_auto_topic_creation=False))
    book >> client_sends(denied)
    assert not book.said.to_client
    book >> broker_answers(messages.metadata_of(orders))
    book << to_client(messages.metadata_of("orders", tenant="acme"))
    book << to_client(messages.build("ElectLeadersResponse", {"error_code": 31}))
    assert book
