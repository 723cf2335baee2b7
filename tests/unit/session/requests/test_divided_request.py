"""What becomes of the answers is tested with the filters that divide requests (filters/virtual/test_division.py)."""

from typing import Any

from bifrost.session.close_reason import CloseReason
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, ends, to_broker, to_client
from support.stage.stage import Stage

ORDERS = physical_name("acme", "orders")
ID = bytes(15) + b"\7"


def asked(name: str, *partitions: int) -> Any:
    some = [{"partition": one, "leader_epoch": 3} for one in partitions]
    return messages.build(
        "OffsetForLeaderEpochRequest", {"replica_id": -1, "topics": [{"topic": name, "partitions": some}]}
    )


def told(name: str, *partitions: int) -> Any:
    some = [{"partition": one, "leader_epoch": 3, "end_offset": 7} for one in partitions]
    return messages.build("OffsetForLeaderEpochResponse", {"topics": [{"topic": name, "partitions": some}]})


def test_parts_count_as_one_request_of_the_client_and_as_several_at_the_broker(stage: Stage) -> None:
    divided(stage, "orders")
    book = stage.play()
    book >> client_sends(asked("orders", 0, 2, 4), 4)
    for _ in range(3):
        book << to_broker(asked(ORDERS, 0))
    assert book.session.in_flight == 3

    for _ in range(3):
        assert book.said.to_client == type(book.said.to_client)()
        book >> broker_answers(told(ORDERS, 0))
    assert book << to_client(told("orders", 0, 2, 4))
    assert book.session.in_flight == 0


def test_a_connection_that_ends_awaits_no_part(stage: Stage) -> None:
    divided(stage, "orders")
    book = stage.play()
    book >> client_sends(asked("orders", 0, 2), 4)
    book << to_broker(asked(ORDERS, 0))
    book << to_broker(asked(ORDERS, 0))
    load = book.session._load

    book.session.close()
    assert book.session.in_flight == 0
    assert load is not None


def test_a_part_with_the_answer_to_another_request_ends_the_connection(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked("orders", 0, 2), 4)
        << to_broker(asked(ORDERS, 0))
        << to_broker(asked(ORDERS, 0))
        >> broker_answers(told(ORDERS, 0), correlation_id=99)
        << ends(CloseReason.BROKER_MISBEHAVED, "out of order")
    )
