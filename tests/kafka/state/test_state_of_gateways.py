"""A gateway with a state: it serves once it has read it, and two of them agree."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.state.state_change import Author, Change
from bifrost.state.state_key import StateKey
from bifrost.state.state_record import StateRecord, encode
from bifrost.wire.error_codes import ErrorCode
from support.clients.raw_client import RawClient
from support.clients.raw_operations import metadata_of
from support.gateways.admin_port import ask, await_value, value
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import GatewayProcess
from support.state_clients import reading, write_raw

pytestmark = pytest.mark.timeout(180)

WRITER = Author("test/1")


def key(name: str) -> StateKey:
    """Return a key of a kind that gateways keep, and have no use for."""
    return StateKey("note", name)


async def put(bootstrap: str, topic: str, *names: str) -> None:
    async with reading(bootstrap, topic) as one:
        await one.writer.change([Change(key(name), 0, {}) for name in names], WRITER)


async def put_future(bootstrap: str, topic: str) -> None:
    record = encode(StateRecord(key("new"), 1, 0, "c", "new-gateway", None, {}))
    async with reading(bootstrap, topic) as one:
        future = record.replace(b'"schema":1', b'"schema":2')
        await write_raw(one, b"note:new", future)


@pytest.mark.parametrize("workers", [1, 2])
def test_gateways_follow_the_state(kafka: EmbeddedKafka, start_gateway: StartGateway, workers: int) -> None:
    topic = f"__state-{time.time_ns()}"
    options = {"has_admin": True, "proxy": {"state": {"topic": topic}, "workers": workers}}
    gateways = [start_gateway(**options), start_gateway(**options)]

    asyncio.run(put(kafka.bootstrap, topic, "a", "b"))

    for gateway in gateways:
        await_value(lambda: value(gateway, "kafka_proxy_state_records"), 2)  # noqa: B023
        await_value(lambda: value(gateway, "kafka_proxy_state_up"), 1)  # noqa: B023
        await_value(lambda: value(gateway, "kafka_proxy_state_lag_offsets"), 0)  # noqa: B023
        assert value(gateway, "kafka_proxy_state_records_ignored_total") == 0


def test_a_gateway_that_meets_a_future_record_says_so_and_is_not_ready(
    kafka: EmbeddedKafka, start_gateway: StartGateway
) -> None:
    topic = f"__state-{time.time_ns()}"
    serving: GatewayProcess = start_gateway(has_admin=True, proxy={"state": {"topic": topic}})
    assert ask(serving, "/readyz")[0] == 200

    asyncio.run(put_future(kafka.bootstrap, topic))

    serving.provoked.add("state_unreadable")
    told = serving.await_event(0, event="state_unreadable", timeout_s=30)
    assert "note:new at offset" in told["error"]
    assert "schema version 2, and this gateway knows up to 1: run the version of the gateway" in told["error"]
    ends = time.monotonic() + 30
    while ask(serving, "/readyz")[0] != 503:  # it looks whenever it asks the clusters
        assert time.monotonic() < ends
        time.sleep(0.1)


def test_a_gateway_that_cannot_read_its_state_does_not_serve(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    topic = f"__state-{time.time_ns()}"
    asyncio.run(put_future(kafka.bootstrap, topic))
    gateway = GatewayProcess(tmp_path, kafka.bootstrap, has_admin=True, proxy={"state": {"topic": topic}})
    gateway.provoked.add("state_unreadable")
    gateway.launch()
    try:
        gateway_log_exists(gateway)
        gateway.await_event(0, event="state_unreadable", timeout_s=60)

        assert ask(gateway, "/readyz")[0] == 503
        with pytest.raises(OSError):  # noqa: PT011 - refused, or reset
            RawClient.authenticated(gateway.endpoint("globex"))
        assert "ready" not in {one["event"] for one in gateway.events()}
    finally:
        gateway.stop()


def gateway_log_exists(gateway: GatewayProcess) -> None:
    ends = time.monotonic() + 30
    while not gateway.log_file.exists():
        assert time.monotonic() < ends
        time.sleep(0.02)


def test_the_topic_is_hidden_from_tenants_whatever_its_name(
    kafka: EmbeddedKafka, start_gateway: StartGateway
) -> None:
    topic = f"platform-state-{time.time_ns()}"
    gateway = start_gateway(proxy={"state": {"topic": topic}})

    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        [named] = metadata_of(client, topic)
        assert named.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
