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

from bifrost.tenancy.acls.access import ACCESS, DENIED_CODES
from bifrost.tenancy.acls.acl_binding import Operation, PatternType, Permission, ResourceType
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entities import served_versions
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Struct
from bifrost.wire.messages import CreateAclsRequest
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
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.ALTER_CLIENT_QUOTAS,
}
"""Without items of the tenant's, or with things of the cluster that only a broker shows, or answered here."""

KEYS = (
    "name",
    "topic",
    "group_id",
    "key",
    "transactional_id",
    "partition_index",
    "index",
    "partition",
    "resource_name",
)
CODES = ("error_code", "partition_error_code", "topic_config_error_code")


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


@pytest.mark.parametrize("user", PEOPLE)
def test_a_client_is_answered_as_by_a_broker_with_the_same_acls(
    secure_kafka: SecureKafka, gateway: GatewayProcess, user: str
) -> None:
    host, port = secure_kafka.address("SASL").rsplit(":", 1)
    direct = Endpoint(host, int(port), user, USERS[user])
    through = Endpoint("127.0.0.1", gateway.broker_port(1), user, USERS[user])
    admin = Endpoint("127.0.0.1", secure_kafka.broker_port(1))
    ids = {"direct": ids_at(admin, ""), "through": ids_at(admin, physical_name("acme", ""))}
    names = {one: name for known in ids.values() for name, one in known.items()}
    with RawClient(admin) as client:
        offered = client.versions()

    different, codes = [], Counter[int]()
    for api_key, build in REQUESTS.items():
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
    assert set(ACCESS) - set(REQUESTS) == NOT_COMPARED


def _codes(found: Any) -> Iterator[int]:
    if isinstance(found, dict):
        yield from (value for key, value in found.items() if key in CODES)
    if isinstance(found, dict | list):
        for one in found.values() if isinstance(found, dict) else found:
            yield from _codes(one)


def _comparable(found: Any) -> Any:
    """Leave out the broker's internal things, and those of the tenant, which it lists under their physical names."""
    if isinstance(found, dict):
        return {key: _comparable(value) for key, value in found.items()}
    if isinstance(found, list):
        return [_comparable(one) for one in found if not re.search("'(__|warm-up)", repr(one))]
    return found
