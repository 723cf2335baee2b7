from typing import Any

import pytest

from bifrost.filters.virtual.offset_group_names import group_places
from bifrost.tenancy.virtual_partitions.offset_groups import offset_group
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.wire.entity import Entity
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import SERVED, entities_of, served_versions
from bifrost.wire.schema import request_schema
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage

CODE = int(ErrorCode.INVALID_GROUP_ID)
APP = physical_name("acme", "app")
OWNER = offset_group("app", APP, PartitionGroup(1))


def heartbeat(group: str) -> Any:
    return messages.build("HeartbeatRequest", {"group_id": group, "generation_id": 1, "member_id": "m"})


def test_no_request_names_an_offset_group(stage: Stage) -> None:
    divided(stage, "orders")
    told = messages.build(
        "DescribeGroupsResponse",
        {"groups": [{"group_id": one, "error_code": CODE} for one in ("app", OWNER)]},
    )
    book = (
        stage.play()
        >> client_sends(heartbeat(OWNER), 3)
        << to_client(messages.build("HeartbeatResponse", {"error_code": CODE}))
        >> client_sends(heartbeat(OWNER), 4)
        << to_client(messages.build("HeartbeatResponse", {"error_code": CODE}))
    )
    asked = messages.build("DescribeGroupsRequest", {"groups": ["app", OWNER]})
    assert book >> client_sends(asked, 4) << to_client(told)


def test_names_like_those_of_offset_groups_are_the_client_s(stage: Stage) -> None:
    divided(stage, "orders")
    similar = OWNER[:-1] + ("a" if OWNER[-1] != "a" else "b")

    assert (
        stage.play()
        >> client_sends(heartbeat(similar), 3)
        << to_broker(heartbeat(physical_name("acme", similar)))
        >> broker_answers(messages.build("HeartbeatResponse", {}))
        << to_client(messages.build("HeartbeatResponse", {}))
    )


def test_tenants_without_virtual_partitions_may_have_such_names(stage: Stage) -> None:
    assert (
        stage.play()
        >> client_sends(heartbeat(OWNER), 3)
        << to_broker(heartbeat(physical_name("acme", OWNER)))
        >> broker_answers(messages.build("HeartbeatResponse", {}))
        << to_client(messages.build("HeartbeatResponse", {}))
    )


@pytest.mark.parametrize("api_key", sorted(SERVED))
def test_every_place_of_a_group_is_known(api_key: int) -> None:
    versions = served_versions(api_key)
    assert versions is not None
    name = request_schema(api_key).name
    for version in range(versions.low, versions.high + 1):
        groups = [one for one in entities_of(name, version).values() if one == Entity.GROUP_ID]
        assert len(group_places(name, version)) == len(groups)
