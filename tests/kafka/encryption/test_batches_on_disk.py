"""What an administrator of the brokers does to files of an encrypted topic is an error for consumers, and no data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.encryption.sealed_batch import read_sealed
from bifrost.encryption.wrapped_dek import read_wrapped_dek
from bifrost.records.codec.client_batch import read_columns, split_batches
from bifrost.records.codec.columns import ColumnRecord
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import InitProducerIdRequest
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    FETCH_BY_NAME,
    PRODUCE_BY_NAME,
    create_topic,
    fetch_request,
    produce_request,
)
from support.encryption.key_files import encryption, write_key_file
from support.encryption.sealing import with_checksum
from support.gateways.gateway_fixtures import StartGateway, UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.physical_names import physical_name
from support.records.record_columns import batch_of, only_batch, plenty

TOPICS = "disk-*"
NOW_MS = 1_700_000_000_000
RECORDS, BATCHES = 3, 4

KEY = b"key of a record"
HEADERS = ((b"name of a header", b"what it says"),)

Batches = list[bytes]


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what gateways with the same KEK have."""
    key_file = write_key_file(tmp_path_factory.mktemp("keks") / "keks", "payments")

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["filters"] = [encryption(key_file, TOPICS)]

    return {"tenants": [GLOBEX], "adjust": adjust}


@pytest.fixture(scope="module")
def encrypting(
    kafka: EmbeddedKafka, options: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[GatewayProcess]:
    directory = tmp_path_factory.mktemp("encrypting")
    with GatewayProcess(directory, kafka.bootstrap, **options) as process:
        yield process


class Topic:
    """An encrypted topic with batches of one idempotent producer, all of one size, and its file."""

    def __init__(self, gateway: GatewayProcess, kafka: EmbeddedKafka, name: str) -> None:
        self.gateway, self.name = gateway, name
        physical = physical_name("globex", name)
        self.client = RawClient.authenticated(gateway.broker_endpoint("globex"))
        create_topic(self.client, name, configs={"retention.ms": "-1"})
        found = self.client.request(InitProducerIdRequest(transactional_id=None), 3)
        self._producer = found.producer_id, found.producer_epoch
        self._sent = 0
        for _ in range(BATCHES):
            self.produce()
        [self.file] = [path for one in kafka.log_dirs for path in one.glob(f"{physical}-0/*.log")]

    def produce(self, client: RawClient | None = None) -> None:
        records = [ColumnRecord(i, i, KEY, b"value %05d" % (self._sent + i), HEADERS) for i in range(RECORDS)]
        producer = (*self._producer, self._sent)
        data = batch_of(records, base_timestamp_ms=NOW_MS, producer=producer)
        answer = (client or self.client).request(produce_request(self.name, data), PRODUCE_BY_NAME)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        self._sent += RECORDS

    def fetch(self, offset: int = 0) -> tuple[int, list[bytes | None]]:
        """Return the error code and the values, over a connection of its own."""
        with RawClient.authenticated(self.gateway.broker_endpoint("globex")) as client:
            answer = client.request(fetch_request(self.name, offset=offset), FETCH_BY_NAME)
        (found,) = answer.responses[0].partitions
        batches = split_batches(memoryview(found.records or b""), is_whole=False)
        return found.error_code, [value for one in batches for value in read_columns(one, plenty()).values]

    def batches(self) -> Batches:
        """Return what the file has."""
        found = split_batches(memoryview(self.file.read_bytes()), is_whole=False)
        return [bytes(one.data) for one in found]

    def change(self, change: Callable[[Batches], Batches]) -> None:
        """Change the batches in the file, where they are; each gets the offset of its new place."""
        before = self.batches()
        after = change(list(before))
        assert [len(one) for one in after] == [len(one) for one in before], "the index still fits"
        with self.file.open("r+b") as file:
            for old, new in zip(before, after, strict=True):
                file.write(old[:8] + new[8:])


@pytest.fixture
def topic(encrypting: GatewayProcess, kafka: EmbeddedKafka, unique: UniqueName) -> Iterator[Topic]:
    made = Topic(encrypting, kafka, unique("disk"))
    yield made
    made.client.close()


REFUSED = (ErrorCode.CORRUPT_MESSAGE, [])


def values(count: int) -> list[bytes]:
    return [b"value %05d" % number for number in range(count)]


def test_batches_that_changed_places_are_an_error(topic: Topic) -> None:
    assert topic.fetch() == (ErrorCode.NONE, values(BATCHES * RECORDS))

    topic.change(lambda found: [found[0], found[2], found[1], found[3]])

    code, data = topic.fetch()
    assert (code, data[:RECORDS]) == (ErrorCode.NONE, values(RECORDS))
    assert len(data) == 2 * RECORDS, "what stands before the batch that shows it comes first"
    for _ in range(2):
        assert topic.fetch(2 * RECORDS) == REFUSED, "and over other connections, again and again"
    assert "was produced before one that stands before it" in topic.gateway.log()


def test_an_old_batch_that_stands_at_the_end_once_more_is_an_error(topic: Topic) -> None:
    assert topic.fetch() == (ErrorCode.NONE, values(BATCHES * RECORDS))
    topic.produce()

    topic.change(lambda found: [*found[:-1], found[1]])

    assert topic.fetch(BATCHES * RECORDS) == REFUSED


def test_another_wrapped_key_of_the_topic_in_place_of_a_batch_s_own_is_an_error(
    topic: Topic, options: dict[str, Any], start_gateway: StartGateway
) -> None:
    """As an administrator replays a key that the KEK still unwraps, for this topic."""
    other = start_gateway(**options)
    with RawClient.authenticated(other.broker_endpoint("globex")) as client:
        topic.produce(client)
    assert topic.fetch() == (ErrorCode.NONE, values((BATCHES + 1) * RECORDS))
    stored = topic.batches()
    own, others = wrapped_in(stored[1]), wrapped_in(stored[-1])
    assert (len(own), own == others) == (len(others), False)

    topic.change(lambda found: [found[0], with_checksum(found[1].replace(own, others)), *found[2:]])

    assert topic.fetch(RECORDS) == REFUSED


def wrapped_in(batch: bytes) -> bytes:
    """Return the wrapped key of a sealed batch."""
    sealed = read_sealed(only_batch(batch), plenty())
    assert sealed is not None
    return read_wrapped_dek(sealed.dek_header).wrapped


def test_a_flipped_bit_anywhere_is_an_error(topic: Topic) -> None:
    """With the checksum that fits, as an administrator can compute it; unit tests flip every bit."""
    size = len(topic.batches()[0])
    for at in (22, 26, 44, 52, 57, 70, size // 2, size - 5):

        def flip(found: Batches, at: int = at) -> Batches:
            spoilt = bytearray(found[1])
            spoilt[at] ^= 4
            return [found[0], with_checksum(spoilt), *found[2:]]

        topic.change(flip)
        assert topic.fetch(RECORDS) == REFUSED, at
        topic.change(flip)
    assert topic.fetch(RECORDS)[0] == ErrorCode.NONE, "the test itself spoils nothing else"


def test_nothing_that_clients_sent_is_in_any_file_of_the_topic(topic: Topic) -> None:
    files = b"".join(path.read_bytes() for path in Path(topic.file.parent).iterdir() if path.is_file())

    assert len(files) > BATCHES * RECORDS * len(b"value 00000")
    for secret in (b"value 000", KEY, *HEADERS[0]):
        assert secret not in files
