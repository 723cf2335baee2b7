"""As whom tenants and their users are at a broker that has ACLs: each as its own account there, or not at all."""

from __future__ import annotations

import os
import re
import signal
import time

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    DescribeTransactionsRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    MetadataRequest,
    OffsetFetchRequest,
)
from support.brokers.secure_kafka import DESCRIBE, SecureKafka
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    PRODUCE_BY_NAME,
    fetch_request,
    produce,
    produce_request,
    recreate_topic,
    topic_id_of,
    warm_up,
)
from support.clients.record_batches import build_batch
from support.gateways.secured_gateway import SecuredGateway, StartSecured, account
from support.physical_names import MARK, physical_name

DENIED = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
OF_GATEWAY = {"security_protocol": "SASL_PLAINTEXT", "sasl": account("gateway")}


@pytest.fixture(scope="module", autouse=True)
def topics(secure_kafka: SecureKafka) -> None:
    with secure_kafka.admin() as admin:
        for tenant in ("acme", "globex"):
            recreate_topic(admin, physical_name(tenant, "orders"))
        assert produce(admin, physical_name("globex", "orders"), [b"of globex"]) == 0


def try_to_produce(gateway: SecuredGateway, tenant: str, user: str | None = None) -> int:
    whole = gateway.broker_endpoint(tenant)
    endpoint = Endpoint(whole.host, whole.port, user or tenant, f"{user or tenant}-pw")
    with RawClient.authenticated(endpoint) as client:
        request = produce_request("orders", build_batch([b"one"]))
        response = client.request(request, PRODUCE_BY_NAME)
        return int(response.responses[0].partition_responses[0].error_code)


def test_the_broker_sees_whose_account_a_tenant_has(start_secured: StartSecured) -> None:
    """Alice may use acme's names, bob globex's; with the accounts exchanged the broker refuses both."""
    right = start_secured("SASL", OF_GATEWAY, accounts={"acme": account("alice"), "globex": account("bob")})
    wrong = start_secured("SASL", OF_GATEWAY, accounts={"acme": account("bob"), "globex": account("alice")})

    assert [try_to_produce(right, tenant) for tenant in ("acme", "globex")] == [0, 0]
    assert [try_to_produce(wrong, tenant) for tenant in ("acme", "globex")] == [DENIED, DENIED]


def test_a_user_s_account_stands_before_its_tenant_s(start_secured: StartSecured) -> None:
    gateway = start_secured(
        "SASL",
        OF_GATEWAY,
        accounts={"acme": account("alice"), "guest": account("bob", "PLAIN")},
        users={"acme": ["guest", "clerk"]},
    )

    assert try_to_produce(gateway, "acme") == 0
    assert try_to_produce(gateway, "acme", "clerk") == 0
    assert try_to_produce(gateway, "acme", "guest") == DENIED
    assert try_to_produce(gateway, "globex") == 0, "has no account, so the gateway's, a super user, is used"


DENIED_REQUESTS: list[tuple[Message, int]] = [
    (MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="orders")]), 9),
    (
        CreateTopicsRequest(
            topics=[CreateTopicsRequest.CreatableTopic(name="new", num_partitions=1, replication_factor=1)]
        ),
        7,
    ),
    (DescribeConfigsRequest(resources=[DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=2, resource_name="orders")]), 4),
    (DescribeGroupsRequest(groups=["clerks"]), 5),
    (DeleteGroupsRequest(groups_names=["clerks"]), 2),
    (OffsetFetchRequest(groups=[OffsetFetchRequest.OffsetFetchRequestGroup(group_id="clerks", topics=None)]), 8),
    (InitProducerIdRequest(transactional_id="clerks", transaction_timeout_ms=1000), 4),
    (FindCoordinatorRequest(key_type=0, coordinator_keys=["clerks"]), 4),
    (FindCoordinatorRequest(key_type=1, coordinator_keys=["clerks"]), 4),
    (ConsumerGroupHeartbeatRequest(group_id="clerks", member_id="m", member_epoch=0, rebalance_timeout_ms=1000,
                                   subscribed_topic_names=["orders"], topic_partitions=[]), 1),
    (ConsumerGroupDescribeRequest(group_ids=["clerks"]), 1),
    (DescribeTransactionsRequest(transactional_ids=["clerks"]), 0),
]  # fmt: skip


def test_what_only_the_broker_forbids_is_told_in_the_tenant_s_names(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    """Errors that a gateway which may do anything never sees: none may tell a physical name."""
    gateway = start_secured("SASL", OF_GATEWAY, accounts={"acme": account("bob")})
    secret = (MARK.encode(), secure_kafka.cluster_id.encode())
    endpoint = gateway.broker_endpoint("acme")
    with RawClient.authenticated(endpoint, never_receives=secret) as client:
        responses = [client.request(request, version) for request, version in DENIED_REQUESTS]

    refused = [one for one in responses if "AUTHORIZATION_FAILED" in codes_of(one)]
    assert len(refused) == len(DENIED_REQUESTS)
    assert responses[3].groups[0].group_id == "clerks"


def codes_of(response: Message) -> str:
    """Return the names of all error codes in a response."""
    found = {int(code) for code in re.findall(r"error_code=(-?\d+)", repr(response))}
    return " ".join(ErrorCode(code).name for code in sorted(found))


@pytest.mark.timeout(120)
def test_the_rights_of_the_documentation_are_enough(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    """The gateway's own account may describe topics, the tenant's do all with its own names: nothing else is needed."""
    secure_kafka.allow("carol", MARK, DESCRIBE)
    with secure_kafka.admin() as admin:
        warm_up(admin)
        produce(admin, physical_name("acme", "orders"), [b"by its ID"])
        topic_id = topic_id_of(admin, physical_name("acme", "orders"))
    own = {"security_protocol": "SASL_PLAINTEXT", "sasl": account("carol")}
    gateway = start_secured("SASL", own, accounts={"acme": account("alice")})

    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client:
        response = client.request(fetch_request("", topic_id=topic_id), 13)
        (topic,) = response.responses
        assert topic.partitions[0].error_code == ErrorCode.NONE
        assert b"by its ID" in bytes(topic.partitions[0].records)
    told = gateway.endpoint("acme").for_confluent
    admin_client = AdminClient(told)
    admin_client.create_topics([NewTopic("billing", 1, 1)])["billing"].result(20)
    producer = Producer(told | {"transactional.id": "clerk"})
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce("billing", b"in a transaction")
    producer.commit_transaction(20)
    consumer = Consumer(told | {"group.id": "clerks", "auto.offset.reset": "earliest"})
    consumer.subscribe(["billing"])
    message = consumer.poll(20)
    consumer.commit(message, asynchronous=False)
    consumer.close()

    assert message.value() == b"in a transaction"


def test_a_tenant_whose_account_is_refused_is_closed_without_an_answer_and_harms_no_other(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    wrong = secure_kafka.directory / "wrong.password"
    wrong.write_text("wrong-pw")
    refused = account("alice") | {"password_file": str(wrong)}
    gateway = start_secured("SASL", OF_GATEWAY, accounts={"acme": refused})
    since = gateway.mark()

    started = time.monotonic()
    for _ in range(3):
        with RawClient.authenticated(gateway.broker_endpoint("acme")) as client, pytest.raises(EOFError):
            produce(client, "orders", [b"one"])
    took = time.monotonic() - started

    assert took > 2, "one attempt a second"
    assert try_to_produce(gateway, "globex") == 0
    ended = gateway.await_event(since, event="connection_ended", reason="upstream_login_failed")
    assert ended["tenant"] == "acme"
    assert "the broker refused the login: Authentication failed" in ended["detail"]
    assert "wrong-pw" not in gateway.log()


def test_a_password_that_changes_is_used_after_the_next_reload(
    start_secured: StartSecured, secure_kafka: SecureKafka
) -> None:
    file = secure_kafka.directory / "rotated.password"
    file.write_text("wrong-pw")
    gateway = start_secured(
        "SASL", OF_GATEWAY, accounts={"acme": account("alice") | {"password_file": str(file)}}
    )
    with RawClient.authenticated(gateway.broker_endpoint("acme")) as client, pytest.raises(EOFError):
        produce(client, "orders", [b"one"])
    since = gateway.mark()

    file.write_text("alice-pw")
    os.kill(gateway.pid, signal.SIGHUP)
    gateway.await_event(since, event="reloaded", outcome="applied")

    assert try_to_produce(gateway, "acme") == 0
