"""Users that tenants make themselves, by Kafka's own tool and requests: they log in at every gateway, until deleted."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from bifrost.embedded.kafka import DEFAULT_VERSION, EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    AlterUserScramCredentialsRequest,
    CreateAclsRequest,
    DescribeUserScramCredentialsRequest,
    MetadataRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from support.brokers.kafka_cluster import CONFIGS, write_client_properties
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import recreate_topic
from support.clients.routed_client import RoutedClient
from support.clients.scram_client import ScramClient
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec
from support.java.tool_server import ToolServer
from support.physical_names import physical_name

pytestmark = pytest.mark.timeout(300)

PASSWORD = "wile-e-coyote"
SHA_256, SHA_512 = 1, 2
HASHES = {SHA_256: "sha256", SHA_512: "sha512"}
SALT = b"salt of a test"
MAX_USERS = 4
DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _with_users(directory: Path, topic: str) -> Callable[[dict[str, Any]], None]:
    """Let the tenants acme and globex make users; globex has ACLs, and acme a user of its namespace `eu`."""

    def adjust(configuration: dict[str, Any]) -> None:
        acme, globex, _ = configuration["tenants"]
        password_file = directory / "namespaced.password"
        password_file.write_text(PASSWORD)
        for name, namespace in (("acme-eu", {"namespace": "eu"}), ("acme-fixed", {})):
            credential = {"username": name, "password_file": str(password_file), **namespace}
            acme["auth"]["credentials"].append(credential)
        acme["auth"]["stored_users"] = {"name_prefix": "acme-", "max_users": MAX_USERS}
        globex["auth"]["stored_users"] = {"name_prefix": "globex-"}
        globex["acls"] = {"super_users": ["User:globex"]}
        configuration["proxy"]["state"] = {"topic": topic}

    return adjust


@pytest.fixture(scope="module")
def state_topic() -> str:
    return f"__users-{time.time_ns()}"


@pytest.fixture(scope="module")
def gateways(
    kafka: EmbeddedKafka, broker: Endpoint, tmp_path_factory: pytest.TempPathFactory, state_topic: str
) -> Iterator[tuple[GatewayProcess, GatewayProcess]]:
    with RoutedClient(broker) as client:
        for tenant, name in (("acme", "shared"), ("acme", "--eu.shared"), ("globex", "shared")):
            recreate_topic(client, physical_name(tenant, name))
    tenants = tuple(TenantSpec(one) for one in ("acme", "globex", "initech"))
    with contextlib.ExitStack() as stack:
        found = []
        for number in range(2):
            directory = tmp_path_factory.mktemp(f"gateway-{number}")
            adjust = _with_users(directory, state_topic)
            process = GatewayProcess(
                directory, kafka.bootstrap, tenants=tenants, adjust=adjust, log_level="debug"
            )
            found.append(stack.enter_context(process))
        yield found[0], found[1]


@pytest.fixture(scope="module")
def tool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ToolServer]:
    log_file = tmp_path_factory.mktemp("tool") / "tool.log"
    with ToolServer(DEFAULT_VERSION, log_file) as server:
        yield server


@pytest.fixture
def admin(gateways: tuple[GatewayProcess, GatewayProcess]) -> Iterator[RawClient]:
    with RawClient.authenticated(gateways[0].broker_endpoint("acme")) as client:
        yield client
        _alter(
            client,
            deletions=[(name, number) for name, known in _described(client).items() for number in known],
        )


def _user(
    gateway: GatewayProcess, name: str, mechanism: str = "SCRAM-SHA-512", password: str = PASSWORD
) -> Endpoint:
    return Endpoint(HOST, gateway.broker_port(1), name, password, mechanism)


def _alter(
    client: RawClient,
    upsertions: list[tuple[str, int]] | None = None,
    deletions: list[tuple[str, int]] | None = None,
    **fields: Any,
) -> list[tuple[str, int]]:
    made = AlterUserScramCredentialsRequest
    answers: list[tuple[str, int]] = []
    # A user may be changed once in a request.
    for one in deletions or ():
        request = made(deletions=[made.ScramCredentialDeletion(name=one[0], mechanism=one[1])], upsertions=[])
        answers += [(each.user, each.error_code) for each in client.request(request, 0).results]
    if upsertions:
        named = [_upsertion(name, number, **fields) for name, number in upsertions]
        answer = client.request(made(deletions=[], upsertions=named), 0)
        answers += [(each.user, each.error_code) for each in answer.results]
    return answers


def _upsertion(name: str, mechanism: int, iterations: int = 4096, **fields: Any) -> Any:
    salted = hashlib.pbkdf2_hmac(HASHES.get(mechanism, "sha256"), PASSWORD.encode(), SALT, iterations)
    values: dict[str, Any] = {"salt": SALT, "salted_password": salted, **fields}
    return AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name=name, mechanism=mechanism, iterations=iterations, **values
    )


def _described(client: RawClient, *names: str) -> dict[str, dict[int, int]]:
    made = DescribeUserScramCredentialsRequest
    users = [made.UserName(name=one) for one in names] or None
    answer = client.request(made(users=users), 0)
    assert answer.error_code == 0, answer
    return {
        one.user: {each.mechanism: each.iterations for each in one.credential_infos}
        for one in answer.results
        if one.error_code == 0
    }


def _topics(user: Endpoint) -> set[str]:
    """Log in by librdkafka and list the user's topics."""
    found = AdminClient(user.for_confluent | {"socket.timeout.ms": 5000}).list_topics(timeout=10)
    return set(found.topics)


def _may_log_in(user: Endpoint) -> bool:
    try:
        with _logged_in(user):
            return True
    except (AssertionError, EOFError):
        return False


def _logged_in(user: Endpoint) -> RawClient:
    """Log in by SCRAM over one connection, which stays open."""
    client = RawClient(user)
    try:
        assert user.username is not None
        mechanism = "SCRAM-SHA-256" if user.mechanism == "SCRAM-SHA-256" else "SCRAM-SHA-512"
        exchange = ScramClient(mechanism, user.username, user.password)
        assert client.request(SaslHandshakeRequest(mechanism=mechanism), 1).error_code == 0
        first = client.request(SaslAuthenticateRequest(auth_bytes=exchange.first()), 2)
        last = client.request(SaslAuthenticateRequest(auth_bytes=exchange.final(first.auth_bytes)), 2)
        assert last.error_code == 0, last
        assert exchange.trusts(last.auth_bytes)
    except BaseException:
        client.close()
        raise
    return client


def _stored(broker: Endpoint, topic: str) -> tuple[list[bytes], list[bytes]]:
    """Return the keys and values of the state's topic."""
    consumer = Consumer(broker.for_confluent | {"group.id": "users-state", "enable.auto.commit": False})
    keys, values = list[bytes](), list[bytes]()
    try:
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=20)
        consumer.assign([TopicPartition(topic, 0, 0)])
        deadline = time.monotonic() + 30
        while consumer.position([TopicPartition(topic, 0)])[0].offset < end:
            assert time.monotonic() < deadline
            for message in consumer.consume(100, 1.0):
                if message.error() is None:
                    keys.append(bytes(message.key() or b""))
                    values.append(bytes(message.value() or b""))
    finally:
        consumer.close()
    return keys, values


def _await(read: Callable[[], Any], wanted: Any) -> None:
    deadline = time.monotonic() + 30
    while (found := read()) != wanted:
        assert time.monotonic() < deadline, found
        time.sleep(0.05)


def test_the_tool_makes_a_user_who_logs_in_everywhere_until_it_is_deleted(
    gateways: tuple[GatewayProcess, GatewayProcess], admin: RawClient, tool: ToolServer, tmp_path: Path
) -> None:
    endpoint = gateways[0].endpoint("acme")
    properties = write_client_properties(tmp_path / "client.properties", endpoint.for_java)
    to_here = ("--bootstrap-server", endpoint.bootstrap, "--command-config", str(properties))
    alice = ("--entity-type", "users", "--entity-name", "acme-alice")

    added = tool(
        CONFIGS, *to_here, "--alter", *alice, "--add-config",
        f"SCRAM-SHA-512=[iterations=8192,password={PASSWORD}]",
    )  # fmt: skip
    described = tool(CONFIGS, *to_here, "--describe", *alice)
    users = [_user(gateway, "acme-alice") for gateway in gateways]
    for user in users:
        _await(lambda user=user: _may_log_in(user), True)
    seen = [_topics(user) for user in users]
    wrong = [
        _may_log_in(_user(gateways[1], "acme-alice", mechanism, password))
        for mechanism, password in (("SCRAM-SHA-512", "a guess"), ("SCRAM-SHA-256", PASSWORD))
    ]
    with _logged_in(users[0]) as one, _logged_in(users[1]) as other:
        removed = tool(CONFIGS, *to_here, "--alter", *alice, "--delete-config", "SCRAM-SHA-512")
        for client in (one, other):
            with pytest.raises((EOFError, OSError)):
                _await(lambda client=client: client.request(MetadataRequest(topics=None), 9) is None, True)
    for user in users:
        _await(lambda user=user: _may_log_in(user), False)
    with pytest.raises(KafkaException):
        _topics(users[0])

    assert "Completed updating config for user acme-alice" in added.stdout, added
    assert "SCRAM-SHA-512=iterations=8192" in described.stdout
    assert all({"shared", "eu:shared"} <= topics for topics in seen)
    assert wrong == [False, False]
    assert "Completed updating config for user acme-alice" in removed.stdout, removed
    assert _described(admin) == {}
    ends = [event for event in gateways[1].events() if event.get("reason") == "credential_removed"]
    assert ends


def test_each_user_has_an_error_of_its_own(admin: RawClient) -> None:
    made = AlterUserScramCredentialsRequest
    bad = ErrorCode.UNACCEPTABLE_CREDENTIAL
    wrong = {
        "bob": (_upsertion("bob", SHA_256), bad),
        "globex-bob": (_upsertion("globex-bob", SHA_256), bad),
        "acme-fixed": (_upsertion("acme-fixed", SHA_256), bad),
        "": (_upsertion("", SHA_256), bad),
        "acme-few": (_upsertion("acme-few", SHA_256, 4095), bad),
        "acme-many": (_upsertion("acme-many", SHA_256, 16_385), bad),
        "acme-salt": (_upsertion("acme-salt", SHA_256, salt=b"short"), bad),
        "acme-size": (_upsertion("acme-size", SHA_512, salted_password=b"x" * 32), bad),
        "acme-nothing": (_upsertion("acme-nothing", 0), ErrorCode.UNSUPPORTED_SASL_MECHANISM),
    }
    twice = [_upsertion("acme-twice", number) for number in (SHA_256, SHA_512)]
    good = _upsertion("acme-bob", SHA_256)
    missing = made.ScramCredentialDeletion(name="acme-missing", mechanism=SHA_256)

    request = made(deletions=[missing], upsertions=[*(one for one, _ in wrong.values()), *twice, good])
    answer = admin.request(request, 0)
    codes = {one.user: one.error_code for one in answer.results}

    assert len(codes) == len(answer.results)
    assert codes == {
        **{name: code for name, (_, code) in wrong.items()},
        "acme-twice": ErrorCode.DUPLICATE_RESOURCE,
        "acme-missing": ErrorCode.RESOURCE_NOT_FOUND,
        "acme-bob": ErrorCode.NONE,
    }
    assert _described(admin) == {"acme-bob": {SHA_256: 4096}}
    described = DescribeUserScramCredentialsRequest
    names = ("acme-bob", "acme-bob", "acme-missing", "acme-fixed")
    results = admin.request(described(users=[described.UserName(name=one) for one in names]), 0).results
    assert {one.user: one.error_code for one in results} == {
        "acme-bob": ErrorCode.DUPLICATE_RESOURCE,
        "acme-missing": ErrorCode.RESOURCE_NOT_FOUND,
        "acme-fixed": ErrorCode.RESOURCE_NOT_FOUND,
    }


def test_a_tenant_has_no_more_users_than_it_may(
    gateways: tuple[GatewayProcess, GatewayProcess], admin: RawClient
) -> None:
    names = [f"acme-{number}" for number in range(MAX_USERS + 1)]

    codes = _alter(admin, [(name, SHA_256) for name in names])
    changed = _alter(admin, [("acme-0", SHA_512)], iterations=5000)
    first = _user(gateways[0], "acme-0", "SCRAM-SHA-256")
    with _logged_in(first) as client:
        one_left = _alter(admin, deletions=[("acme-0", SHA_256)])
        still_open = client.request(MetadataRequest(topics=[]), 9)

    assert [code for _, code in codes] == [ErrorCode.NONE] * MAX_USERS + [ErrorCode.POLICY_VIOLATION]
    assert changed == [("acme-0", ErrorCode.NONE)]
    assert one_left == [("acme-0", ErrorCode.NONE)]
    assert _described(admin, "acme-0") == {"acme-0": {SHA_512: 5000}}
    assert still_open.brokers


def test_users_are_those_of_a_namespace_and_no_other_tenants(
    gateways: tuple[GatewayProcess, GatewayProcess], admin: RawClient
) -> None:
    with RawClient.authenticated(_user(gateways[0], "acme-eu", "PLAIN")) as below:
        assert _alter(below, [("acme-eu-carol", SHA_512)]) == [("acme-eu-carol", 0)]
        assert _alter(admin, [("acme-dora", SHA_512)]) == [("acme-dora", 0)]
        seen_below = _described(below)
        taken = _alter(below, [("acme-dora", SHA_512)])
        hidden = _alter(below, deletions=[("acme-dora", SHA_512)])
    carol = _user(gateways[1], "acme-eu-carol")
    _await(lambda: _may_log_in(carol), True)

    # Other tests of the same broker may have topics there as well.
    assert "shared" in _topics(carol) == _topics(_user(gateways[1], "acme-eu", "PLAIN"))
    assert set(seen_below) == {"acme-eu-carol"}
    assert taken == [("acme-dora", ErrorCode.UNACCEPTABLE_CREDENTIAL)]
    assert hidden == [("acme-dora", ErrorCode.RESOURCE_NOT_FOUND)]
    assert set(_described(admin)) == {"acme-eu-carol", "acme-dora"}
    with RawClient.authenticated(gateways[0].broker_endpoint("globex")) as other:
        assert _described(other) == {}
        assert _alter(other, deletions=[("acme-dora", SHA_512)]) == [
            ("acme-dora", ErrorCode.RESOURCE_NOT_FOUND)
        ]
    with RawClient.authenticated(gateways[0].broker_endpoint("initech")) as without:
        assert _alter(without, [("initech-x", SHA_512)]) == [("initech-x", DENIED)]
        described = without.request(DescribeUserScramCredentialsRequest(users=None), 0)
        assert described.error_code == DENIED


def test_a_user_is_judged_by_acls_under_the_name_that_was_made(
    gateways: tuple[GatewayProcess, GatewayProcess],
) -> None:
    with RawClient.authenticated(gateways[0].broker_endpoint("globex")) as owner:
        assert _alter(owner, [("globex-eve", SHA_512)]) == [("globex-eve", 0)]
        acl = CreateAclsRequest.AclCreation(
            resource_type=2,
            resource_name="shared",
            resource_pattern_type=3,
            principal="User:globex-eve",
            host="*",
            operation=8,
            permission_type=3,
        )
        assert owner.request(CreateAclsRequest(creations=[acl]), 3).results[0].error_code == 0
        eve = _user(gateways[0], "globex-eve")
        with _logged_in(eve) as client:
            topics = client.request(MetadataRequest(topics=None), 9).topics
            refused = _alter(client, [("globex-mallory", SHA_512)])
            told = client.request(DescribeUserScramCredentialsRequest(users=None), 0)
        _alter(owner, deletions=[("globex-eve", SHA_512)])

    assert [one.name for one in topics] == ["shared"]
    assert refused == [("globex-mallory", DENIED)]
    assert told.error_code == DENIED


def test_no_secret_is_logged_and_no_password_is_stored(
    gateways: tuple[GatewayProcess, GatewayProcess], admin: RawClient, broker: Endpoint, state_topic: str
) -> None:
    _alter(admin, [("acme-frank", SHA_512)])
    assert _may_log_in(_user(gateways[0], "acme-frank"))
    salted = _upsertion("acme-frank", SHA_512).salted_password

    keys, values = _stored(broker, state_topic)
    stored = b"\n".join(values)
    logged = "\n".join(gateway.log() for gateway in gateways)

    assert b"user:acme:acme-frank" in keys
    assert b"stored_key" in stored
    key = stored.rpartition(b'"stored_key":"')[2].partition(b'"')[0].decode()
    for secret in (PASSWORD, base64.b64encode(salted).decode(), salted.hex()):
        assert secret.encode() not in stored
        assert secret not in logged
    assert len(key) > 80
    assert key not in logged
    assert "user:acme:acme-frank" in logged
