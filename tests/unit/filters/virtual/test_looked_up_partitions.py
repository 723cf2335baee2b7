from typing import Any

from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS = physical_name("acme", "orders")


def test_epochs_end_where_they_do_in_the_physical_partition(stage: Stage) -> None:
    divided(stage, "orders")

    def asked(name: str, *partitions: int) -> Any:
        some = [{"partition": one, "leader_epoch": 3} for one in partitions]
        return messages.build(
            "OffsetForLeaderEpochRequest", {"replica_id": -1, "topics": [{"topic": name, "partitions": some}]}
        )

    def told(name: str, *partitions: int) -> Any:
        some = [{"partition": one, "leader_epoch": 3, "end_offset": 70} for one in partitions]
        return messages.build(
            "OffsetForLeaderEpochResponse", {"topics": [{"topic": name, "partitions": some}]}
        )

    assert (
        stage.play()
        >> client_sends(asked("orders", 1, 4), 4)
        << to_broker(asked(ORDERS, 1, 0))
        >> broker_answers(told(ORDERS, 1, 0))
        << to_client(told("orders", 1, 4))
    )


def test_producers_are_shown_to_their_own_virtual_partition(stage: Stage) -> None:
    divided(stage, "orders")

    def asked(name: str, *partitions: int) -> Any:
        topics = [{"name": name, "partition_indexes": list(partitions)}]
        return messages.build("DescribeProducersRequest", {"topics": topics})

    def told(name: str, **producers: list[int]) -> Any:
        some = [
            {
                "partition_index": int(one[1:]),
                "active_producers": [
                    {"producer_id": two, "coordinator_epoch": 0 if two == 12 else -1, "last_sequence": 3}
                    for two in ids
                ],
            }
            for one, ids in producers.items()
        ]
        return messages.build("DescribeProducersResponse", {"topics": [{"name": name, "partitions": some}]})

    # The last one has transactions, of which no producer ID says where they write.
    stored = [7, 8 + (1 << 40), 9 + (2 << 40), 10 + (2 << 40), 12]
    assert (
        stage.play()
        >> client_sends(asked("orders", 0, 4), 0)
        << to_broker(asked(ORDERS, 0))
        << to_broker(asked(ORDERS, 0))
        >> broker_answers(told(ORDERS, p0=stored))
        >> broker_answers(told(ORDERS, p0=stored))
        << to_client(told("orders", p0=[7, 12], p4=[9, 10, 12]))
    )
