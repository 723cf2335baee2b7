"""The KMS of encrypted topics is slow, goes away and comes back, rotates a KEK, deletes one; clients work meanwhile."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Producer

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.encryption.sealed_batch import read_sealed
from bifrost.encryption.wrapped_dek import WrappedDek, read_wrapped_dek
from bifrost.records.codec.client_batch import split_batches
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ListOffsetsRequest
from support.clients.confluent_reading import read
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    FETCH_BY_NAME,
    LIST_OFFSETS,
    PRODUCE_BY_NAME,
    fetch_request,
    produce_request,
    records_of,
    recreate_topic,
)
from support.encryption.kms_under_test import SILENT, Kms, kms_under_test, relay_before
from support.faults.fault import Fault
from support.faults.fault_proxy import FaultProxy
from support.gateways import admin_port
from support.gateways.gateway_fixtures import StartGateway
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.physical_names import physical_name
from support.records.record_columns import batch_of, plenty

SEALED, ROTATED, NEW, SHRED, SKIP, FREE = (
    f"kms-{name}" for name in ("sealed", "rotated", "new", "shred", "skip", "free")
)
CACHE_S, HOLD_S = 10, 1.5
"""The shortest time that DEKs may be kept, and how long a message is held."""
SLACK_S = 4.0
"""What a busy machine may take longer."""
RETURN_S = 30.0
"""In which the KMS is asked again: a call that was under way as it went may take 5 s."""


@pytest.fixture(scope="module")
def kms(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kms]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test-secret")
        with kms_under_test(tmp_path_factory.mktemp("kms")) as found:
            yield found


@pytest.fixture(scope="module")
def relay(kms: Kms) -> Iterator[FaultProxy]:
    with relay_before(kms) as found:
        yield found


@pytest.fixture(scope="module")
def shredded(kms: Kms) -> str:
    """A key that a test deletes."""
    return kms.new_key()


def filters(kms: Kms, relay: FaultProxy, shredded: str) -> list[Any]:
    def one(key: str, *topics: str, **config: Any) -> Any:
        own = kms.config(relay.addresses[0], key) | {"cache_expiry_seconds": CACHE_S} | config
        return {
            "name": "EnvelopeEncryption",
            "label": topics[0],
            "config": own,
            "rules": [{"topics": list(topics)}],
        }

    return [
        one(kms.rotated_key(), SEALED, ROTATED, NEW),
        one(shredded, SHRED),
        one(shredded, SKIP, on_missing_key="skip"),
    ]


@pytest.fixture(scope="module")
def before_rotation(kms: Kms, gateway: GatewayProcess, broker: Endpoint) -> WrappedDek:
    """What a topic was sealed with just before the KEK was rotated."""
    produced(gateway, ROTATED, b"first")
    found = stored_dek(broker, ROTATED, 0)
    kms.rotate()
    return found


@pytest.fixture(scope="module")
def gateway(
    kafka: EmbeddedKafka,
    broker: Endpoint,
    kms: Kms,
    relay: FaultProxy,
    shredded: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[GatewayProcess]:
    with RawClient(broker) as direct:
        for topic in (SEALED, ROTATED, NEW, SHRED, SKIP, FREE):
            recreate_topic(direct, physical_name("globex", topic))

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = filters(kms, relay, shredded)

    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    limits = {"max_record_wait_ms": int(HOLD_S * 1000)}
    directory = tmp_path_factory.mktemp("kms-gateway")
    with GatewayProcess(directory, kafka.bootstrap, limits=limits, **options) as process:
        yield process


def produce(gateway: GatewayProcess, topic: str, value: bytes) -> tuple[int, float]:
    """Produce a record; return the error code, and the seconds until it came."""
    data = batch_of([ColumnRecord(0, 0, b"key", value)], base_timestamp_ms=int(time.time() * 1000))
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        began = time.monotonic()
        answer = client.request(produce_request(topic, data), PRODUCE_BY_NAME)
    return answer.responses[0].partition_responses[0].error_code, time.monotonic() - began


def produced(gateway: GatewayProcess, topic: str, value: bytes) -> None:
    """Produce a record, again while its answer says that it may be tried again."""
    deadline = time.monotonic() + RETURN_S
    while (code := produce(gateway, topic, value)[0]) == ErrorCode.REQUEST_TIMED_OUT:
        assert time.monotonic() < deadline
    assert code == ErrorCode.NONE


def fetch(gateway: GatewayProcess, topic: str) -> tuple[int, bytes, float]:
    """Fetch from the start; return the error code, the records, and the seconds until they came."""
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        began = time.monotonic()
        (found,) = client.request(fetch_request(topic), FETCH_BY_NAME).responses[0].partitions
    return found.error_code, bytes(found.records or b""), time.monotonic() - began


def look_up(gateway: GatewayProcess, topic: str, timestamp_ms: int) -> int:
    """Look an offset up by time; return the error code."""
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=timestamp_ms)
    named = ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])
    with RawClient.authenticated(gateway.broker_endpoint("globex")) as client:
        answer = client.request(ListOffsetsRequest(replica_id=-1, topics=[named]), LIST_OFFSETS)
    return int(answer.topics[0].partitions[0].error_code)


def stored_dek(broker: Endpoint, topic: str, offset: int) -> WrappedDek:
    """Return which KEK has wrapped the DEK of what the broker has at an offset."""
    with RawClient(broker) as direct:
        data = records_of(direct, physical_name("globex", topic), offset=offset)
    sealed = read_sealed(next(split_batches(memoryview(data), is_whole=False)), plenty())
    assert sealed is not None
    return read_wrapped_dek(sealed.dek_header)


def kek_of(dek: WrappedDek) -> tuple[str, int]:
    return dek.kek, dek.kek_version


def test_keys_that_are_at_hand_serve_while_the_kms_is_away_until_they_expire(
    gateway: GatewayProcess, relay: FaultProxy, before_rotation: WrappedDek
) -> None:
    began = time.monotonic()
    produced(gateway, SEALED, b"at hand")
    late = {"limit": "max_record_wait_ms", "tenant": "globex"}
    before = admin_port.value(gateway, "kafka_proxy_limits_hit_total", **late)

    with relay.fault(toward_broker=SILENT):
        sent, code, took_s = 1, ErrorCode.NONE, 0.0
        while True:
            code, took_s = produce(gateway, SEALED, b"at hand")
            if code != ErrorCode.NONE:
                break
            assert took_s < HOLD_S, "nothing waits for a key that is at hand"
            sent += 1
            if time.monotonic() - began < CACHE_S - 1:  # Later the key may expire between the two.
                assert fetch(gateway, SEALED)[0] == ErrorCode.NONE
            assert time.monotonic() - began < CACHE_S + SLACK_S, "a key outlives its time"
            time.sleep(0.25)
        assert code == ErrorCode.REQUEST_TIMED_OUT
        assert HOLD_S <= took_s < HOLD_S + SLACK_S, "a request is held, and not for ever"
        assert time.monotonic() - began > CACHE_S * 0.8, "keys at hand serve"
        code, records, took_s = fetch(gateway, SEALED)
        assert (code, records) == (ErrorCode.KAFKA_STORAGE_ERROR, b"")
        assert HOLD_S <= took_s < HOLD_S + SLACK_S
        assert look_up(gateway, SEALED, 0) == ErrorCode.KAFKA_STORAGE_ERROR, "clients ask again"
        assert produce(gateway, FREE, b"free")[0] == ErrorCode.NONE
        producer = Producer(gateway.endpoint("globex").for_confluent | {"retry.backoff.max.ms": 200})
        told: list[object] = []
        producer.produce(SEALED, b"sent while it was away", callback=lambda error, _: told.append(error))
        assert producer.flush(HOLD_S) == 1, "the producer tries again"

    assert producer.flush(RETURN_S) == 0
    assert look_up(gateway, SEALED, 0) == ErrorCode.NONE
    assert told == [None]
    values = [one.value() for one in read(gateway.endpoint("globex"), SEALED, sent + 1)]
    assert values == [b"at hand"] * sent + [b"sent while it was away"]
    assert admin_port.value(gateway, "kafka_proxy_limits_hit_total", **late) >= before + 2
    assert "kek_unavailable" in gateway.log()


def test_a_rotated_kek_wraps_within_the_time_of_the_cache_and_the_old_one_opens(
    gateway: GatewayProcess, broker: Endpoint, before_rotation: WrappedDek
) -> None:
    deadline = time.monotonic() + CACHE_S + SLACK_S
    sent = 1
    while True:
        produced(gateway, ROTATED, b"more")
        sent += 1
        if kek_of(stored_dek(broker, ROTATED, sent - 1)) != kek_of(before_rotation):
            break
        assert time.monotonic() < deadline
        time.sleep(0.25)

    found = read(gateway.endpoint("globex"), ROTATED, sent)

    assert [one.value() for one in found] == [b"first"] + [b"more"] * (sent - 1)


def test_a_slow_kms_holds_up_what_needs_it_and_nothing_else(
    gateway: GatewayProcess, relay: FaultProxy, before_rotation: WrappedDek
) -> None:
    produced(gateway, ROTATED, b"at hand")
    with (
        relay.fault(toward_client=Fault(latency_s=1.0)),
        RawClient.authenticated(gateway.broker_endpoint("globex")) as waiting,
    ):
        data = batch_of([ColumnRecord(0, 0, b"key", b"new")])
        began = time.monotonic()
        correlation_id = waiting.send(produce_request(NEW, data), PRODUCE_BY_NAME)
        assert produce(gateway, ROTATED, b"at hand")[0] == ErrorCode.NONE
        assert produce(gateway, FREE, b"free")[0] == ErrorCode.NONE
        assert time.monotonic() - began < 1.0, "others do not wait"
        answer = waiting.receive(ApiKey.PRODUCE, PRODUCE_BY_NAME, correlation_id)

    assert time.monotonic() - began >= 1.0
    assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE


def test_records_of_a_deleted_key_are_an_error_that_names_them_or_are_skipped(
    gateway: GatewayProcess,
    kms: Kms,
    relay: FaultProxy,
    shredded: str,
    start_gateway: StartGateway,
) -> None:
    """The gateway that has sealed them has their keys in its cache; one that comes new has to ask."""
    for topic in (SHRED, SKIP):
        produced(gateway, topic, b"to be deleted")
    kms.delete(shredded)

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = filters(kms, relay, shredded)

    other = start_gateway(tenants=[GLOBEX], adjust=adjust, has_admin=True)

    assert fetch(other, SHRED)[:2] == (ErrorCode.CORRUPT_MESSAGE, b"")
    refused = other.await_event(0, event="records_refused", topic=SHRED, partition=0)
    assert refused["error_code"] == "CORRUPT_MESSAGE"
    assert "offset 0: the KEK " in refused["reason"]
    assert shredded in refused["reason"]
    code, records, _ = fetch(other, SKIP)
    assert code == ErrorCode.NONE
    assert b"to be deleted" not in records
    skipped = {"tenant": "globex", "filter": SKIP, "direction": "fetch"}
    assert admin_port.value(other, "kafka_proxy_transform_skipped_batches_total", **skipped) == 1
    assert produce(other, SHRED, b"no key")[0] == kms.code_without_key
