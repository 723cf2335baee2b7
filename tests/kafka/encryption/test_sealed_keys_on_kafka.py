"""Sealed keys on a real Kafka, behind a gateway: compaction works, and the broker has no key that can be read.

The sealing key is made and wrapped again by `bifrost sealing-key`, as an operator does it.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from support.clients.confluent_producing import produce_pairs
from support.clients.confluent_reading import read
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import FETCH_BY_NAME, create_topic, fetch_request
from support.encryption.key_files import encryption, rotate, write_key_file
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.physical_names import physical_name
from support.records.stored_records import stored_records

CLEANED_AT_ONCE = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.0001",
    "segment.ms": "100",
    "max.compaction.lag.ms": "100",
    "delete.retention.ms": "3600000",
}
WAIT_S = 90.0
"""The cleaner looks for work every 15 s."""
KEYED, LATE, OTHER = "sealed-keys", "sealed-keys-late", "sealed-keys-other"
ACCOUNT = b"account-4711"


def sealing_key(*arguments: object) -> None:
    line = [sys.executable, "-m", "bifrost.cli.main", "sealing-key", *map(str, arguments)]
    subprocess.run(line, check=True, timeout=60, capture_output=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The key file, and the file of the wrapped key."""
    found = tmp_path_factory.mktemp("sealing-keys")
    write_key_file(found / "keks", "payments")
    sealing_key("create", found / "sealing", "--kek", f"file:{found}/keks#payments")
    return found


def start(kafka: EmbeddedKafka, directory: Path, folder: Path, **config: Any) -> GatewayProcess:
    def adjust(adjusted: dict[str, Any]) -> None:
        sealing = {"mode": "values", "sealing_key_file": str(folder / "sealing")}
        given = {key: value for key, value in (sealing | config).items() if value is not None}
        adjusted["tenants"][0]["filters"] = [encryption(folder / "keks", KEYED, LATE, OTHER, **given)]

    return GatewayProcess(directory, kafka.bootstrap, tenants=[GLOBEX], adjust=adjust)


@pytest.fixture(scope="module")
def sealing(
    kafka: EmbeddedKafka, folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    with start(kafka, tmp_path_factory.mktemp("sealing"), folder) as process:
        yield process


def send(gateway: GatewayProcess, topic: str, *pairs: tuple[bytes, bytes | None]) -> list[KafkaError]:
    told = produce_pairs(gateway.endpoint("globex"), topic, pairs, **{"enable.idempotence": True})
    return [one for one in told if one is not None]


def test_the_latest_value_of_each_sealed_key_is_left_over_two_versions_of_the_kek(
    kafka: EmbeddedKafka, sealing: GatewayProcess, broker: Endpoint, folder: Path, tmp_path: Path
) -> None:
    with RawClient(broker) as direct:
        create_topic(direct, physical_name("globex", KEYED), configs=CLEANED_AT_ONCE)
    for number in range(5):
        gone = b"x" if number < 3 else None
        assert (
            send(sealing, KEYED, (ACCOUNT, b"balance %d" % number), (b"b", b"b-%d" % number), (b"gone", gone))
            == []
        )
    rotate(folder / "keks", "payments", 2)
    sealing_key("rewrap", folder / "sealing", "--kek", f"file:{folder}/keks#payments")
    with start(kafka, tmp_path, folder) as later:
        assert send(later, KEYED, (ACCOUNT, b"balance 5"), (b"b", b"b-5")) == []

        deadline = time.monotonic() + WAIT_S
        while True:
            # The active segment is never cleaned: something must be written behind what is.
            time.sleep(0.5)
            assert send(later, KEYED, (b"tick", b"")) == []
            kept = [(one.key, one.value) for one in stored_records(broker, physical_name("globex", KEYED))]
            if len({key for key, _ in kept}) == 4 and len(kept) <= 6:
                break
            assert time.monotonic() < deadline, kept
        found = {one.key(): one.value() for one in read(later.endpoint("globex"), KEYED, len(kept))}

    assert found == {ACCOUNT: b"balance 5", b"b": b"b-5", b"gone": None, b"tick": b""}
    for key, value in kept:
        assert (key or b"").startswith(b"BFST\1\3\2\0")
        assert value is None or value.startswith(b"BFST\1\2\1\0")
    pattern = f"{physical_name('globex', KEYED)}-*/*.log"
    log = b"".join(one.read_bytes() for log_dir in kafka.log_dirs for one in log_dir.glob(pattern))
    assert log
    assert ACCOUNT not in log
    assert b"balance" not in log


def test_records_with_readable_keys_are_an_error_and_no_data(
    kafka: EmbeddedKafka, sealing: GatewayProcess, broker: Endpoint, folder: Path, tmp_path: Path
) -> None:
    with RawClient(broker) as direct:
        create_topic(direct, physical_name("globex", LATE), configs={"cleanup.policy": "compact"})
    with start(kafka, tmp_path, folder, sealing_key_file=None) as before:
        assert send(before, LATE, (ACCOUNT, b"1")) == []

    with RawClient.authenticated(sealing.broker_endpoint("globex")) as client:
        response = client.request(fetch_request(LATE), FETCH_BY_NAME)

    (partition,) = response.responses[0].partitions
    assert (partition.error_code, bytes(partition.records or b"")) == (ErrorCode.CORRUPT_MESSAGE, b"")


def test_with_another_sealing_key_nothing_is_read(
    kafka: EmbeddedKafka, sealing: GatewayProcess, broker: Endpoint, folder: Path, tmp_path: Path
) -> None:
    with RawClient(broker) as direct:
        create_topic(direct, physical_name("globex", OTHER), configs={"cleanup.policy": "compact"})
    assert send(sealing, OTHER, (ACCOUNT, b"2")) == []
    other_key = tmp_path / "other"
    sealing_key("create", other_key, "--kek", f"file:{folder}/keks#payments")

    with (
        start(kafka, tmp_path, folder, sealing_key_file=str(other_key)) as other,
        RawClient.authenticated(other.broker_endpoint("globex")) as client,
    ):
        response = client.request(fetch_request(OTHER), FETCH_BY_NAME)

    (partition,) = response.responses[0].partitions
    assert (partition.error_code, bytes(partition.records or b"")) == (ErrorCode.CORRUPT_MESSAGE, b"")
