"""The journal of a gateway of two workers: together it says what that of one process would."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from bifrost.config.fields.journal import JOURNAL_TOPIC
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.messages import CreatePartitionsRequest, CreateTopicsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import delete_topic, log_bytes, produce
from support.gateways.gateway_fixtures import FreshTopic, UniqueName
from support.gateways.gateway_process import ACME, GLOBEX, INITECH
from support.gateways.worker_gateway import WORKERS, WorkerGateway, await_true
from support.journal.journal_reader import Record, await_journal, events, read_journal, total, usage
from support.physical_names import physical_name

FAST = {"interval_ms": 300, "snapshot_interval_ms": 500, "partitions": 3}
StartWorkers = Callable[..., WorkerGateway]


@pytest.fixture
def start(kafka: EmbeddedKafka, tmp_path: Path) -> Iterator[StartWorkers]:
    """Start two workers with a journal, `gateway_id` the gateway's name in it; the test itself ends them."""
    with ExitStack() as stack:

        def start(gateway_id: str, **options: Any) -> WorkerGateway:
            section = FAST | {"gateway_id": gateway_id} | options.pop("journal", {})
            proxy = {"workers": 2, "watch_files_ms": 0, "journal": section}
            gateway = WorkerGateway(
                tmp_path,
                kafka.bootstrap,
                tenants=(ACME, GLOBEX, INITECH),
                has_admin=True,
                log_level="debug",
                proxy=proxy,
                **options,
            )
            stack.callback(gateway.kill)
            gateway.start()
            return gateway

        yield start


def test_what_clients_of_both_did_adds_up_to_the_byte(
    start: StartWorkers, fresh_topic: FreshTopic, broker: Endpoint
) -> None:
    with RawClient(broker) as direct:
        delete_topic(direct, JOURNAL_TOPIC)
    gateway = start("pair")
    fresh_topic("acme", "orders", partitions=2)
    fresh_topic("acme", "billing", partitions=2)
    endpoint = gateway.broker_endpoint("acme")
    for worker in WORKERS:
        with closing(gateway.client_at(worker, endpoint)) as client:
            for number in range(20):
                produce(client, "orders", [b"v" * (worker * 100 + number)] * 3, number % 2)
    with_confluent(gateway.endpoint("acme"), "billing", 500)
    await_true(lambda: metric(gateway, "written_total") > 10, "the journal is written")
    dropped = {key: one for key, one in gateway.samples().items() if key[0].endswith("journal_dropped_total")}
    assert metric(gateway, "up") == 1
    assert metric(gateway, "usage_rows") > 5
    gateway.stop()
    records = read_journal(broker, "pair")

    made = {
        topic: list(usage(records, "topic", topic=topic, api="Produce")) for topic in ("orders", "billing")
    }
    for topic, rows in made.items():
        assert total(rows, "bytes_in") == log_bytes(broker, physical_name("acme", topic))
    assert total(made["orders"], "records_in") == 2 * 20 * 3
    assert total(made["billing"], "records_in") == 500
    fetched = list(usage(records, "topic", topic="billing", api="Fetch"))
    assert total(fetched, "records_out") == 500
    assert total(fetched, "bytes_out") == log_bytes(broker, physical_name("acme", "billing"))
    opened = total(usage(records, "connection"), "connections_opened")
    assert opened == total(usage(records, "connection"), "connections_closed") > 2
    assert opened == len(events(records, "authentication", outcome="success"))
    assert {one["gateway_id"] for one in records} == {"pair/0", "pair/1"}
    assert [total(of_worker(records, worker, "orders"), "records_in") for worker in WORKERS] == [60, 60]
    check_numbers(records)
    assert dropped == {}
    assert [one["event"] for one in gateway.events()].count("journal_topic_created") == 1
    not_written = [one["not_written"] for one in gateway.events() if one["event"] == "journal_ended"]
    assert not_written == [0, 0]
    looking = {one["gateway_id"] for one in records if one["kind"] == "snapshot"}
    assert len(looking) == 1
    for worker in WORKERS:
        mine = [one for one in records if one["gateway_id"] == f"pair/{worker}"]
        assert len(events(mine, "start")) == 1
        assert len(events(mine, "tenant")) == 3


def test_what_happens_to_the_gateway_is_written_once(start: StartWorkers, broker: Endpoint) -> None:
    gateway = start("whole", limits={"max_connections": 4})

    def change(configuration: dict[str, Any]) -> None:
        configuration["proxy"]["limits"]["drain_timeout_ms"] = 4000

    def break_it(configuration: dict[str, Any]) -> None:
        configuration["proxy"]["workers"] = 3

    gateway.apply(change)
    before = gateway.path.read_text()
    gateway.change(break_it)
    assert gateway.reload().returncode == 1
    gateway.path.write_text(before)
    crowd = [RawClient(gateway.broker_endpoint("acme")) for _ in range(7)]
    assert crowd[-1].receives_end()
    for one in crowd:
        one.close()
    records = await_journal(broker, "whole", lambda found: len(events(found, "limit")) > 0)
    gateway.log_file.write_text("")
    gateway.stop()
    records = read_journal(broker, "whole")

    assert [one["outcome"] for one in events(records, "reload")] == ["applied", "refused"]
    refused = events(records, "limit", rule="max_connections")
    assert total(refused, "count") == 3
    # As each worker starts, and once more after the reload.
    assert len(events(records, "tenant")) == 3 * 3
    check_numbers(records)


def test_what_was_before_a_change_is_known_in_any_worker(
    start: StartWorkers, fresh_topic: FreshTopic, broker: Endpoint, unique: UniqueName
) -> None:
    fresh_topic("acme", "orders")  # So that there is something to look at.
    gateway, name = start("before"), unique("made")
    endpoint = gateway.broker_endpoint("initech")
    looking = looker(broker, "before")
    with closing(gateway.client_at(looking, endpoint)) as client:
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=2, replication_factor=-1)
        client.request(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 7)
    for worker, count in ((1 - looking, 3), (looking, 4)):
        with closing(gateway.client_at(worker, endpoint)) as client:
            more = CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)
            client.request(CreatePartitionsRequest(topics=[more], timeout_ms=5000), 3)
    gateway.stop()

    told = events(read_journal(broker, "before"), "admin", api="CreatePartitions")

    told.sort(key=lambda one: one["after"]["partitions"])
    assert [one["before"] for one in told] == [{"partitions": "2"}, {"partitions": "3"}]


@pytest.mark.parametrize("is_looking", [True, False], ids=["the one that looks", "the other one"])
def test_one_that_is_killed_loses_less_than_an_interval_and_it_is_told(
    start: StartWorkers, fresh_topic: FreshTopic, broker: Endpoint, is_looking: bool
) -> None:
    name = "looker" if is_looking else "other"
    # First, or a snapshot could be taken while the topic of another test is gone and this one is not there yet.
    fresh_topic("initech", "orders")
    gateway = start(name, journal={"interval_ms": 1500})
    physical, endpoint = physical_name("initech", "orders"), gateway.broker_endpoint("initech")
    looking = looker(broker, name)
    victim = looking if is_looking else 1 - looking
    going, staying = (gateway.client_at(number, endpoint) for number in (victim, 1 - victim))
    for client in (going, staying):
        for number in range(10):
            produce(client, "orders", [b"x" * number * 50])
    await_journal(broker, name, lambda found: bytes_in(found) == log_bytes(broker, physical))
    written = log_bytes(broker, physical)
    before, since = gateway.samples(), gateway.mark()
    produce(going, "orders", [b"y" * 5000])
    lost_at_most = log_bytes(broker, physical) - written

    os.kill(gateway.pids()[victim], signal.SIGKILL)

    gateway.await_event(since, event="worker_died", worker=victim)
    after = gateway.samples()
    assert all(after[key] >= before[key] for key in before if "journal_written" in key[0])
    gateway.await_event(since, event="worker_ready", worker=victim, timeout_s=30)
    going.close()
    with closing(gateway.client_at(victim, endpoint)) as client:
        produce(client, "orders", [b"z" * 300])
    produce(staying, "orders", [b"z" * 300])
    staying.close()
    time.sleep(2 * 0.5)  # Snapshots go on.
    gateway.stop()
    records = read_journal(broker, name)

    lost = log_bytes(broker, physical) - bytes_in(records)
    assert lost in (0, lost_at_most), "nothing but what was not written yet, and whole"
    (death,) = events(records, "worker")
    epochs = sorted({one["epoch"] for one in records if one["gateway_id"] == f"{name}/{victim}"})
    assert (death["outcome"], death["detail"]) == ("died", "by signal SIGKILL")
    assert death["before"]["gateway_id"] == f"{name}/{victim}"
    assert death["before"]["epoch"] == str(epochs[0])
    assert len(epochs) == 2
    assert not events([one for one in records if one["epoch"] == epochs[0]], "stop")
    check_numbers([one for one in records if one["epoch"] != epochs[0]])
    assert max(Counter(number_of(one) for one in records).values()) == 1
    check_that_looks_follow_each_other(records, physical)
    looked = {(one["gateway_id"], one["epoch"]) for one in records if one["kind"] == "snapshot"}
    assert len(looked) == (2 if is_looking else 1)


def metric(gateway: WorkerGateway, name: str) -> float:
    """Return one of the journal's metrics that have no labels."""
    return gateway.samples()[f"kafka_proxy_journal_{name}",]


def looker(broker: Endpoint, gateway_id: str) -> int:
    """Return the number of the worker that makes the snapshots."""
    found = await_journal(
        broker, gateway_id, lambda records: any(one["kind"] == "snapshot" for one in records)
    )
    (name,) = {one["gateway_id"] for one in found if one["kind"] == "snapshot"}
    return int(name.rpartition("/")[2])


def bytes_in(records: list[Record]) -> int:
    """Return the bytes of records that were produced."""
    return total(usage(records, "topic", api="Produce"), "bytes_in")


def of_worker(records: list[Record], worker: int, topic: str) -> list[Record]:
    """Return what a worker has carried to a topic."""
    mine = [one for one in records if one["gateway_id"].endswith(f"/{worker}")]
    return list(usage(mine, "topic", topic=topic, api="Produce"))


def number_of(record: Record) -> tuple[str, int, int]:
    """Return by which a record is told apart."""
    return record["gateway_id"], record["epoch"], record["sequence"]


def check_numbers(records: list[Record]) -> None:
    """The numbers of each worker begin at 0, have no gaps and end in order; no other worker has its epoch."""
    sources = {(one["gateway_id"], one["epoch"]) for one in records}
    assert len({epoch for _, epoch in sources}) == len(sources)
    for source in sources:
        mine = [one for one in records if number_of(one)[:2] == source]
        assert sorted(one["sequence"] for one in mine) == list(range(len(mine)))
        assert max(mine, key=number_of)["event"]["type"] == "stop"


def check_that_looks_follow_each_other(records: list[Record], physical: str) -> None:
    """All time since the first look is covered, whichever worker looked."""
    looks = sorted(
        (one["interval_end_ms"], one["interval_start_ms"])
        for one in records
        if one.get("snapshot", {}).get("physical_topic") == physical
    )
    assert len(looks) > 3
    for (end_ms, _), (_, next_start_ms) in itertools.pairwise(looks):
        assert next_start_ms <= end_ms


def with_confluent(endpoint: Endpoint, topic: str, count: int) -> None:
    """Produce and consume by librdkafka."""
    producer = Producer(endpoint.for_confluent | {"linger.ms": 5, "client.id": "shop"})
    for number in range(count):
        producer.produce(topic, key=f"k{number}", value=f"value {number}" * 10)
    assert producer.flush(20) == 0
    settings = {"group.id": "shop", "auto.offset.reset": "earliest", "client.id": "desk"}
    consumer = Consumer(endpoint.for_confluent | settings)
    consumer.subscribe([topic])
    for _ in range(count):
        message = consumer.poll(10)
        assert message is not None
        assert message.error() is None
    consumer.close()
