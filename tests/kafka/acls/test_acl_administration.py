"""ACLs of a tenant by Kafka's own tools and requests, kept in the state, and what they do to open connections."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from group_acl_requests import share_fetch

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.acls.acl_binding import Operation, PatternType, Permission, ResourceType
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    CreateAclsRequest,
    DeleteAclsRequest,
    DescribeAclsRequest,
    DescribeClusterRequest,
    FetchRequest,
    MetadataRequest,
)
from support.brokers.kafka_cluster import KafkaTools, write_client_properties
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import fetch_request, produce_request, recreate_topic, topic_id_of
from support.clients.record_batches import build_batch
from support.clients.routed_client import RoutedClient
from support.gateways import admin_port
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.physical_names import physical_name

pytestmark = pytest.mark.timeout(180)

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
ACL_COMMAND = "org.apache.kafka.tools.AclCommand"
PASSWORD = "some-password"


def _with_acls(directory: Path, topic: str) -> Callable[[dict[str, Any]], None]:
    """Give the tenant acme ACLs, a user `reader`, and a state; its own user is the super user."""

    def adjust(configuration: dict[str, Any]) -> None:
        acme = configuration["tenants"][0]
        password_file = directory / "reader.password"
        password_file.write_text(PASSWORD)
        acme["auth"]["credentials"].append({"username": "reader", "password_file": str(password_file)})
        acme["acls"] = {
            "super_users": ["User:acme"],
            "rules": [
                {"principal": "User:*", "operation": "DESCRIBE", "resource_type": "TOPIC", "name": "public"}
            ],
        }
        acme["namespaces"] = ["eu:de"]
        configuration["proxy"]["state"] = {"topic": topic}

    return adjust


@pytest.fixture(scope="module")
def state_topic() -> str:
    return f"__acls-{time.time_ns()}"


def _gateway(kafka: EmbeddedKafka, directory: Path, topic: str) -> GatewayProcess:
    tenants = (TenantSpec("acme"), TenantSpec("globex"))
    return GatewayProcess(
        directory, kafka.bootstrap, tenants=tenants, adjust=_with_acls(directory, topic), has_admin=True
    )


@pytest.fixture(scope="module")
def gateway(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path_factory: pytest.TempPathFactory, state_topic: str
) -> Iterator[GatewayProcess]:
    with RoutedClient(broker) as client:
        for name in ("orders", "secret", "public", "--eu.orders", "--eu.--de.orders"):
            recreate_topic(client, physical_name("acme", name))
    with _gateway(kafka, tmp_path_factory.mktemp("gateway"), state_topic) as process:
        yield process


@pytest.fixture
def admin(gateway: GatewayProcess) -> Iterator[RawClient]:
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        yield client
        client.request(DeleteAclsRequest(filters=[_every()]), 3)


@pytest.fixture
def reader(gateway: GatewayProcess) -> Iterator[RawClient]:
    with RawClient.authenticated(_reader(gateway)) as client:
        yield client


def _reader(gateway: GatewayProcess) -> Endpoint:
    return Endpoint(HOST, gateway.broker_port(1), "reader", PASSWORD)


def _creation(operation: Operation, name: str, **fields: Any) -> Any:
    values: dict[str, Any] = {
        "resource_type": ResourceType.TOPIC,
        "resource_pattern_type": PatternType.LITERAL,
        "principal": "User:reader",
        "host": "*",
        "permission_type": Permission.ALLOW,
    }
    return CreateAclsRequest.AclCreation(resource_name=name, operation=operation, **(values | fields))


def _every(**fields: Any) -> Any:
    values: dict[str, Any] = {
        "resource_type_filter": ResourceType.ANY,
        "resource_name_filter": None,
        "pattern_type_filter": PatternType.ANY,
        "principal_filter": None,
        "host_filter": None,
        "operation": Operation.ANY,
        "permission_type": Permission.ANY,
    }
    return DeleteAclsRequest.DeleteAclsFilter(**(values | fields))


def _create(client: RawClient, *creations: Any) -> list[int]:
    return [one.error_code for one in client.request(CreateAclsRequest(creations=list(creations)), 3).results]


def _read(client: RawClient, topic: str) -> int:
    (answer,) = client.request(fetch_request(topic), 12).responses
    return int(answer.partitions[0].error_code)


def _fetch_both() -> FetchRequest:
    """Return a full Fetch of two topics that begins a session."""
    request = fetch_request("orders", session_epoch=0)
    request.topics += fetch_request("secret").topics
    return request


def _await(read: Callable[[], Any], wanted: Any) -> None:
    deadline = time.monotonic() + 30
    while (found := read()) != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.02)


def test_an_acl_takes_hold_on_an_open_connection_and_so_does_its_end(
    admin: RawClient, reader: RawClient
) -> None:
    before = _read(reader, "orders")

    created = _create(admin, _creation(Operation.READ, "orders"))
    with_acl = _read(reader, "orders")
    deleted = admin.request(DeleteAclsRequest(filters=[_every(resource_name_filter="orders")]), 3)

    assert (before, created, with_acl) == (DENIED, [ErrorCode.NONE], ErrorCode.NONE)
    (result,) = deleted.filter_results
    assert [(one.resource_name, one.error_code) for one in result.matching_acls] == [("orders", 0)]
    assert _read(reader, "orders") == DENIED


def test_a_fetch_session_ends_with_the_right_to_one_of_its_topics(
    admin: RawClient, reader: RawClient
) -> None:
    _create(admin, _creation(Operation.READ, "orders"), _creation(Operation.READ, "secret"))
    admin.request(produce_request("secret", build_batch([b"x"])), 9)
    session = reader.request(_fetch_both(), 12)
    admin.request(DeleteAclsRequest(filters=[_every(resource_name_filter="secret")]), 3)

    goes_on = FetchRequest(
        max_wait_ms=100, min_bytes=0, session_id=session.session_id, session_epoch=1, topics=[]
    )
    ended = reader.request(goes_on, 12)
    again = reader.request(_fetch_both(), 12)

    assert session.session_id != 0
    assert ended.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    codes = {one.topic: one.partitions[0].error_code for one in again.responses}
    assert codes == {"orders": ErrorCode.NONE, "secret": DENIED}
    assert again.session_id == 0


def test_a_fetch_that_waits_at_the_broker_delivers_nothing_of_a_revoked_topic(
    admin: RawClient, reader: RawClient
) -> None:
    _create(admin, _creation(Operation.READ, "secret"))
    end = admin.request(fetch_request("secret"), 12).responses[0].partitions[0].high_watermark
    waiting = fetch_request("secret", offset=end, max_wait_ms=15_000)
    waiting.min_bytes = 1
    correlation_id = reader.send(waiting, 12)
    time.sleep(0.3)

    admin.request(DeleteAclsRequest(filters=[_every(resource_name_filter="secret")]), 3)
    admin.request(produce_request("secret", build_batch([b"not for the reader"])), 9)
    answer = reader.receive(1, 12, correlation_id)

    (partition,) = answer.responses[0].partitions
    assert partition.error_code == DENIED
    assert not partition.records


def test_acls_are_listed_deleted_and_counted_by_the_tool(
    gateway: GatewayProcess, admin: RawClient, tmp_path: Path
) -> None:
    endpoint = gateway.endpoint("acme")
    properties = write_client_properties(tmp_path / "client.properties", endpoint.for_java)
    tool = KafkaTools()
    to_here = ("--bootstrap-server", endpoint.bootstrap, "--command-config", str(properties))

    added = tool(
        ACL_COMMAND, *to_here, "--add", "--allow-principal", "User:reader", "--consumer", "--topic", "orders",
        "--group", "readers-", "--resource-pattern-type", "prefixed",
    )  # fmt: skip
    listed = tool(ACL_COMMAND, *to_here, "--list", "--topic", "orders-eu", "--resource-pattern-type", "match")
    removed = tool(
        ACL_COMMAND, *to_here, "--remove", "--force", "--allow-principal", "User:reader", "--consumer",
        "--topic", "orders", "--group", "readers-", "--resource-pattern-type", "prefixed",
    )  # fmt: skip
    left = tool(ACL_COMMAND, *to_here, "--list")

    assert "principal=User:reader, host=*, operation=READ, permissionType=ALLOW" in added.stdout
    assert "name=orders, patternType=PREFIXED" in listed.stdout
    assert "GROUP" not in listed.stdout
    assert "error" not in removed.stderr.lower()
    assert "User:reader" not in left.stdout
    assert "name=public" in left.stdout


def test_what_no_acl_allows_cannot_be_administered(reader: RawClient, gateway: GatewayProcess) -> None:
    described = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        operation=1,
        permission_type=1,
    )

    assert _create(reader, _creation(Operation.ALL, "*")) == [ErrorCode.CLUSTER_AUTHORIZATION_FAILED]
    assert reader.request(described, 3).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    (result,) = reader.request(DeleteAclsRequest(filters=[_every()]), 3).filter_results
    assert result.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    denials = admin_port.value(gateway, "kafka_proxy_acl_denials_total", tenant="acme", operation="ALTER")
    assert denials >= 2


def test_an_acl_of_the_configuration_stays_and_a_wrong_one_is_not_made(admin: RawClient) -> None:
    (result,) = admin.request(DeleteAclsRequest(filters=[_every()]), 3).filter_results
    wrong = _creation(Operation.ANY, "orders"), _creation(Operation.READ, "x", principal="reader")

    (kept,) = [one for one in result.matching_acls if one.resource_name == "public"]
    assert kept.error_code == ErrorCode.POLICY_VIOLATION
    assert _create(admin, *wrong) == [ErrorCode.INVALID_REQUEST] * 2


def test_authorized_operations_are_those_that_acls_permit(admin: RawClient, reader: RawClient) -> None:
    _create(admin, _creation(Operation.WRITE, "orders"))
    topics = [MetadataRequest.MetadataRequestTopic(name="orders")]
    request = MetadataRequest(topics=topics, include_topic_authorized_operations=True)

    told = [client.request(request, 9).topics[0].topic_authorized_operations for client in (reader, admin)]
    cluster = [
        client.request(
            DescribeClusterRequest(include_cluster_authorized_operations=True), 0
        ).cluster_authorized_operations
        for client in (reader, admin)
    ]

    assert told[0] == Operation.WRITE.bit | Operation.DESCRIBE.bit
    assert told[1] & told[0] == told[0]
    assert told[1] & Operation.READ.bit
    assert cluster[0] == 0
    assert cluster[1] & Operation.ALTER.bit


def test_another_gateway_agrees_at_once_and_another_tenant_has_no_acls(
    kafka: EmbeddedKafka, gateway: GatewayProcess, admin: RawClient, tmp_path: Path, state_topic: str
) -> None:
    _create(admin, _creation(Operation.READ, "orders"))
    with _gateway(kafka, tmp_path, state_topic) as other:
        with RawClient.authenticated(_reader(other)) as client:
            at_start = _read(client, "orders")
            admin.request(DeleteAclsRequest(filters=[_every(resource_name_filter="orders")]), 3)
            _await(lambda: _read(client, "orders"), DENIED)
        with RawClient.authenticated(other.broker_endpoint("globex")) as client:
            foreign = _create(client, _creation(Operation.READ, "orders"))

    assert at_start == ErrorCode.NONE
    assert foreign == [ErrorCode.SECURITY_DISABLED]


def test_a_share_session_begins_anew_when_acls_change(admin: RawClient, reader: RawClient) -> None:
    _create(admin, _creation(Operation.READ, "sharers", resource_type=ResourceType.GROUP))
    _create(admin, _creation(Operation.READ, "orders"))
    ids = {name: topic_id_of(admin, name) for name in ("orders", "secret")}

    def fetched(epoch: int, *topics: str) -> tuple[int, dict[bytes, int]]:
        answer = reader.request(share_fetch(ids, topics, group="sharers", epoch=epoch), 1)
        return answer.error_code, {one.topic_id: one.partitions[0].error_code for one in answer.responses}

    lost = (ErrorCode.SHARE_SESSION_NOT_FOUND, {})
    at_first, later = fetched(0, "orders", "secret"), fetched(1)
    _create(admin, _creation(Operation.READ, "secret"))
    told, permitted, goes_on = fetched(2), fetched(0, "orders", "secret"), fetched(1)
    admin.request(DeleteAclsRequest(filters=[_every(resource_name_filter="secret")]), 3)
    told_again, denied = fetched(2), fetched(0, "orders", "secret")

    assert at_first[1][ids["secret"]] == DENIED
    assert (told, told_again) == (lost, lost)
    assert (later[0], permitted[0], goes_on[0], denied[0]) == (0, 0, 0, 0)
    assert DENIED not in permitted[1].values()
    assert denied[1][ids["secret"]] == DENIED


def test_permission_on_a_namespace_is_set_by_the_tool_and_checked_first(
    gateway: GatewayProcess, admin: RawClient, reader: RawClient, tmp_path: Path
) -> None:
    _create(admin, _creation(Operation.READ, "*"))
    endpoint = gateway.endpoint("acme")
    properties = write_client_properties(tmp_path / "client.properties", endpoint.for_java)
    to_here = ("--bootstrap-server", endpoint.bootstrap, "--command-config", str(properties))

    def readable() -> list[bool]:
        return [_read(reader, name) == ErrorCode.NONE for name in ("orders", "eu:orders", "eu:de:orders")]

    def on_namespace(*options: str) -> None:
        done = KafkaTools()(ACL_COMMAND, *to_here, "--add", "--topic", *options)
        assert "error" not in done.stderr.lower(), done.stderr

    open_to_all = readable()
    on_namespace("eu:", "--allow-principal", "User:other", "--operation", "All")
    closed = readable()
    on_namespace("eu:", "--allow-principal", "User:reader", "--operation", "Read")
    entered = readable()
    on_namespace("eu:de:", "--deny-principal", "User:reader", "--operation", "All")
    denied = readable()

    assert open_to_all == [True, True, True]
    assert closed == [True, False, False]
    assert entered == [True, True, True]
    assert denied == [True, True, False]
