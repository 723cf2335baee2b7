"""What happens when a worker dies, or its supervisor, or all of them are told to stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from datetime import datetime
from pathlib import Path

import psutil
import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import HeartbeatRequest, MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient, decode_response
from support.clients.raw_operations import fetch_request
from support.clients.steady_load import ConfluentLoad, PythonLoad, await_growth
from support.gateways.admin_port import ask
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import ACME, INITECH
from support.gateways.worker_gateway import WORKERS, WorkerGateway, await_true
from support.journal.records import read_committed
from support.physical_names import physical_name

LONG_POLL_MS = 1500
REPLACED_S = 2.0
"""On a machine with a core for it; where more programs want to run than there are cores, it takes as much longer."""
StartWorkers = Callable[..., WorkerGateway]


@pytest.fixture
def start(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[StartWorkers]:
    """Start two workers, which the test itself ends."""
    with ExitStack() as stack:

        def start(**options: object) -> WorkerGateway:
            settings = {"tenants": (ACME, INITECH), "has_admin": True, "log_level": "debug"} | options
            settings.setdefault("proxy", {"workers": 2, "watch_files_ms": 0})
            gateway = WorkerGateway(tmp_path, kafka.bootstrap, **settings)  # type: ignore[arg-type]
            stack.callback(gateway.kill)
            gateway.start()
            return gateway

        yield start


def is_served(client: RawClient) -> bool:
    return bool(client.request(MetadataRequest(topics=[]), 5).brokers)


def test_a_killed_worker_takes_its_own_connections_with_it_and_no_record(
    start: StartWorkers, fresh_topic: FreshTopic, broker: Endpoint
) -> None:
    gateway = start()
    endpoint = gateway.broker_endpoint("initech")
    loads = [ConfluentLoad(gateway.endpoint("initech")), PythonLoad(gateway.endpoint("initech"))]
    for load in loads:
        fresh_topic("initech", load.topic, partitions=2)
        load.start()
    await_growth(loads, by=100, timeout_s=60)
    victim, survivor = 0, 1
    staying = [gateway.client_at(survivor, endpoint) for _ in range(3)]
    going = [gateway.client_at(victim, endpoint) for _ in range(3)]
    for client in (*staying, *going):
        for _ in range(5):
            client.request(HeartbeatRequest(group_id="g", member_id="m"), 4)
    requests = ("kafka_proxy_requests_total", "Heartbeat", "initech")
    before, since = gateway.samples(), gateway.mark()

    os.kill(gateway.pids()[victim], signal.SIGKILL)

    assert all(client.receives_end() for client in going)
    died = gateway.await_event(since, event="worker_died")
    assert (died["worker"], died["by"]) == (victim, "signal SIGKILL")
    after = gateway.samples()
    counters = {key for key in before if key[0].endswith(("_total", "_count", "_sum"))}
    assert {key for key in counters if after.get(key, 0) < before[key]} == set()
    assert after[requests] >= before[requests] >= 30
    ready = gateway.await_event(since, event="worker_ready", worker=victim, timeout_s=30)
    took = datetime.fromisoformat(ready["timestamp"]) - datetime.fromisoformat(died["timestamp"])
    crowded = max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
    assert took.total_seconds() < REPLACED_S * crowded
    assert gateway.samples().get(("kafka_proxy_connections_ended_total", "too_many_connections"), 0) == 0
    assert all(is_served(client) for client in staying)
    await_growth(loads, by=100, timeout_s=60)
    with closing(gateway.client_at(victim, endpoint)) as client:
        assert is_served(client)
    for load in loads:
        load.stop()
    for load in loads:
        load.join(60)
        assert load.failure is None, f"{load.name} gave up: {load.failure!r}"
        written = [
            value.decode() for _, value in read_committed(broker, physical_name("initech", load.topic))
        ]
        assert Counter(written) == Counter(load.acknowledged), load.name
        assert load.read == set(written)
    for client in (*staying, *going):
        client.close()
    assert {end["worker"] for end in gateway.events(since) if end.get("reason") == "internal_error"} == set()
    gateway.stop()


def test_all_killed_at_once_are_replaced_and_no_client_is_refused_meanwhile(start: StartWorkers) -> None:
    gateway = start()
    for worker, pid in gateway.pids().items():
        os.kill(pid, signal.SIGKILL)
        gateway.await_event(0, event="worker_died", worker=worker)

    with RawClient.authenticated(gateway.broker_endpoint("acme"), timeout_s=30) as client:
        assert is_served(client)
    assert gateway.samples()["kafka_proxy_worker_starts_total", "0"] >= 2
    gateway.stop()


def test_a_connection_that_no_worker_takes_any_more_is_refused_and_counted(start: StartWorkers) -> None:
    """Connections and ended workers await the supervisor at once; it takes the connections first."""
    gateway = start()
    workers = [psutil.Process(pid) for pid in gateway.pids().values()]
    since = gateway.mark()
    os.kill(gateway.pid, signal.SIGSTOP)
    try:
        clients = [RawClient(gateway.endpoint("acme")) for _ in range(3)]
        for worker in workers:
            worker.kill()
        for worker in workers:
            await_true(lambda one=worker: one.status() == psutil.STATUS_ZOMBIE, "a dead worker")
    finally:
        os.kill(gateway.pid, signal.SIGCONT)

    assert all(client.receives_end() for client in clients)

    assert gateway.samples()["kafka_proxy_connections_ended_total", "no_worker"] == len(clients)
    ends = [one for one in gateway.events(since) if one["event"] == "connection_ended"]
    assert [one["reason"] for one in ends] == ["no_worker"] * len(clients)
    for client in clients:
        client.close()
    with RawClient.authenticated(gateway.broker_endpoint("acme"), timeout_s=30) as client:
        assert is_served(client)
    gateway.stop()


def test_one_that_keeps_dying_is_started_less_and_less_often(start: StartWorkers) -> None:
    gateway = start()
    since = gateway.mark()
    for _ in range(3):
        mark = gateway.mark()
        os.kill(gateway.pids()[0], signal.SIGKILL)
        gateway.await_event(mark, event="worker_ready", worker=0, timeout_s=30)

    delays = [one["retry_in_s"] for one in gateway.events(since) if one["event"] == "worker_restarts_later"]
    assert delays == [1.0, 2.0]
    gateway.stop()


def test_what_is_in_flight_in_any_worker_is_answered_before_it_stops(
    start: StartWorkers, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    gateway = start()
    clients = [gateway.client_at(number, gateway.broker_endpoint("acme")) for number in WORKERS]
    idle = [gateway.client_at(number, gateway.broker_endpoint("acme")) for number in WORKERS]
    request = fetch_request("orders", max_wait_ms=LONG_POLL_MS)
    request.min_bytes = 1 << 20
    waiting = [client.send(request, 11) for client in clients]
    time.sleep(0.3)

    gateway.terminate()

    gateway.await_event(0, event="draining")
    assert ask(gateway, "/readyz")[0] == 503
    assert all(client.receives_end() for client in idle)
    with pytest.raises(OSError, match="refused"):
        RawClient(gateway.endpoint("acme"))
    for client, correlation_id in zip(clients, waiting, strict=True):
        frame = client.receive_frame()
        assert int.from_bytes(frame[:4], "big") == correlation_id
        assert decode_response(ApiKey.FETCH, 11, frame).responses[0].partitions[0].error_code == 0
        assert client.socket.recv(1) == b"", "an end in order, no reset"
        client.close()
    for client in idle:
        client.close()
    gateway.await_end()
    assert [one["cut"] for one in gateway.events() if one["event"] == "drained"] == [0, 0]


def test_a_second_signal_waits_for_no_client(start: StartWorkers, fresh_topic: FreshTopic) -> None:
    fresh_topic("acme", "orders")
    gateway = start()
    clients = [gateway.client_at(number, gateway.broker_endpoint("acme")) for number in WORKERS]
    request = fetch_request("orders", max_wait_ms=10_000)
    request.min_bytes = 1 << 20
    for client in clients:
        client.send(request, 11)
    time.sleep(0.3)
    gateway.terminate()
    gateway.await_event(0, event="draining", worker=1)
    began = time.monotonic()

    gateway.terminate()

    gateway.await_end()
    assert time.monotonic() - began < 3
    for client in clients:
        client.close()


def test_one_worker_that_is_told_to_stop_drains_and_another_takes_its_place(
    start: StartWorkers, fresh_topic: FreshTopic
) -> None:
    fresh_topic("acme", "orders")
    gateway = start()
    client = gateway.client_at(0, gateway.broker_endpoint("acme"))
    staying = gateway.client_at(1, gateway.broker_endpoint("acme"))
    request = fetch_request("orders", max_wait_ms=LONG_POLL_MS)
    request.min_bytes = 1 << 20
    correlation_id = client.send(request, 11)
    since = gateway.mark()
    time.sleep(0.2)

    os.kill(gateway.pids()[0], signal.SIGTERM)

    assert int.from_bytes(client.receive_frame()[:4], "big") == correlation_id
    gateway.await_event(since, event="worker_ready", worker=0, timeout_s=30)
    assert is_served(staying)
    for one in (client, staying):
        one.close()
    gateway.stop()


def test_workers_do_not_outlive_their_supervisor(start: StartWorkers) -> None:
    gateway = start()
    workers = [psutil.Process(pid) for pid in gateway.pids().values()]

    os.kill(gateway.pid, signal.SIGKILL)

    _, alive = psutil.wait_procs(workers, timeout=5)
    assert alive == []


def test_one_that_hangs_is_given_no_connections(start: StartWorkers) -> None:
    gateway = start()
    hanging = gateway.pids()[0]
    os.kill(hanging, signal.SIGSTOP)
    try:
        time.sleep(1.5)
        for _ in range(6):
            with RawClient.authenticated(gateway.broker_endpoint("acme"), timeout_s=5) as client:
                assert is_served(client)
                assert gateway.worker_of(client) == 1
    finally:
        os.kill(hanging, signal.SIGCONT)
    gateway.stop()


def test_a_port_that_is_taken_is_the_gateways_own_error(kafka: EmbeddedKafka, tmp_path: Path) -> None:
    gateway = WorkerGateway(tmp_path, kafka.bootstrap, tenants=(ACME,), proxy={"workers": 2})
    gateway.start()
    gateway.stop()
    import socket

    command = [sys.executable, "-m", "bifrost.cli.main", "run", "--config", str(gateway.path)]
    with socket.create_server(("127.0.0.1", gateway.bootstrap_port)):
        done, as_json = (
            subprocess.run([*command, *more], capture_output=True, text=True, timeout=30, check=False)
            for more in ((), ("--log-format", "json"))
        )

    why = f"listener plaintext: port {gateway.bootstrap_port} on 127.0.0.1 is in use"
    assert (done.returncode, as_json.returncode) == (1, 1)
    assert f"error: {why}" in done.stderr
    assert "Traceback" not in done.stderr
    lines = [json.loads(line) for line in as_json.stderr.splitlines()]
    assert [one["error"].startswith(why) for one in lines if one["event"] == "not_started"] == [True]


def test_failed_authentications_in_one_worker_delay_in_the_other(start: StartWorkers) -> None:
    gateway = start(limits={"max_authentication_delay_ms": 2_000})
    endpoint = gateway.broker_endpoint("acme")
    for _ in range(6):
        with RawClient(endpoint) as client:
            client.try_to_authenticate("acme", "wrong")
            assert client.receives_end()

    waited: dict[int, float] = {}
    while len(waited) < len(WORKERS):
        began = time.monotonic()
        with RawClient.authenticated(endpoint) as client:
            waited[gateway.worker_of(client)] = time.monotonic() - began

    assert min(waited.values()) > 1.8
    gateway.stop()


def test_the_gateways_own_processes_are_told_of_together(start: StartWorkers) -> None:
    gateway = start()
    processes = [psutil.Process(pid) for pid in (gateway.pid, *gateway.pids().values())]

    told = gateway.samples()["process_resident_memory_bytes",]

    whole = sum(process.memory_info().rss for process in processes)
    assert told == pytest.approx(whole, rel=0.1)
    await_true(lambda: gateway.samples()["process_cpu_seconds_total",] > 1, "some CPU time")
    gateway.stop()
