from typing import Any

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")


def test_log_directories_have_physical_partitions(stage: Stage) -> None:
    divided(stage, "orders")

    def asked(**topics: list[int]) -> Any:
        entries = [{"topic": name, "partitions": some} for name, some in topics.items()]
        return messages.build("DescribeLogDirsRequest", {"topics": entries})

    assert (
        stage.play()
        >> client_sends(asked(orders=[4, 0, 3, 2, 7], billing=[9]), 4)
        << to_broker(asked(**{ORDERS: [0, 1], BILLING: [9]}))
    )


def test_with_a_ratio_they_are_called_as_clients_do(stage: Stage) -> None:
    divided(stage, "orders", partitions=PartitionMap.of_ratio(3))

    def asked(**topics: list[int]) -> Any:
        entries = [{"topic": name, "partitions": some} for name, some in topics.items()]
        return messages.build("DescribeLogDirsRequest", {"topics": entries})

    def told(log_dir: str, **topics: list[int]) -> Any:
        entries = [
            {"name": name, "partitions": [{"partition_index": one, "partition_size": 9} for one in some]}
            for name, some in topics.items()
        ]
        directory = {"log_dir": log_dir, "topics": entries, "total_bytes": -1, "usable_bytes": -1}
        return messages.build("DescribeLogDirsResponse", {"results": [directory]})

    assert (
        stage.play()
        >> client_sends(asked(orders=[4, 5, 0], billing=[9]), 4)
        << to_broker(asked(**{ORDERS: [0, 1], BILLING: [9]}))
        >> broker_answers(told("/data", **{ORDERS: [0, 1], BILLING: [9]}))
        << to_client(told("/log-dir-9d924cca", billing=[9], orders=[0, 3]))
    )
