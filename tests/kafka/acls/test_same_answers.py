"""The same principals with the same ACLs get the same answers from a broker with an authorizer and from the gateway.

Every API that ACLs decide about, in every version, item by item: what is compared are the error codes with the names
that they stand beside, and which things are listed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from acl_requests import EXISTING, REQUESTS
from group_acl_requests import (
    GROUP_REQUESTS,
    MEMBER_ID,
    begin_sharing,
    make_streams_group,
    share_session,
    streams_heartbeat,
)

from bifrost.tenancy.acls.access import ACCESS, DENIED_CODES
from bifrost.tenancy.acls.acl_binding import Operation, PatternType, Permission, ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import served_versions
from bifrost.wire.message import Struct
from bifrost.wire.messages import CreateAclsRequest, MetadataRequest
from bifrost.wire.schema import request_schema
from support.brokers.secure_kafka import USERS, SecureKafka
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic, topic_id_of, warm_up
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import GatewayProcess, TenantSpec
from support.physical_names import physical_name

PEOPLE = ("alice", "bob", "carol")
RULES = [
    # principal, operation, resource type, name, pattern type, permission
    ("alice", "READ", "TOPIC", "orders", "LITERAL", "ALLOW"),
    ("alice", "WRITE", "TOPIC", "out", "PREFIXED", "ALLOW"),
    ("alice", "DESCRIBE", "TOPIC", "seen", "LITERAL", "ALLOW"),
    ("alice", "DESCRIBE", "TOPIC", "seen-", "PREFIXED", "ALLOW"),
    ("alice", "ALL", "TOPIC", "own-", "PREFIXED", "ALLOW"),
    ("alice", "READ", "TOPIC", "own-secret", "LITERAL", "DENY"),
    ("alice", "WRITE", "TOPIC", "own-secret", "LITERAL", "DENY"),
    ("alice", "READ", "GROUP", "readers", "LITERAL", "ALLOW"),
    ("alice", "READ", "GROUP", "new-readers", "LITERAL", "ALLOW"),
    ("alice", "ALL", "GROUP", "own-", "PREFIXED", "ALLOW"),
    ("alice", "WRITE", "TRANSACTIONAL_ID", "tx", "LITERAL", "ALLOW"),
    ("alice", "DESCRIBE", "TRANSACTIONAL_ID", "own-tx", "LITERAL", "ALLOW"),
    ("carol", "ALL", "TOPIC", "*", "LITERAL", "ALLOW"),
    ("carol", "ALL", "GROUP", "*", "LITERAL", "ALLOW"),
    ("carol", "ALL", "TRANSACTIONAL_ID", "*", "LITERAL", "ALLOW"),
    ("carol", "DESCRIBE_CONFIGS", "TOPIC", "seen", "LITERAL", "DENY"),
    ("carol", "ALL", "CLUSTER", "kafka-cluster", "LITERAL", "ALLOW"),
]
"""bob has none: he may do nothing."""

NOT_COMPARED = {
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.ALTER_CLIENT_QUOTAS,
}
"""Without items of the tenant's, or with things of the cluster that only a broker shows, or answered here."""

KEYS = (
    "name",
    "topic",
    "topic_name",
    "group_id",
    "key",
    "transactional_id",
    "partition_index",
    "index",
    "partition",
    "resource_name",
)
CODES = ("error_code", "partition_error_code", "acknowledge_error_code", "topic_config_error_code")


@pytest.fixture(scope="module")
def secure_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    directory = tmp_path_factory.mktemp("certificates")
    with SecureKafka(directory, properties={"auto.create.topics.enable": "false"}) as kafka:
        with RoutedClient(Endpoint("127.0.0.1", kafka.broker_port(1))) as client:
            warm_up(client)
        with kafka.admin() as admin:
            for name in EXISTING:
                create_topic(admin, name)
                create_topic(admin, physical_name("acme", name))
            creations = [_creation(*rule) for rule in RULES]
            response = admin.request(CreateAclsRequest(creations=creations), 3)
            assert {one.error_code for one in response.results} == {0}, response
        yield kafka


def _creation(principal: str, operation: str, kind: str, name: str, pattern: str, permission: str) -> Any:
    return CreateAclsRequest.AclCreation(
        resource_type=ResourceType[kind],
        resource_name=name,
        resource_pattern_type=PatternType[pattern],
        principal=f"User:{principal}",
        host="*",
        operation=Operation[operation],
        permission_type=Permission[permission],
    )


@pytest.fixture(scope="module")
def gateway(secure_kafka: SecureKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("gateway")
    tenant = TenantSpec("acme", allow_topic_deletion=True, policy={"allow_replica_assignments": True})

    def adjust(configuration: dict[str, Any]) -> None:
        (section,) = configuration["tenants"]
        for user in PEOPLE:
            password_file = directory / f"{user}.password"
            Path(password_file).write_text(USERS[user])
            section["auth"]["credentials"].append({"username": user, "password_file": str(password_file)})
        section["acls"] = {
            "rules": [
                {
                    "principal": f"User:{principal}",
                    "operation": operation,
                    "resource_type": kind,
                    "name": name,
                    "pattern_type": pattern,
                    "permission": permission,
                }
                for principal, operation, kind, name, pattern, permission in RULES
            ],
            "super_users": ["User:acme"],
        }

    address = secure_kafka.address("OWN", "127.0.0.1")
    with GatewayProcess(directory, address, tenants=(tenant,), adjust=adjust) as process:
        yield process


def outcome(response: Struct, names: Mapping[bytes, str]) -> Any:
    """Return the codes of an answer, each beside the names that say what it is about."""
    found: dict[str, Any] = {}
    for field in response.FIELDS:
        value = getattr(response, field.name)
        if field.name in KEYS or field.name in CODES:
            found[field.name] = value
        elif field.name == "topic_id" and value != bytes(16):
            found["topic_id"] = names.get(value, "unknown")
        elif field.name == "authorized_operations" or field.name.endswith("_authorized_operations"):
            continue
        elif field.fields and field.is_array and field.name not in ("brokers", "node_endpoints", "configs"):
            items = [outcome(one, names) for one in value or ()]
            found[field.name] = sorted(items, key=repr)
    return found


def exchange(client: RawClient, message: Any, version: int, names: Mapping[bytes, str]) -> Any:
    try:
        return outcome(client.request(message, version), names)
    except EOFError:
        return "closed"


def ids_at(endpoint: Endpoint, prefix: str) -> dict[str, bytes]:
    with RawClient.authenticated(endpoint) as client:
        return {name: topic_id_of(client, prefix + name) for name in EXISTING}


def ids_and_names(admin: Endpoint) -> tuple[dict[str, dict[str, bytes]], dict[bytes, str]]:
    """Return the IDs of the topics at each side, and the names of all."""
    ids = {"direct": ids_at(admin, ""), "through": ids_at(admin, physical_name("acme", ""))}
    return ids, {one: name for known in ids.values() for name, one in known.items()}


@pytest.mark.parametrize("version", [1, 2])
def test_a_share_session_is_answered_as_by_a_broker_with_the_same_acls(
    secure_kafka: SecureKafka, gateway: GatewayProcess, version: int
) -> None:
    host, port = secure_kafka.address("SASL").rsplit(":", 1)
    direct = Endpoint(host, int(port), "alice", USERS["alice"])
    through = Endpoint("127.0.0.1", gateway.broker_port(1), "alice", USERS["alice"])
    ids, names = ids_and_names(Endpoint("127.0.0.1", secure_kafka.broker_port(1)))

    answers = {}
    for side, endpoint in (("direct", direct), ("through", through)):
        begin_sharing(endpoint, ids[side])
        with RawClient.authenticated(endpoint) as client:
            answers[side] = [exchange(client, one, version, names) for one in share_session(ids[side])]

    assert answers["through"] == answers["direct"]
    denied = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    first, second, third, fourth, _ = answers["through"]
    assert [Counter(_codes(one))[denied] for one in (first, second, third, fourth)] == [2, 4, 2, 1]


def test_a_streams_group_creates_no_topic_that_its_member_may_not_create(
    secure_kafka: SecureKafka, gateway: GatewayProcess
) -> None:
    through = Endpoint("127.0.0.1", gateway.broker_port(1), "alice", USERS["alice"])
    with RawClient.authenticated(through) as client:
        answer = client.request(streams_heartbeat("own-app", ["orders"], changelog="seen-changelog"), 0)
        described = client.request(MetadataRequest(topics=None), 9)

    assert answer.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert "CREATE on topics seen-changelog" in answer.error_message
    assert answer.member_id != MEMBER_ID
    assert "seen-changelog" not in {one.name for one in described.topics}


@pytest.mark.parametrize("user", PEOPLE)
def test_a_client_is_answered_as_by_a_broker_with_the_same_acls(
    secure_kafka: SecureKafka, gateway: GatewayProcess, user: str
) -> None:
    host, port = secure_kafka.address("SASL").rsplit(":", 1)
    direct = Endpoint(host, int(port), user, USERS[user])
    through = Endpoint("127.0.0.1", gateway.broker_port(1), user, USERS[user])
    admin = Endpoint("127.0.0.1", secure_kafka.broker_port(1))
    ids, names = ids_and_names(admin)
    with RawClient(admin) as client:
        offered = client.versions()
        assert set(GROUP_REQUESTS) <= set(offered)
        make_streams_group(client)
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        make_streams_group(client)

    different, codes = [], Counter[int]()
    for api_key, build in (*GROUP_REQUESTS.items(), *REQUESTS.items()):
        served = served_versions(api_key)
        if served is None or api_key not in offered:
            continue
        low = max(offered[api_key][0], served.low, request_schema(api_key).versions.low)
        high = min(offered[api_key][1], served.high)
        for version in range(low, high + 1):
            pairs = zip(build(version, ids["direct"]), build(version, ids["through"]), strict=True)
            for number, (asked_there, asked_here) in enumerate(pairs):
                with RawClient.authenticated(direct) as one, RawClient.authenticated(through) as other:
                    expected = exchange(one, asked_there, version, names)
                    found = exchange(other, asked_here, version, names)
                codes.update(_codes(found))
                if api_key == ApiKey.ALTER_SHARE_GROUP_OFFSETS:
                    _forget_ids(expected)
                if _comparable(expected) != _comparable(found):
                    different.append((ApiKey(api_key).name, version, number, expected, found))

    assert not different, "\n".join(
        f"{name} v{version} #{number}\n  broker  {there}\n  gateway {here}"
        for name, version, number, there, here in different
    )
    denied = {one: codes[one] for one in DENIED_CODES.values()}
    assert min(denied.values()) == 0 if user == "carol" else min(denied.values()) > 0, denied
    assert codes[ErrorCode.NONE] > 100


def test_every_api_that_acls_decide_about_is_compared() -> None:
    assert set(ACCESS) - set(REQUESTS) - set(GROUP_REQUESTS) == NOT_COMPARED


def _codes(found: Any) -> Iterator[int]:
    if isinstance(found, dict):
        yield from (value for key, value in found.items() if key in CODES)
    if isinstance(found, dict | list):
        for one in found.values() if isinstance(found, dict) else found:
            yield from _codes(one)


def _forget_ids(found: Any) -> None:
    """Forget the IDs of denied topics: a broker tells those of topics that exist, and so that they do."""
    if isinstance(found, dict):
        for topic in found.get("responses", ()):
            if ErrorCode.TOPIC_AUTHORIZATION_FAILED in set(_codes(topic)):
                topic.pop("topic_id", None)


def _comparable(found: Any) -> Any:
    """Leave out the broker's internal things, and those of the tenant, which it lists under their physical names."""
    if isinstance(found, dict):
        return {key: _comparable(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_comparable(one) for one in found if not re.search("'(__|warm-up)", repr(one))]
    return found
