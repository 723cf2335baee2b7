"""The configuration changes under a running gateway: who is not concerned does not notice."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import metadata_of, recreate_topic
from support.gateways.gateway_process import ACME, GLOBEX, HOST, free_ports
from support.gateways.reloadable_gateway import Reloadable
from support.physical_names import physical_name

RELOADS = 100


@pytest.fixture
def reloadable(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[Reloadable]:
    """It looks at its files only when told to; two tenants."""

    def adjust(configuration: dict[str, Any]) -> None:
        configuration["proxy"]["watch_files_ms"] = 0

    with Reloadable(
        tmp_path, kafka.bootstrap, tenants=(ACME, GLOBEX), has_admin=True, adjust=adjust
    ) as gateway:
        yield gateway


def tenant(configuration: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in configuration["tenants"] if one["name"] == name)
    return found


def with_one_more(configuration: dict[str, Any]) -> None:
    acme = tenant(configuration, "acme")["auth"]["credentials"][0]
    new = {"name": "new", "auth": {"credentials": [acme | {"username": "new"}]}}
    configuration["tenants"].append(new)


def without_globex(configuration: dict[str, Any]) -> None:
    configuration["tenants"].remove(tenant(configuration, "globex"))


def is_served(client: RawClient) -> bool:
    """Whether the connection still lives."""
    try:
        return bool(client.request(MetadataRequest(topics=[]), 5).brokers)
    except (EOFError, OSError):
        return False


def test_a_new_tenant_is_served_and_no_other_client_notices(reloadable: Reloadable) -> None:
    with RawClient.authenticated(reloadable.broker_endpoint("acme")) as before:
        reloadable.apply(with_one_more)

        new = Endpoint(HOST, reloadable.broker_port(1), "new", ACME.password)
        with RawClient.authenticated(new) as client:
            assert is_served(client)
        assert is_served(before)


def test_who_is_removed_is_disconnected_and_comes_in_no_more(reloadable: Reloadable) -> None:
    acme, globex = reloadable.broker_endpoint("acme"), reloadable.broker_endpoint("globex")
    since = reloadable.mark()
    with RawClient.authenticated(acme) as staying, RawClient.authenticated(globex) as going:
        reloadable.apply(without_globex)

        assert not is_served(going)
        assert is_served(staying)
    ended = reloadable.await_event(since, event="connection_ended", tenant="globex")
    assert ended["reason"] == "credential_removed"
    with pytest.raises((EOFError, OSError, AssertionError)):
        RawClient.authenticated(globex)


def test_a_new_password_holds_for_the_next_authentication(reloadable: Reloadable) -> None:
    acme = reloadable.broker_endpoint("acme")
    with RawClient.authenticated(acme) as before:
        (reloadable.directory / "secrets" / "acme.password").write_text("another\n")
        assert reloadable.reload().returncode == 0

        assert is_served(before)
        other = Endpoint(acme.host, acme.port, "acme", "another")
        with RawClient.authenticated(other) as client:
            assert is_served(client)
        with pytest.raises((EOFError, OSError, AssertionError)):
            RawClient.authenticated(acme)


def test_a_longer_list_holds_at_once_and_a_shorter_one_for_new_connections(
    reloadable: Reloadable, direct: RawClient
) -> None:
    recreate_topic(direct, physical_name("acme", "extra"))
    with RawClient.authenticated(reloadable.broker_endpoint("acme")) as client:
        assert metadata_of(client, "extra")[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        reloadable.apply(lambda config: tenant(config, "acme")["allowed_topics"].append("extra"))
        assert metadata_of(client, "extra")[0].error_code == ErrorCode.NONE

        reloadable.apply(lambda config: tenant(config, "acme")["allowed_topics"].remove("extra"))
        assert not is_served(client)
    with RawClient.authenticated(reloadable.broker_endpoint("acme")) as client:
        assert metadata_of(client, "extra")[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_listener_sets_come_and_go(reloadable: Reloadable) -> None:
    port = free_ports(3)

    def add(configuration: dict[str, Any]) -> None:
        first = configuration["proxy"]["listener_sets"][0]
        ports = first["port_range"] | {
            "bootstrap_port": port,
            "broker_port_range": {"start": port + 1, "end": port + 2},
        }
        configuration["proxy"]["listener_sets"].append({"name": "second", "port_range": ports})

    with RawClient.authenticated(reloadable.broker_endpoint("acme")) as before:
        reloadable.apply(add)
        second = Endpoint(HOST, port, "acme", ACME.password)
        with RawClient.authenticated(second) as client:
            assert client.request(MetadataRequest(topics=[]), 5).brokers[0].port == port + 1
            reloadable.apply(lambda config: config["proxy"]["listener_sets"].pop())
            assert not is_served(client)
        with pytest.raises(OSError, match="refused"):
            RawClient.authenticated(second)
        assert is_served(before)


def test_limits_hold_for_connections_that_are_open(reloadable: Reloadable) -> None:
    with RawClient.authenticated(reloadable.broker_endpoint("acme")) as client:
        reloadable.apply(lambda config: config["proxy"]["limits"].update(max_connections=1))

        with pytest.raises((EOFError, OSError)):
            RawClient.authenticated(reloadable.broker_endpoint("globex"))
        assert is_served(client)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda config: config.update(colour="red"), "colour: unknown key"),
        (lambda config: config["upstream"].update(bootstrap=[f"{HOST}:1"]), f"upstream upstream: {HOST}:1: "),
        (lambda config: config["proxy"].update(journal={}), "proxy.journal cannot change"),
    ],
)
def test_a_bad_configuration_is_refused_whole(
    reloadable: Reloadable, change: Callable[[dict[str, Any]], None], expected: str
) -> None:
    def both(configuration: dict[str, Any]) -> None:
        with_one_more(configuration)
        change(configuration)

    reloadable.change(both)
    done = reloadable.reload()
    since = reloadable.mark()
    os.kill(reloadable.pid, signal.SIGHUP)

    assert done.returncode == 1
    assert expected in done.stderr
    refused = reloadable.await_event(since, event="reload_refused")
    assert expected in refused["error"]
    with pytest.raises((EOFError, OSError, AssertionError)):
        RawClient.authenticated(Endpoint(HOST, reloadable.broker_port(1), "new", ACME.password))
    with RawClient.authenticated(reloadable.broker_endpoint("globex")) as client:
        assert is_served(client)
    # Or the end of the test would take the refusal for a bug.
    reloadable.log_file.write_text("")


def test_a_change_of_the_file_is_noticed(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    def adjust(configuration: dict[str, Any]) -> None:
        configuration["proxy"]["watch_files_ms"] = 100

    with Reloadable(tmp_path, kafka.bootstrap, tenants=(ACME, GLOBEX), adjust=adjust) as gateway:
        gateway.change(with_one_more)
        gateway.await_event(0, event="reloaded", outcome="applied")
        (gateway.directory / "secrets" / "globex.password").write_text("another\n")
        gateway.await_event(gateway.mark(), event="reloaded", outcome="applied")

        other = Endpoint(HOST, gateway.broker_port(1), "globex", "another")
        with RawClient.authenticated(other) as client:
            assert is_served(client)


def test_sighup_reloads(reloadable: Reloadable) -> None:
    os.kill(reloadable.pid, signal.SIGHUP)
    reloadable.await_event(0, event="reloaded", outcome="unchanged")
    reloadable.change(with_one_more)
    os.kill(reloadable.pid, signal.SIGHUP)

    reloadable.await_event(0, event="reloaded", outcome="applied")
    with RawClient.authenticated(Endpoint(HOST, reloadable.broker_port(1), "new", ACME.password)) as client:
        assert is_served(client)


def test_a_hundred_reloads_under_load_fail_no_request(reloadable: Reloadable, direct: RawClient) -> None:
    failures: list[str] = []
    stop = threading.Event()
    endpoint = reloadable.endpoint("acme").for_confluent
    sent, read = [0], [0]

    def failed(error: KafkaError, *_: object) -> None:
        failures.append(str(error))

    def produce() -> None:
        producer = Producer(endpoint | {"error_cb": failed, "retries": 0, "linger.ms": 1})
        while not stop.is_set():
            producer.produce("orders", b"x" * 100, on_delivery=lambda error, _: error and failed(error))
            producer.poll(0.001)
            sent[0] += 1
        assert producer.flush(20) == 0

    def consume() -> None:
        options = {"group.id": "reload", "auto.offset.reset": "earliest", "error_cb": failed}
        consumer = Consumer(endpoint | options)
        consumer.subscribe(["orders"])
        deadline = time.monotonic() + 60
        while (not stop.is_set() or read[0] < sent[0]) and time.monotonic() < deadline:
            for message in consumer.consume(500, 0.1):
                assert message.error() is None
                read[0] += 1
        consumer.close()

    recreate_topic(direct, physical_name("acme", "orders"), partitions=2)
    threads = [threading.Thread(target=work) for work in (produce, consume)]
    for thread in threads:
        thread.start()
    since = reloadable.mark()
    for number in range(RELOADS):
        reloadable.change(without_globex if number == 0 else with_one_more if number % 2 else _without_new)
        done = time.monotonic() + 10
        os.kill(reloadable.pid, signal.SIGHUP)
        while len([e for e in reloadable.events(since) if e["event"] == "reloaded"]) <= number:
            assert time.monotonic() < done, reloadable.log()
            time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join(90)

    outcomes = [event["outcome"] for event in reloadable.events(since) if event["event"] == "reloaded"]
    assert outcomes == ["applied"] * RELOADS
    assert failures == []
    assert read[0] == sent[0] > 1000
    ended = [event for event in reloadable.events(since) if event["event"] == "connection_ended"]
    assert ended == []


def _without_new(configuration: dict[str, Any]) -> None:
    configuration["tenants"].remove(tenant(configuration, "new"))
