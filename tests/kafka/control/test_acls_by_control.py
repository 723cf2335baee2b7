"""ACLs by `bifrost acls`, `bifrost kafka-acls` and Kafka's own requests are the same, in all workers of a gateway."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bifrost.config.name_template import NamePrefixes, NameTemplate
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.acls.acl_binding import Operation, PatternType, Permission, ResourceType
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import CreateAclsRequest, DescribeAclsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import fetch_request, recreate_topic
from support.clients.routed_client import RoutedClient
from support.control.control_process import ControlProcess
from support.gateways.gateway_process import HOST, TenantSpec
from support.gateways.worker_gateway import WORKERS, WorkerGateway

pytestmark = pytest.mark.timeout(300)

PASSWORD = "some-password"
DENIED, NONE = ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.NONE
TENANT = f"t{time.time_ns()}"
STATE_TOPIC = f"__state-{time.time_ns()}"
BOUND_S = 30.0


@pytest.fixture(scope="module")
def gateway(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerGateway]:
    """A gateway of two workers, whose tenant has ACLs, a user `reader`, and one of the namespace eu."""
    directory = tmp_path_factory.mktemp("gateway")
    (directory / "reader.password").write_text(PASSWORD)
    prefixes = NamePrefixes.of_tenant(TENANT, NameTemplate())
    with RoutedClient(broker) as client:
        for prefix in (prefixes, prefixes.below(["eu"])):
            recreate_topic(client, f"{prefix.topic}orders")

    def adjust(configuration: dict[str, Any]) -> None:
        tenant = configuration["tenants"][0]
        credential = {"password_file": str(directory / "reader.password")}
        tenant["auth"]["credentials"] += [
            {"username": "reader", **credential},
            {"username": "eu-reader", "namespace": "eu", **credential},
        ]
        tenant["acls"] = {"super_users": [f"User:{TENANT}"]}

    proxy = {"workers": len(WORKERS), "watch_files_ms": 0, "state": {"topic": STATE_TOPIC}}
    with WorkerGateway(
        directory,
        kafka.bootstrap,
        tenants=(TenantSpec(TENANT),),
        has_admin=True,
        log_level="debug",  # It says which worker has which connection.
        proxy=proxy,
        adjust=adjust,
    ) as process:
        yield process


@pytest.fixture(scope="module")
def control(
    kafka: EmbeddedKafka, gateway: WorkerGateway, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlProcess]:
    tenants = [{"name": TENANT, "namespaces": ["eu"], "acls": {"super_users": [f"User:{TENANT}"]}}]
    directory = tmp_path_factory.mktemp("control")
    with ControlProcess(directory, kafka.bootstrap, STATE_TOPIC, tenants=tenants) as process:
        yield process


@contextlib.contextmanager
def at_each_worker(gateway: WorkerGateway, user: str) -> Iterator[list[RawClient]]:
    """Connect a user to every worker."""
    endpoint = Endpoint(HOST, gateway.broker_port(1), user, PASSWORD)
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(gateway.client_at(worker, endpoint)) for worker in WORKERS]


def read(client: RawClient) -> int:
    (answer,) = client.request(fetch_request("orders"), 12).responses
    return int(answer.partitions[0].error_code)


def await_answers(clients: list[RawClient], wanted: ErrorCode) -> None:
    await_value(lambda: [read(client) for client in clients], [wanted] * len(clients))


def await_value(find: Callable[[], Any], wanted: Any) -> None:
    ends = time.monotonic() + BOUND_S
    while (found := find()) != wanted:
        assert time.monotonic() < ends, found
        time.sleep(0.05)


def names(client: RawClient) -> list[tuple[str, int]]:
    """Return the names and patterns of a tenant's ACLs, as Kafka's AdminClient sees them."""
    request = DescribeAclsRequest(
        resource_type_filter=ResourceType.ANY,
        resource_name_filter=None,
        pattern_type_filter=PatternType.ANY,
        principal_filter=None,
        host_filter=None,
        operation=Operation.ANY,
        permission_type=Permission.ANY,
    )
    return sorted((one.resource_name, one.pattern_type) for one in client.request(request, 3).resources)


def test_an_acl_of_an_operator_holds_in_every_worker_and_so_does_its_end(
    gateway: WorkerGateway, control: ControlProcess
) -> None:
    options = ("--allow-principal", "User:reader", "--operation", "Read", "--topic", "orders")
    with at_each_worker(gateway, "reader") as clients:
        assert [read(client) for client in clients] == [DENIED, DENIED]

        status, output, errors = control.command("kafka-acls", "--namespace", TENANT, "--add", *options)
        assert (status, output, errors) == (0, "created ALLOW User:reader at *: READ TOPIC orders\n", "")
        await_answers(clients, NONE)

        status, output, errors = control.command("kafka-acls", "--namespace", TENANT, "--remove", *options)
        assert (status, output, errors) == (0, "deleted ALLOW User:reader at *: READ TOPIC orders\n", "")
        await_answers(clients, DENIED)


def test_an_acl_of_a_namespace_is_about_its_names(gateway: WorkerGateway, control: ControlProcess) -> None:
    create = ("acls", "create", f"{TENANT}:eu", "--principal", "User:eu-reader", "--operation", "Read")
    with at_each_worker(gateway, "eu-reader") as below, at_each_worker(gateway, "reader") as beside:
        assert control.command(*create, "--topic", "*")[0] == 0
        await_answers(below, NONE)
        assert [read(client) for client in beside] == [DENIED, DENIED]

        with RawClient.authenticated(gateway.broker_endpoint(TENANT)) as admin:
            assert names(admin) == [("eu:", PatternType.PREFIXED)]
        assert control.command("acls", "delete", f"{TENANT}:eu", "--topic", "*")[0] == 0
        await_answers(below, DENIED)


def test_an_acl_of_a_client_is_an_operators_too(gateway: WorkerGateway, control: ControlProcess) -> None:
    creation = CreateAclsRequest.AclCreation(
        resource_type=ResourceType.TOPIC,
        resource_name="orders",
        resource_pattern_type=PatternType.LITERAL,
        principal="User:reader",
        host="*",
        operation=Operation.READ,
        permission_type=Permission.ALLOW,
    )
    with at_each_worker(gateway, "reader") as clients:
        with RawClient.authenticated(gateway.broker_endpoint(TENANT)) as admin:
            assert admin.request(CreateAclsRequest(creations=[creation]), 3).results[0].error_code == 0
        await_answers(clients, NONE)

        def listed() -> list[tuple[str, str]]:
            acls = control.ask("GET", f"/v1/acls?namespace={TENANT}").body["acls"]
            return [(one["name"], one["on_behalf_of"]) for one in acls]

        await_value(listed, [("orders", f"User:{TENANT}")])
        seen = control.ask("GET", f"/v1/acls?namespace={TENANT}").headers["etag"]
        deleted = control.ask(
            "DELETE", f"/v1/acls?namespace={TENANT}&principal=User:reader", headers={"If-Match": seen}
        )
        assert (deleted.status, len(deleted.body["deleted"])) == (200, 1)
        await_answers(clients, DENIED)
