"""A tenant whose ACLs a broker with StandardAuthorizer keeps: CreateAcls, DescribeAcls and DeleteAcls by its names.

Alice is the account of the tenant's admin, carol that of its clerk; bob belongs to another tenant.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    CreateAclsRequest,
    CreateTopicsRequest,
    DeleteAclsRequest,
    DeleteTopicsRequest,
    DescribeAclsRequest,
)
from support.brokers.secure_kafka import SecureKafka
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import PRODUCE_BY_NAME, produce_request, recreate_topic
from support.clients.record_batches import build_batch
from support.gateways.secured_gateway import SecuredGateway, StartSecured, account
from support.physical_names import MARK, physical_name, prefix_of

pytestmark = pytest.mark.timeout(120)

DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
NO_WRITE = ErrorCode.TOPIC_AUTHORIZATION_FAILED
LITERAL, PREFIXED = 3, 4
ALTER, CREATE, DESCRIBE, WRITE, READ = 7, 5, 8, 4, 3
WITHIN_S = 30
EVERY: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


def creation(kind: int, name: str, user: str, operation: int, **more: Any) -> Any:
    fields = {
        "resource_type": kind,
        "resource_name": name,
        "resource_pattern_type": LITERAL,
        "principal": f"User:{user}",
        "host": "*",
        "operation": operation,
        "permission_type": 3,
    }
    return CreateAclsRequest.AclCreation(**fields | more)


def create(client: RawClient, *creations: Any) -> list[int]:
    return [one.error_code for one in client.request(CreateAclsRequest(creations=list(creations)), 3).results]


def listed(client: RawClient, **fields: Any) -> set[tuple[int, int, str, str, int]]:
    """Return type, pattern, name, principal and operation of each ACL that is told."""
    answer = client.request(DescribeAclsRequest(**EVERY | fields), 3)
    assert answer.error_code == ErrorCode.NONE, answer
    return {
        (one.resource_type, one.pattern_type, one.resource_name, acl.principal, acl.operation)
        for one in answer.resources
        for acl in one.acls
    }


def adjust(configuration: dict[str, Any]) -> None:
    acme = configuration["tenants"][0]
    acme["acls"] = {"mode": "broker"}
    acme["auth"]["credentials"][0]["upstream_sasl"] = account("alice")


def start(start_secured: StartSecured, **acls: int) -> SecuredGateway:
    def adjusted(configuration: dict[str, Any]) -> None:
        adjust(configuration)
        configuration["tenants"][0]["acls"] |= acls

    return start_secured(
        "SASL",
        {"security_protocol": "SASL_PLAINTEXT", "sasl": account("gateway")},
        accounts={"clerk": account("carol")},
        users={"acme": ["clerk"]},
        adjust=adjusted,
    )


@pytest.fixture
def gateway(secure_kafka: SecureKafka, start_secured: StartSecured) -> SecuredGateway:
    with secure_kafka.admin() as admin:
        recreate_topic(admin, physical_name("acme", "orders"))
        cluster = [creation(4, "kafka-cluster", "alice", one) for one in (ALTER, DESCRIBE)]
        assert create(admin, *cluster) == [0, 0]
    return start(start_secured)


@pytest.fixture
def admin(gateway: SecuredGateway) -> Iterator[RawClient]:
    with RawClient.authenticated(gateway.broker_endpoint("acme"), never_receives=(MARK.encode(),)) as client:
        yield client


@pytest.fixture
def clerk(gateway: SecuredGateway) -> Iterator[RawClient]:
    whole = gateway.broker_endpoint("acme")
    endpoint = Endpoint(whole.host, whole.port, "clerk", "clerk-pw")
    with RawClient.authenticated(endpoint, never_receives=(MARK.encode(),)) as client:
        yield client


def await_write(client: RawClient, expected: ErrorCode) -> None:
    """Wait until the broker decides so about a record of the clerk's: it hears of ACLs a moment later."""
    ends = time.monotonic() + WITHIN_S
    while True:
        response = client.request(produce_request("orders", build_batch([b"one"])), PRODUCE_BY_NAME)
        found = response.responses[0].partition_responses[0].error_code
        if found == expected:
            return
        assert time.monotonic() < ends, found
        time.sleep(0.1)


def test_acls_are_kept_and_decided_by_the_broker_in_the_tenant_s_names(
    secure_kafka: SecureKafka, admin: RawClient, clerk: RawClient
) -> None:
    await_write(clerk, NO_WRITE)
    base = {(kind, LITERAL, "*", "User:acme", 2) for kind in (2, 3, 5)}
    assert listed(admin) == base
    with secure_kafka.admin() as direct:
        before = listed(direct)

    assert create(admin, creation(2, "orders", "clerk", WRITE)) == [0]
    await_write(clerk, ErrorCode.NONE)
    assert create(admin, creation(3, "*", "clerk", READ)) == [0]
    more = {(2, LITERAL, "orders", "User:clerk", WRITE), (3, LITERAL, "*", "User:clerk", READ)}
    there = {
        (2, LITERAL, physical_name("acme", "orders"), "User:carol", WRITE),
        (3, PREFIXED, prefix_of("acme"), "User:carol", READ),
    }
    assert listed(admin) == base | more
    assert listed(admin, principal_filter="User:clerk", resource_type_filter=3) == {max(more)}
    matching = {"resource_type_filter": 2, "resource_name_filter": "orders", "pattern_type_filter": 2}
    assert listed(admin, **matching) == {min(more), (2, LITERAL, "*", "User:acme", 2)}
    with secure_kafka.admin() as direct:
        assert listed(direct) == before | there

    of_orders = EVERY | {
        "resource_type_filter": 2,
        "resource_name_filter": "orders",
        "pattern_type_filter": 3,
    }
    request = DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter(**of_orders)])
    (result,) = admin.request(request, 3).filter_results
    assert [(one.resource_name, one.principal) for one in result.matching_acls] == [("orders", "User:clerk")]
    await_write(clerk, NO_WRITE)
    of_groups = EVERY | {"resource_type_filter": 3, "resource_name_filter": "*", "pattern_type_filter": 3}
    of_groups["principal_filter"] = "User:clerk"
    request = DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter(**of_groups)])
    assert admin.request(request, 3).filter_results[0].error_code == 0
    with secure_kafka.admin() as direct:
        assert listed(direct) == before


def test_what_is_not_the_tenant_s_cannot_be_seen_or_changed(
    secure_kafka: SecureKafka, admin: RawClient, clerk: RawClient
) -> None:
    with secure_kafka.admin() as direct:
        before = listed(direct)

    refused = [
        creation(4, "kafka-cluster", "clerk", ALTER),
        creation(2, "orders", "bob", READ),
        creation(2, "orders", "carol", READ),
        creation(2, "orders", "*", READ),
        creation(2, "orders", "clerk", READ, host="127.0.0.1"),
        creation(2, "-", "clerk", READ, resource_pattern_type=PREFIXED),
    ]
    assert create(admin, *refused) == [ErrorCode.INVALID_REQUEST] * len(refused)
    assert create(clerk, creation(2, "orders", "clerk", WRITE)) == [DENIED]
    assert clerk.request(DescribeAclsRequest(**EVERY), 3).error_code == DENIED
    filters = [
        EVERY,
        EVERY | {"resource_name_filter": "orders", "pattern_type_filter": 2},
        EVERY | {"resource_name_filter": "orders", "principal_filter": "User:bob"},
        EVERY | {"resource_name_filter": physical_name("globex", ""), "principal_filter": None},
        EVERY | {"resource_type_filter": 4, "resource_name_filter": "kafka-cluster"},
    ]
    request = DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter(**one) for one in filters])
    results = admin.request(request, 3).filter_results
    assert [(one.error_code, one.matching_acls) for one in results] == [
        (ErrorCode.INVALID_REQUEST, []),
        (ErrorCode.INVALID_REQUEST, []),
        (0, []),
        (0, []),
        (0, []),
    ]
    with secure_kafka.admin() as direct:
        assert listed(direct) == before


def test_an_admin_client_works_unchanged(gateway: SecuredGateway) -> None:
    client = AdminClient(gateway.endpoint("acme").for_confluent)
    rule = (ResourcePatternType.PREFIXED, "User:clerk", "*", AclOperation.READ, AclPermissionType.ALLOW)
    acl = AclBinding(ResourceType.TOPIC, "reports-", *rule)

    client.create_acls([acl])[acl].result(30)
    ends = time.monotonic() + WITHIN_S
    wanted = AclBindingFilter(ResourceType.TOPIC, "reports-", *rule)
    while client.describe_acls(wanted).result(30) != [acl]:
        assert time.monotonic() < ends
        time.sleep(0.1)

    assert client.delete_acls([wanted])[wanted].result(30) == [acl]


def test_creation_on_every_topic_of_the_tenant_stands_for_creation_on_the_cluster(
    secure_kafka: SecureKafka, admin: RawClient, clerk: RawClient
) -> None:
    name = "audit.log"  # One of those that the tenant may have, and that no other test makes here.
    new = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[new], timeout_ms=20_000)
    assert create(admin, creation(4, "kafka-cluster", "clerk", CREATE)) == [ErrorCode.INVALID_REQUEST]
    assert clerk.request(request, 7).topics[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED

    assert create(admin, creation(2, "*", "clerk", CREATE)) == [0]
    ends = time.monotonic() + WITHIN_S
    while (found := clerk.request(request, 7).topics[0].error_code) != ErrorCode.NONE:
        assert found == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert time.monotonic() < ends
        time.sleep(0.1)

    every = {"resource_type_filter": 2, "resource_name_filter": "*", "pattern_type_filter": LITERAL}
    told = admin.request(
        DeleteAclsRequest(
            filters=[DeleteAclsRequest.DeleteAclsFilter(**EVERY | every | {"principal_filter": "User:clerk"})]
        ),
        3,
    )
    assert [one.error_code for one in told.filter_results[0].matching_acls] == [0]
    with secure_kafka.admin() as direct:
        direct.request(DeleteTopicsRequest(topic_names=[physical_name("acme", name)], timeout_ms=20_000), 5)


def test_a_tenant_has_no_more_acls_at_the_brokers_than_it_may_have(
    admin: RawClient, start_secured: StartSecured
) -> None:
    policy, before = ErrorCode.POLICY_VIOLATION, listed(admin)
    new = [creation(2, f"limited-{number}", "clerk", READ) for number in range(3)]
    bounded = start(start_secured, max_stored=len(before) + 2)
    with RawClient.authenticated(bounded.broker_endpoint("acme"), never_receives=(MARK.encode(),)) as client:
        assert create(client, *new) == [0, 0, policy]
        wanted = before | {(2, LITERAL, f"limited-{number}", "User:clerk", READ) for number in range(2)}
        while listed(client) != wanted:
            time.sleep(0.1)
        assert create(client, new[0], new[2]) == [0, policy], "one is there already"
        one = {"resource_type_filter": 2, "resource_name_filter": "limited-0", "pattern_type_filter": LITERAL}
        client.request(DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter(**EVERY | one)]), 3)
        while len(listed(client)) != len(before) + 1:
            time.sleep(0.1)
        assert create(client, new[2]) == [0]
        for number in (1, 2):
            one["resource_name_filter"] = f"limited-{number}"
            client.request(DeleteAclsRequest(filters=[DeleteAclsRequest.DeleteAclsFilter(**EVERY | one)]), 3)
