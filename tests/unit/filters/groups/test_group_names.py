"""Groups whose names a policy of their namespace does not allow."""

from collections import Counter
from typing import Any

import pytest

from bifrost.config.policies.namespace_policy import NamespacePolicy
from bifrost.tenancy.policies.namespace_policies import NamespacePolicies
from bifrost.tenancy.policies.namespace_rules import NamespaceRules
from bifrost.wire.error_codes import ErrorCode
from support.physical_names import physical_name
from support.stage import messages
from support.stage.playbook import Playbook, client_sends, to_broker, to_client
from support.stage.stage import Stage

VIOLATION = ErrorCode.POLICY_VIOLATION
TEXT = "Policy group_names of namespace initech allows group names that match team-*, not readers"


@pytest.fixture
def book(stage: Stage) -> Playbook:
    namespace = stage.namespaces["initech"]
    policies = NamespacePolicies()
    policies.configure({("initech",): NamespacePolicy(group_names=("team-*",))})
    namespace.rules = NamespaceRules(namespace.names, policies, Counter())
    return stage.play("initech")


def join(group_id: str) -> Any:
    return messages.build("JoinGroupRequest", {"group_id": group_id, "protocol_type": "x", "member_id": "m"})


def heartbeat(group_id: str, member_epoch: int = 0, kind: str = "ConsumerGroup") -> Any:
    fields = {"group_id": group_id, "member_id": "m", "member_epoch": member_epoch}
    return messages.build(f"{kind}HeartbeatRequest", fields)


def commit(group_id: str, kind: str = "OffsetCommit") -> Any:
    topics = [{"name": "orders", "partitions": [{"partition_index": 1, "committed_offset": 7}]}]
    return messages.build(f"{kind}Request", {"group_id": group_id, "topics": topics})


@pytest.mark.parametrize("version", [0, 5, 9])
def test_no_member_joins_a_group_that_may_not_have_its_name(book: Playbook, version: int) -> None:
    protocol_name = None if version >= 7 else ""
    refused = {"error_code": VIOLATION, "protocol_name": protocol_name}

    assert (
        book
        >> client_sends(join("readers"), version)
        << to_client(messages.build("JoinGroupResponse", refused))
    )


def test_members_join_other_groups(book: Playbook) -> None:
    assert book >> client_sends(join("team-a"), 9) << to_broker(join(physical_name("initech", "team-a")))


@pytest.mark.parametrize(("kind", "version"), [("ConsumerGroup", 1), ("ShareGroup", 1), ("StreamsGroup", 0)])
def test_a_newer_group_gets_the_reason_when_a_member_joins(book: Playbook, kind: str, version: int) -> None:
    answer = messages.build(f"{kind}HeartbeatResponse", {"error_code": VIOLATION, "error_message": TEXT})

    assert book >> client_sends(heartbeat("readers", kind=kind), version) << to_client(answer)


def test_a_member_that_is_in_the_group_stays(book: Playbook) -> None:
    physical = physical_name("initech", "readers")

    assert (
        book
        >> client_sends(heartbeat("readers", member_epoch=3), 0)
        << to_broker(heartbeat(physical, member_epoch=3))
    )


@pytest.mark.parametrize("kind", ["OffsetCommit", "TxnOffsetCommit"])
def test_no_offset_is_committed_for_it(book: Playbook, kind: str) -> None:
    partition = {"partition_index": 1, "error_code": VIOLATION}
    answer = messages.build(f"{kind}Response", {"topics": [{"name": "orders", "partitions": [partition]}]})

    assert book >> client_sends(commit("readers", kind), 3) << to_client(answer)


def test_the_engine_passes_an_allowed_group_and_asks_about_a_refused_one_each_time(
    stage: Stage, book: Playbook
) -> None:
    namespace = stage.namespaces["initech"]
    group = 2

    assert namespace.to_physical.missing(group, b"team-a") == physical_name("initech", "team-a").encode()
    for _ in range(2):
        assert namespace.to_physical.missing(group, b"readers") is None
        assert namespace.physical(group, b"readers") == physical_name("initech", "readers").encode()
