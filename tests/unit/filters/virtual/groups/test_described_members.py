from typing import Any

import pytest

from bifrost.filters.virtual.groups import described_members
from bifrost.filters.virtual.groups.described_members import TOO_MANY
from bifrost.filters.virtual.shown_partitions import LIMIT
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import FIVE_ON_TWO, divided, hits_of
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

APP, ORDERS = physical_name("acme", "app"), physical_name("acme", "orders")
ID = bytes(15) + b"\7"


def group(group_id: str, topic: str, host: str, *members: tuple[list[int], list[int]]) -> dict[str, Any]:
    def assignment(some: list[int]) -> Any:
        return {"topic_partitions": [{"topic_id": ID, "topic_name": topic, "partitions": some}]}

    described = [
        {
            "member_id": f"m{number}",
            "client_host": host,
            "assignment": assignment(has),
            "target_assignment": assignment(shall_have),
        }
        for number, (has, shall_have) in enumerate(members)
    ]
    return {"group_id": group_id, "group_state": "Stable", "members": described}


def answer(*groups: dict[str, Any]) -> Any:
    return messages.build("ConsumerGroupDescribeResponse", {"groups": list(groups)})


ASKED = messages.build("ConsumerGroupDescribeRequest", {"group_ids": ["app"]})
AT_BROKER = messages.build("ConsumerGroupDescribeRequest", {"group_ids": [APP]})
HOSTS = "/127.0.0.1", "/proxy.example.com"


@pytest.mark.parametrize(
    ("partitions", "shown"),
    [
        (FIVE_ON_TWO, (([0, 2, 4], []), ([1, 3], [0, 2, 4, 1, 3]))),
        (PartitionMap.of_ratio(2), (([0, 1], []), ([2, 3], [0, 1, 2, 3]))),
    ],
)
def test_members_have_virtual_partitions(stage: Stage, partitions: PartitionMap, shown: Any) -> None:
    divided(stage, "orders", partitions=partitions)
    book = stage.play() >> client_sends(ASKED) << to_broker(AT_BROKER)
    book = book >> broker_answers(answer(group(APP, ORDERS, HOSTS[0], ([0], []), ([1], [0, 1]))))

    assert book << to_client(answer(group("app", "orders", HOSTS[1], *shown)))


@pytest.mark.parametrize(("most", "fits"), [(5, True), (4, False)])
def test_a_group_that_does_not_fit_into_the_answer_is_refused(
    stage: Stage, monkeypatch: pytest.MonkeyPatch, most: int, fits: bool
) -> None:
    monkeypatch.setattr(described_members, "MAX_SHOWN", most)
    divided(stage, "orders")
    refused = {"members": [], "error_code": int(ErrorCode.INVALID_REQUEST), "error_message": TOO_MANY}
    whole = group("app", "orders", HOSTS[1], ([0, 2, 4], []), ([1, 3], []))
    book = stage.play() >> client_sends(ASKED) << to_broker(AT_BROKER)
    book = book >> broker_answers(answer(group(APP, ORDERS, HOSTS[0], ([0], []), ([1], []))))

    assert book << to_client(answer(whole if fits else whole | refused))
    assert hits_of(stage)[LIMIT, "acme"] == (0 if fits else 1)
