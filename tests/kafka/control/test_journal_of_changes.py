"""What clients and admins change of namespaces, ACLs and quotas is in the journal, on a real Kafka."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.acls.acl_binding import Operation, PatternType, Permission, ResourceType
from bifrost.wire.messages import AlterClientQuotasRequest, CreateAclsRequest, DeleteAclsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.control.control_process import ControlProcess
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.journal.journal_reader import Record, await_journal, events

pytestmark = pytest.mark.timeout(240)

TENANT = f"t{time.time_ns()}"
NAME = f"changes-{time.time_ns()}"
ACL = {
    "resource_type": "TOPIC",
    "pattern_type": "LITERAL",
    "principal": "User:bob",
    "host": "*",
    "operation": "READ",
    "permission": "ALLOW",
}


@pytest.fixture
def state_topic() -> str:
    return f"__state-{time.time_ns()}"


@pytest.fixture
def gateway(kafka: EmbeddedKafka, tmp_path: Path, state_topic: str) -> Iterator[GatewayProcess]:
    """A gateway whose tenant has ACLs and may set quotas, with a journal."""

    def adjust(configuration: dict[str, Any]) -> None:
        configuration["tenants"][0]["acls"] = {"super_users": [f"User:{TENANT}"]}

    journal = {"gateway_id": NAME, "interval_ms": 300, "partitions": 3}
    (tmp_path / "gateway").mkdir()
    with GatewayProcess(
        tmp_path / "gateway",
        kafka.bootstrap,
        tenants=(TenantSpec(TENANT, allow_quota_changes=True),),
        adjust=adjust,
        proxy={"state": {"topic": state_topic}, "journal": journal},
    ) as process:
        yield process


def ask(client: RawClient) -> None:
    """Set a quota, and create and delete an ACL."""
    quotas = AlterClientQuotasRequest
    entry = quotas.EntryData(
        entity=[quotas.EntityData(entity_type="user", entity_name="bob")],
        ops=[quotas.OpData(key="producer_byte_rate", value=1024.0, remove=False)],
    )
    assert client.request(quotas(entries=[entry], validate_only=False), 1).entries[0].error_code == 0
    creation = CreateAclsRequest.AclCreation(
        resource_type=ResourceType.TOPIC,
        resource_name="orders",
        resource_pattern_type=PatternType.LITERAL,
        principal="User:bob",
        host="*",
        operation=Operation.READ,
        permission_type=Permission.ALLOW,
    )
    assert client.request(CreateAclsRequest(creations=[creation]), 3).results[0].error_code == 0
    wanted = DeleteAclsRequest.DeleteAclsFilter(
        resource_type_filter=ResourceType.ANY,
        resource_name_filter="orders",
        pattern_type_filter=PatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=Operation.ANY,
        permission_type=Permission.ANY,
    )
    answer = client.request(DeleteAclsRequest(filters=[wanted]), 3)
    assert len(answer.filter_results[0].matching_acls) == 1


def test_changes_of_clients_are_events_of_their_gateway(gateway: GatewayProcess, broker: Endpoint) -> None:
    with RawClient.authenticated(gateway.broker_endpoint(TENANT)) as client:
        ask(client)

    records = await_journal(broker, NAME, lambda found: len(events(found, "admin")) == 3)

    quota, created, deleted = sorted(
        events(records, "admin"), key=lambda one: (one["resource_type"] != "quota", one["api"])
    )
    who = {"principal": f"User:{TENANT}", "namespace": TENANT, "outcome": "success", "error_code": "NONE"}
    assert (
        quota.items()
        >= (who | {"resource_name": "user=bob", "after": {"producer_byte_rate": "1024"}}).items()
    )
    assert created.items() >= (who | {"api": "CreateAcls", "resource_name": "orders", "after": ACL}).items()
    assert deleted.items() >= (who | {"api": "DeleteAcls", "resource_name": "orders", "before": ACL}).items()
    assert "physical_name" not in quota | created | deleted


def test_changes_of_admins_are_events_of_the_control_process(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path: Path, state_topic: str
) -> None:
    journal = {"journal": {"interval_ms": 300, "partitions": 3}}
    path = f"{TENANT}:eu"
    with ControlProcess(
        tmp_path, kafka.bootstrap, state_topic, tenants=[{"name": TENANT}], proxy=journal
    ) as control:
        control.ask("POST", "/v1/namespaces", {"name": path})
        acl = ACL | {"name": "orders"}
        control.ask("POST", "/v1/acls", {"namespace": path, "acls": [acl]})
        values = {"entity": {"user": "bob"}, "values": {"producer_byte_rate": 1024}}
        control.ask("POST", "/v1/quotas", {"namespace": path, "alterations": [values]})
        refused = control.ask("POST", "/v1/namespaces", {"name": path})
        assert control.ask("DELETE", f"/v1/namespaces/{path}").status == 200
    assert refused.status == 409

    records = [one for one in await_journal(broker, "control", of_tenant) if one.get("tenant") == TENANT]

    assert {one["gateway_id"].rpartition("/")[0] for one in records} == {f"control/{socket.gethostname()}"}
    assert [one["sequence"] for one in sorted(records, key=sequence)] == list(range(6))
    found = [one["event"] for one in sorted(records, key=sequence)]
    assert {(one["principal"], one["outcome"]) for one in found} == {("Admin:alice", "success")}
    assert [(one["resource_type"], one["resource_name"], "after" in one) for one in found] == [
        ("namespace", path, False),
        ("acl", "eu:orders", True),
        ("quota", "user=bob", True),
        ("namespace", path, False),
        ("quota", "user=bob", False),
        ("acl", "eu:orders", False),
    ]
    assert found[1]["after"] == found[5]["before"] == ACL
    assert found[2]["after"] == found[4]["before"] == {"producer_byte_rate": "1024"}
    assert (found[2]["namespace"], found[1]["namespace"]) == (path, TENANT)


def sequence(record: Record) -> int:
    return int(record["sequence"])


def of_tenant(records: list[Record]) -> bool:
    return sum(one.get("tenant") == TENANT for one in records) == 6
