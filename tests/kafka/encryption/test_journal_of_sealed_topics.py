"""What a gateway with encryption tells: its journal counts what clients sent and got, and nothing of it has a key."""

from __future__ import annotations

import base64
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.sealed_batch import read_sealed
from bifrost.encryption.wrapped_dek import read_wrapped_dek
from bifrost.keys.key_file import KeyFile
from bifrost.records.codec.client_batch import split_batches
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    FETCH_BY_NAME,
    PRODUCE_BY_NAME,
    fetch_request,
    log_bytes,
    produce_request,
    records_of,
)
from support.encryption.key_files import encryption, write_key_file
from support.encryption.sealing import with_checksum
from support.gateways import admin_port
from support.gateways.gateway_fixtures import FreshTopic
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.journal.journal_reader import read_journal, total, usage
from support.physical_names import physical_name
from support.records.record_columns import batch_of, plenty

SEALED, VALUES, FREE = "told-sealed", "told-values", "told-free"
JOURNAL = "sealing"
CODECS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
RECORDS = 50
"""Of each batch."""
KEY_BYTES = 32


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    return write_key_file(tmp_path / "keks", "payments")


@pytest.fixture
def gateway(kafka: EmbeddedKafka, key_file: Path, tmp_path: Path) -> Iterator[GatewayProcess]:
    """A gateway that logs all it can, and that may write core files before it has keys."""

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [
            encryption(key_file, SEALED, label="sealed"),
            encryption(key_file, VALUES, label="values", mode="values"),
        ]

    directory = tmp_path / "gateway"
    directory.mkdir()
    journal = {"interval_ms": 300, "snapshot_interval_ms": 500, "partitions": 3, "gateway_id": JOURNAL}
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "proxy": {"journal": journal}}
    before = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    process = GatewayProcess(directory, kafka.bootstrap, log_level="debug", has_admin=True, **options)
    try:
        process.start()
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)
    yield process
    process.kill()


def exchanged(gateway: GatewayProcess, topic: str) -> tuple[int, int]:
    """Produce a batch of each codec, fetch them all; return the bytes of records either way."""
    records = [ColumnRecord(i, i, b"key %d" % i, b"a secret " * 20) for i in range(RECORDS)]
    batches = [batch_of(records, codec=codec) for codec in CODECS.values()]
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        for data in batches:
            answer = client.request(produce_request(topic, data), PRODUCE_BY_NAME)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        (found,) = client.request(fetch_request(topic), FETCH_BY_NAME).responses[0].partitions
    assert found.error_code == ErrorCode.NONE
    return sum(map(len, batches)), len(found.records)


def test_the_journal_counts_what_clients_sent_and_got(
    gateway: GatewayProcess, fresh_topic: FreshTopic, broker: Endpoint
) -> None:
    sizes = {}
    for topic in (SEALED, VALUES, FREE):
        fresh_topic("globex", topic)
        sizes[topic] = exchanged(gateway, topic)
    gateway.stop()
    journal = read_journal(broker, JOURNAL)

    assert sizes[SEALED] == sizes[FREE], "sealed batches come back as they were sent"
    for topic, (sent, got) in sizes.items():
        produced = list(usage(journal, "topic", topic=topic, api="Produce"))
        fetched = list(usage(journal, "topic", topic=topic, api="Fetch"))
        assert (total(produced, "bytes_in"), total(fetched, "bytes_out")) == (sent, got)
        assert total(produced, "records_in") == total(fetched, "records_out") == RECORDS * len(CODECS)
        cells = [cell for row in produced for cell in row["batches"]]
        assert {cell["codec"] for cell in cells} == set(CODECS)
    stored = {topic: log_bytes(broker, physical_name("globex", topic)) for topic in sizes}
    assert stored[SEALED] > sizes[SEALED][0]
    assert stored[FREE] == sizes[FREE][0]


def test_no_key_is_in_a_log_line_a_metric_or_the_journal(
    gateway: GatewayProcess, key_file: Path, fresh_topic: FreshTopic, broker: Endpoint
) -> None:
    for topic in (SEALED, VALUES):
        fresh_topic("globex", topic)
        exchanged(gateway, topic)
    kek, dek = base64.b64decode(key_file.read_text().split()[2]), dek_of(broker, key_file)
    _, metrics = admin_port.ask(gateway, "/metrics")
    with RawClient(broker) as direct, RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        stored = records_of(direct, physical_name("globex", SEALED))
        spoilt = bytearray(next(split_batches(memoryview(stored), is_whole=False)).data)
        spoilt[-20] ^= 1
        direct.request(
            produce_request(physical_name("globex", SEALED), with_checksum(spoilt)), PRODUCE_BY_NAME
        )
        request = fetch_request(SEALED, offset=RECORDS * len(CODECS))
        (refused,) = client.request(request, FETCH_BY_NAME).responses[0].partitions
    gateway.stop()
    log, journal = gateway.log(), str(read_journal(broker, JOURNAL))

    assert refused.error_code == ErrorCode.CORRUPT_MESSAGE
    assert "records_refused" in log
    assert 'filter="sealed"' in metrics
    assert SEALED in journal
    for key in (kek, dek):
        assert len(key) == KEY_BYTES
        for form in (repr(key)[2:-1], key.hex(), base64.b64encode(key).decode()):
            assert not any(form in told for told in (log, metrics, journal))


def dek_of(broker: Endpoint, key_file: Path) -> bytes:
    """Return the DEK of the first sealed batch."""
    physical = physical_name("globex", SEALED)
    with RawClient(broker) as direct:
        cluster = direct.request(MetadataRequest(topics=[]), 7).cluster_id
        data = records_of(direct, physical)
    sealed = read_sealed(next(split_batches(memoryview(data), is_whole=False)), plenty())
    assert sealed is not None
    wrapped = read_wrapped_dek(sealed.dek_header)
    return KeyFile(key_file, "payments").unwrap(wrapped, DekContext(cluster, physical))


def test_a_process_that_has_keys_writes_no_core_file(gateway: GatewayProcess) -> None:
    """What sets its limit to 0 sets PR_SET_DUMPABLE too, which no other process can see."""
    parent = psutil.Process(gateway.pid)
    for process in parent.children() or [parent]:
        soft, _ = process.rlimit(psutil.RLIMIT_CORE)
        assert soft == 0
