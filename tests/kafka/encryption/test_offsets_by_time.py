"""Offsets that clients look up by time in an encrypted topic are those of the same records in one that is not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ListOffsetsRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import PRODUCE_BY_NAME, create_topic, produce_request
from support.encryption.key_files import encryption, write_key_file
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.java.java_clients import JavaClients
from support.physical_names import physical_name
from support.records.record_columns import CODECS, batch_of

SEALED, VALUES, PLAIN = "times-sealed", "times-values", "times-plain"
APPENDED, APPENDED_PLAIN = "times-appended", "times-appended-plain"
NOW_MS = 1_700_000_000_000
EARLIEST, LATEST, MAX_TIMESTAMP = -2, -1, -3
TIMES = (
    (100, 150, 120),
    (110, 90, 400, 300, 400),
    (350,),
    (200, 390, 410, 405),
    (405, 410, 380),
    (500, 600, 700),
)
"""When the records of each batch were made, in milliseconds, in no order."""
PARTITIONS = len(CODECS)
"""One for each codec."""
OLDEST_WITH_MAX = 7
APART_S = 0.002
"""Between two batches, so that a broker appends no two of a partition in one millisecond."""


@pytest.fixture(scope="module")
def key_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_key_file(tmp_path_factory.mktemp("keks") / "keks", "payments")


@pytest.fixture(scope="module")
def encrypting(
    kafka: EmbeddedKafka, broker: Endpoint, key_file: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [
            encryption(key_file, SEALED, APPENDED, label="sealed"),
            encryption(key_file, VALUES, label="values", mode="values"),
        ]

    directory = tmp_path_factory.mktemp("encrypting")
    with (
        GatewayProcess(directory, kafka.bootstrap, tenants=[GLOBEX], adjust=adjust) as process,
        RawClient(broker) as direct,
    ):
        configs = {"retention.ms": "-1"}
        for topic in (SEALED, VALUES, PLAIN):
            create_topic(direct, physical_name("globex", topic), PARTITIONS, configs)
        for topic in (APPENDED, APPENDED_PLAIN):
            append_time = configs | {"message.timestamp.type": "LogAppendTime"}
            create_topic(direct, physical_name("globex", topic), 1, append_time)
        with RawClient.authenticated(process.broker_endpoint("globex")) as client:
            for topic in (SEALED, VALUES, PLAIN):
                for codec in range(PARTITIONS):
                    write(client, topic, codec, codec)
            for topic in (APPENDED, APPENDED_PLAIN):
                write(client, topic, 0, 0)
        yield process


def write(client: RawClient, topic: str, partition: int, codec: int) -> None:
    for times in TIMES:
        sleep(APART_S)
        records = [ColumnRecord(i, time - times[0], b"%d" % i, bytes(50)) for i, time in enumerate(times)]
        data = batch_of(records, codec=codec, base_timestamp_ms=NOW_MS + times[0])
        answer = client.request(produce_request(topic, data, partition=partition), PRODUCE_BY_NAME)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def looked_up(
    client: RawClient, topic: str, timestamps: dict[int, int], version: int = OLDEST_WITH_MAX
) -> list[tuple[int, int, int, int]]:
    """Look up a time for each partition; return partition, error code, offset and timestamp."""
    wanted = [
        ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
        for partition, timestamp in timestamps.items()
    ]
    named = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=wanted)
    answer = client.request(ListOffsetsRequest(replica_id=-1, topics=[named], timeout_ms=5_000), version)
    return sorted(
        (one.partition_index, one.error_code, one.offset, one.timestamp)
        for one in answer.topics[0].partitions
    )


@pytest.fixture
def client(encrypting: GatewayProcess) -> Iterator[RawClient]:
    with RawClient.authenticated(encrypting.broker_endpoint("globex")) as found:
        yield found


@pytest.mark.parametrize("topic", [SEALED, VALUES])
def test_every_time_is_looked_up_as_in_a_topic_that_is_not_encrypted(client: RawClient, topic: str) -> None:
    made = {time for times in TIMES for time in times}
    for time in sorted({time + shift for time in made for shift in (-1, 0, 1)}):
        wanted = dict.fromkeys(range(PARTITIONS), NOW_MS + time)
        assert looked_up(client, topic, wanted) == looked_up(client, PLAIN, wanted), time


def test_the_record_with_the_latest_time_is_found(client: RawClient) -> None:
    wanted = dict.fromkeys(range(PARTITIONS), MAX_TIMESTAMP)

    found = looked_up(client, SEALED, wanted)

    assert found == looked_up(client, PLAIN, wanted)
    assert {(offset, time) for _, _, offset, time in found} == {(sum(map(len, TIMES)) - 1, NOW_MS + 700)}


def test_every_version_has_the_same_answers(client: RawClient) -> None:
    versions = client.versions()[ApiKey.LIST_OFFSETS]
    for version in range(max(versions[0], 1), versions[1] + 1):
        latest = MAX_TIMESTAMP if version >= OLDEST_WITH_MAX else NOW_MS + 399
        wanted = {0: NOW_MS + 401, 1: EARLIEST, 2: LATEST, 3: latest, 4: NOW_MS + 9_999}
        found = looked_up(client, SEALED, wanted, version)

        assert found == looked_up(client, PLAIN, wanted, version), version
        assert found[0] == (0, ErrorCode.NONE, 11, NOW_MS + 410)


def test_the_time_that_the_broker_appends_by_is_looked_up_as_it_is(client: RawClient) -> None:
    for timestamp in (0, MAX_TIMESTAMP):
        (sealed,) = looked_up(client, APPENDED, {0: timestamp})
        (plain,) = looked_up(client, APPENDED_PLAIN, {0: timestamp})
        assert sealed[:3] == plain[:3]


def test_librdkafka_looks_up_the_same_offsets(encrypting: GatewayProcess) -> None:
    own = {"group.id": "unused", "enable.auto.commit": False}
    with closing(Consumer(encrypting.endpoint("globex").for_confluent | own)) as consumer:

        def offsets(topic: str, time: int) -> list[int]:
            wanted = [TopicPartition(topic, one, NOW_MS + time) for one in range(PARTITIONS)]
            return [one.offset for one in consumer.offsets_for_times(wanted, timeout=20)]

        for time in (90, 121, 399, 401, 599, 701):
            assert offsets(SEALED, time) == offsets(PLAIN, time)
        assert offsets(SEALED, 401) == [11] * PARTITIONS


@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_java_seeks_to_the_first_record_of_a_time(java: JavaClients, encrypting: GatewayProcess) -> None:
    consumer = java.consumer(encrypting.endpoint("globex"))
    for time in (121, 399, 401):
        sealed, plain = (java("offsets", consumer, topic, NOW_MS + time, 4) for topic in (SEALED, PLAIN))
        assert sealed == plain
    java("close", consumer)


def test_a_batch_whose_key_is_gone_has_the_offset_at_which_consumers_get_the_error(
    encrypting: GatewayProcess, start_gateway: StartGateway, tmp_path: Path
) -> None:
    """Of one partition; the others have their answers."""
    other = write_key_file(tmp_path / "keks", "another")

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [encryption(other, SEALED, key="another")]

    gateway = start_gateway(tenants=[GLOBEX], adjust=adjust)
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        found = looked_up(client, SEALED, {0: NOW_MS + 401, 1: EARLIEST})

    assert found == [(0, ErrorCode.NONE, 9, NOW_MS + 410), (1, ErrorCode.NONE, 0, -1)]
