from typing import Any

from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING, TXN = (physical_name("acme", one) for one in ("orders", "billing", "txn"))


def asked(transactional_id: str, **topics: list[int]) -> Any:
    entries = [{"name": name, "partitions": some} for name, some in topics.items()]
    return messages.build(
        "AddPartitionsToTxnRequest",
        {"v3_and_below_transactional_id": transactional_id, "v3_and_below_topics": entries},
    )


def told(**topics: dict[int, int]) -> Any:
    entries = [
        {
            "name": name,
            "results_by_partition": [
                {"partition_index": one, "partition_error_code": code} for one, code in some.items()
            ],
        }
        for name, some in topics.items()
    ]
    return messages.build("AddPartitionsToTxnResponse", {"results_by_topic_v3_and_below": entries})


def test_a_transaction_gets_the_physical_partitions(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked("txn", orders=[0, 4, 3], billing=[1]), 3)
        << to_broker(asked(TXN, **{ORDERS: [0, 1], BILLING: [1]}))
        >> broker_answers(told(**{ORDERS: {0: 0, 1: 51}, BILLING: {1: 0}}))
        << to_client(told(orders={0: 0, 4: 0, 3: 51}, billing={1: 0}))
    )


def test_of_partitions_that_do_not_exist_none_is_added(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(asked("txn", billing=[1], orders=[4, 5]), 3)
        << to_client(told(billing={1: 55}, orders={4: 55, 5: 3}))
        >> client_sends(asked("txn", billing=[1]), 3)
        << to_broker(asked(TXN, **{BILLING: [1]}))
    )


def test_a_transaction_is_shown_with_all_that_share_its_partitions(stage: Stage) -> None:
    divided(stage, "orders")

    def shown(transactional_id: str, **topics: list[int]) -> Any:
        entries = [{"topic": name, "partitions": some} for name, some in topics.items()]
        state = {"transactional_id": transactional_id, "transaction_state": "Ongoing", "topics": entries}
        return messages.build("DescribeTransactionsResponse", {"transaction_states": [state]})

    def wanted(transactional_id: str) -> Any:
        return messages.build("DescribeTransactionsRequest", {"transactional_ids": [transactional_id]})

    assert (
        stage.play()
        >> client_sends(wanted("txn"), 0)
        << to_broker(wanted(TXN))
        >> broker_answers(shown(TXN, **{ORDERS: [1, 0], BILLING: [7]}))
        << to_client(shown("txn", orders=[0, 1, 2, 3, 4], billing=[7]))
    )
