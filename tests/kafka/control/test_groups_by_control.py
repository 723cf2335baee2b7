"""`bifrost kafka-consumer-groups` on a real Kafka, beside a gateway's clients, with both protocols of groups."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.control.control_process import ControlProcess
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import TenantSpec
from support.physical_names import MARK

pytestmark = pytest.mark.timeout(240)

RECORDS = 10


def consumed(endpoint: Endpoint, group: str, topic: str, count: int, protocol: str = "classic") -> Consumer:
    """Return a consumer that has read and committed records of a topic, and is still a member."""
    settings = endpoint.for_confluent | {
        "group.id": group,
        "client.id": "reader",
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "group.protocol": protocol,
    }
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    ends, read = time.monotonic() + 90, 0
    while read < count:
        assert time.monotonic() < ends
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            read += 1
            last = message
    consumer.commit(last, asynchronous=False)
    return consumer


def test_groups_are_listed_described_set_back_and_deleted_for_clients(
    kafka: EmbeddedKafka, tmp_path: Path, start_gateway: StartGateway
) -> None:
    state, tenant, other = f"__state-{time.time_ns()}", *(TenantSpec(f"{a}{time.time_ns()}") for a in "tu")
    gateway = start_gateway(tenants=(tenant, other), proxy={"state": {"topic": state}})
    name, endpoint = tenant.name, gateway.endpoint(tenant.name)
    tool = ("kafka-consumer-groups", "--namespace", name)

    with ControlProcess(
        tmp_path, kafka.bootstrap, state, tenants=[{"name": name}, {"name": other.name}]
    ) as control:
        assert control.command("kafka-topics", "--create", "--namespace", f"{name}:eu")[0] == 0
        for one in (endpoint, gateway.endpoint(other.name)):
            admin = AdminClient(one.for_confluent)
            admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(30)
            producer = Producer(one.for_confluent)
            for number in range(RECORDS):
                producer.produce("orders", str(number))
            assert producer.flush(30) == 0
        assert control.command(*tool, "--list") == (0, "", "")
        foreign = consumed(gateway.endpoint(other.name), "foreign", "orders", 1)
        consumer = consumed(endpoint, "reports", "orders", 4)
        newer = consumed(endpoint, "eu:sums", "orders", 3, "consumer")

        assert control.command(*tool, "--list", "--state") == (0, "eu:sums\tStable\nreports\tStable\n", "")
        assert control.command(*tool, "--describe", "--group", "reports") == (
            0,
            "reports\torders\t0\t4\t10\t6\n",
            "",
        )
        for group in ("reports", "eu:sums"):
            (line,) = control.command(*tool, "--describe", "--group", group, "--members")[1].splitlines()
            assert line.split("\t")[3] == "reader"
            assert MARK not in line
        back = (*tool, "--reset-offsets", "--group", "reports", "--topic", "orders")
        for refused in ((*back, "--to-earliest", "--execute"), (*tool, "--delete", "--group", "eu:sums")):
            status, _, errors = control.command(*refused)
            assert status == 1, errors
            assert "stop its members first" in errors or "NON_EMPTY_GROUP" in errors
        consumer.close()
        newer.close()

        below = ("kafka-consumer-groups", "--namespace", f"{name}:eu", "--group", "sums")
        assert control.command(*below, "--describe")[1] == ""  # `orders` of the tenant is no topic of `eu`
        assert control.command(*below[:-1], "missing", "--describe")[0] == 1
        assert control.command(*back, "--shift-by", "-3")[:2] == (0, "reports\torders\t0\t1\n")
        assert control.command(*back, "--to-datetime", "2001-01-01T00:00:00", "--execute") == (
            0,
            "reports\torders\t0\t0\n",
            "",
        )
        again = consumed(endpoint, "reports", "orders", RECORDS)
        again.close()
        assert control.command(*back, "--to-offset", "7", "--execute")[0] == 0
        consumed(endpoint, "reports", "orders", 3).close()

        assert control.command(*below, "--delete")[0] == 0
        assert control.command(*tool, "--delete", "--group", "reports")[0] == 0
        assert control.command(*tool, "--list") == (0, "", "")
        status, _, errors = control.command(*tool, "--delete", "--group", "reports")
        assert (status, "does not exist" in errors) == (1, True)
        assert control.command("kafka-consumer-groups", "--namespace", other.name, "--list")[1] == "foreign\n"
        foreign.close()
