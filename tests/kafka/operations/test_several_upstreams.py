"""One gateway before two real Kafka clusters, of which one is not there at first."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.gateways.gateway_process import HOST, GatewayProcess, TenantSpec, free_ports
from support.physical_names import MARK, physical_name

TENANTS = (TenantSpec("near"), TenantSpec("far"))


def exchange(endpoint: Endpoint, value: str) -> str:
    """Create a topic, send a record and read it."""
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic("orders", 1, 1)])["orders"].result(20)
    producer = Producer(endpoint.for_confluent)
    producer.produce("orders", value)
    assert producer.flush(20) == 0
    consumer = Consumer(endpoint.for_confluent | {"group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    message = consumer.poll(20)
    consumer.close()
    assert message is not None
    found: bytes = message.value()
    return found.decode()


def physical_topics(kafka: EmbeddedKafka) -> set[str]:
    return set(AdminClient({"bootstrap.servers": kafka.bootstrap}).list_topics(timeout=20).topics)


def two(first: str, second: str) -> Any:
    def adjust(configuration: dict[str, Any]) -> None:
        del configuration["upstream"]
        configuration["upstreams"] = [
            {"name": name, "bootstrap": [address]} for name, address in (("near", first), ("far", second))
        ]
        configuration["proxy"]["limits"]["metadata_refresh_ms"] = 1000
        for tenant in configuration["tenants"]:
            tenant["upstream"] = tenant["name"]

    return adjust


def test_each_tenant_is_on_its_own_cluster(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    with EmbeddedKafka(kafka.version) as other:
        adjust = two(kafka.bootstrap, other.bootstrap)
        with GatewayProcess(tmp_path, "", tenants=TENANTS, adjust=adjust) as gateway:
            gateway.await_event(0, event="ready")
            near = exchange(gateway.endpoint("near"), "in the near one")
            far = exchange(gateway.endpoint("far"), "in the far one")

        assert (near, far) == ("in the near one", "in the far one")
        assert {one for one in physical_topics(kafka) if "orders" in one and "_near_" in one} == {
            physical_name("near", "orders")
        }
        assert {one for one in physical_topics(other) if one.startswith(MARK)} == {
            physical_name("far", "orders")
        }


def test_one_that_is_down_keeps_no_other_waiting(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    nowhere = f"{HOST}:{free_ports(1)}"
    tenants = (TenantSpec("near"), TenantSpec("far"))
    with GatewayProcess(tmp_path, "", tenants=tenants, adjust=two(kafka.bootstrap, nowhere)) as gateway:
        assert set(AdminClient(gateway.endpoint("near").for_confluent).list_topics(timeout=20).brokers) == {1}

        since = gateway.mark()
        with pytest.raises(Exception, match=r"_TRANSPORT|_TIMED_OUT|Failed"):
            AdminClient(gateway.endpoint("far").for_confluent).list_topics(timeout=3)
        ended = gateway.await_event(since, event="connection_ended", reason="broker_unreachable")
        assert ended["tenant"] == "far"
        assert "upstream far" in ended["detail"]


def test_one_that_is_given_twice_is_refused_to_the_later_tenants(
    kafka: EmbeddedKafka, tmp_path: Path
) -> None:
    """By another address of the same broker: only the cluster's ID tells."""
    same = kafka.bootstrap.replace(HOST, "localhost")
    tenants = (TenantSpec("near"), TenantSpec("far"))
    with GatewayProcess(tmp_path, "", tenants=tenants, adjust=two(kafka.bootstrap, same)) as gateway:
        told = gateway.await_event(0, event="upstream_given_twice")
        assert (told["upstream"], told["same_as"]) in {("far", "near")}

        assert set(AdminClient(gateway.endpoint("near").for_confluent).list_topics(timeout=20).brokers) == {1}
        with pytest.raises(Exception, match=r"_TRANSPORT|_TIMED_OUT|Failed"):
            AdminClient(gateway.endpoint("far").for_confluent).list_topics(timeout=3)
        # Or the end of the test would take the refusal for a bug.
        gateway.log_file.write_text("")
