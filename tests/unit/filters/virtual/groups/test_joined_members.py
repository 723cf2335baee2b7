from typing import Any

import pytest

from bifrost.filters.api_versions import offered_versions
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.divided import divided
from support.stage.playbook import broker_answers, client_sends, to_broker, to_client
from support.stage.stage import Stage, broker_versions

APP = physical_name("acme", "app")
REFUSED = int(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
ASKS = messages.build("ConsumerGroupDescribeRequest", {"group_ids": [APP]})


def join(group: str, protocol_type: str = "consumer") -> Any:
    fields = {"group_id": group, "member_id": "m", "protocol_type": protocol_type, "protocols": []}
    return messages.build("JoinGroupRequest", fields)


def joined(**fields: Any) -> Any:
    known = {"generation_id": 3, "protocol_type": "consumer", "protocol_name": "range", "leader": "m"}
    return messages.build("JoinGroupResponse", {**known, "member_id": "m", **fields})


def state(name: str, error_code: int = 0) -> Any:
    group = {"group_id": APP, "group_state": name, "error_code": error_code}
    return messages.build("ConsumerGroupDescribeResponse", {"groups": [group]})


@pytest.mark.parametrize("answer", [state("", 69), state("Empty"), state("", 35)])
def test_a_member_of_the_classic_protocol_joins_others_of_its_kind(stage: Stage, answer: Any) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(join("app"), 7)
        << to_broker(ASKS)
        >> broker_answers(answer)
        << to_broker(join(APP))
        >> broker_answers(joined())
        << to_client(joined())
    )


@pytest.mark.parametrize(("answer", "code"), [(state("Stable"), REFUSED), (state("", 16), 16)])
def test_beside_members_of_the_newer_protocol_it_is_refused(stage: Stage, answer: Any, code: int) -> None:
    divided(stage, "orders")
    refused = {"generation_id": -1, "protocol_type": None, "protocol_name": None, "error_code": code}

    assert (
        stage.play()
        >> client_sends(join("app"), 7)
        << to_broker(ASKS)
        >> broker_answers(answer)
        << to_client(messages.build("JoinGroupResponse", refused))
    )


def test_it_gets_no_partitions_of_a_group_that_has_changed_since_then(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(join("app"), 7)
        << to_broker(ASKS)
        >> broker_answers(state("Empty"))
        << to_broker(join(APP))
        >> broker_answers(joined(leader=""))
        << to_client(joined(leader="", generation_id=-1, member_id="", error_code=REFUSED))
    )


def test_members_of_other_kinds_join_as_ever(stage: Stage) -> None:
    divided(stage, "orders")

    assert (
        stage.play()
        >> client_sends(join("app", "connect"), 7)
        << to_broker(join(APP, "connect"))
        >> broker_answers(joined(protocol_type="connect", leader=""))
        << to_client(joined(protocol_type="connect", leader=""))
    )


def test_a_broker_without_such_groups_is_not_asked(stage: Stage) -> None:
    stage.versions = offered_versions(broker_versions(ConsumerGroupDescribe=(9, 9)))
    divided(stage, "orders")

    assert stage.play() >> client_sends(join("app"), 7) << to_broker(join(APP))
