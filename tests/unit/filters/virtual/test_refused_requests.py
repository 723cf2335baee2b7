from typing import Any

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

ORDERS, BILLING = physical_name("acme", "orders"), physical_name("acme", "billing")
REFUSED = "A tenant with virtual partitions has no streams groups"


def test_streams_groups_are_refused(stage: Stage) -> None:
    divided(stage, "orders")
    request = messages.build("StreamsGroupHeartbeatRequest", {"group_id": "app", "member_id": "m"})
    expected: Any = messages.build(
        "StreamsGroupHeartbeatResponse",
        {"error_code": int(ErrorCode.UNSUPPORTED_VERSION), "error_message": REFUSED},
    )
    expected.member_epoch = expected.heartbeat_interval_ms = 0

    assert stage.play() >> client_sends(request) << to_client(expected)


def test_other_tenants_have_such_groups(stage: Stage) -> None:
    divided(stage, "orders", tenant="globex")
    request = messages.build("StreamsGroupHeartbeatRequest", {"group_id": "app", "member_id": "m"})
    book = stage.play() >> client_sends(request)

    assert book << to_broker(
        messages.build(
            "StreamsGroupHeartbeatRequest", {"group_id": physical_name("acme", "app"), "member_id": "m"}
        )
    )


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
