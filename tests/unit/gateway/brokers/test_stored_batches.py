"""Single batches that the gateway reads for itself, with a broker that is played by the test."""

import asyncio
from typing import Any

import pytest

from bifrost.filters.steps import StoredAt, StoredBatch, StoredBatches
from bifrost.gateway.brokers import stored_batches
from bifrost.gateway.brokers.cluster import Broker
from bifrost.gateway.brokers.stored_batches import read_batches
from bifrost.gateway.errors import BrokerError
from bifrost.wire.error_codes import ErrorCode
from support.stage import messages
from support.stage.stage import Stage

WANTED = tuple(StoredAt(b"physical", one, 40) for one in range(3))
FAILED = StoredBatch(int(ErrorCode.KAFKA_STORAGE_ERROR))


class Client:
    """Answers with what a test gives for each partition: records, an error code, or an exception."""

    address = "kafka-1.internal:9092"

    def __init__(self, answers: dict[int, Any]) -> None:
        self.answers = answers
        self.asked: list[tuple[int, int, int, int]] = []
        self.sizes: list[int] = []
        self.closed = 0

    async def request(self, message: Any, version: int) -> Any:
        (topic,) = message.topics
        (partition,) = topic.partitions
        assert (topic.topic, message.max_bytes) == ("physical", partition.partition_max_bytes)
        self.sizes.append(message.max_bytes)
        self.asked.append((version, partition.partition, partition.fetch_offset, message.isolation_level))
        answer = self.answers[partition.partition]
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            await asyncio.sleep(60)
        is_error = isinstance(answer, int)
        found = {"error_code": answer} if is_error else {"records": answer}
        parts = [{"partition_index": partition.partition} | found]
        return messages.FetchResponse(responses=[{"topic": "physical", "partitions": parts}])

    async def close(self) -> None:
        self.closed += 1


def read(client: Client, wait_ms: int = 1_000, wanted: tuple[StoredAt, ...] = WANTED) -> StoredBatches:
    broker = Broker(1, "kafka-1.internal", 9092, Stage().versions)
    need = StoredBatches(wanted, waited_ns=5)

    async def scenario() -> StoredBatches:
        return await read_batches(client, broker, need, wait_ms)  # type: ignore[arg-type]

    met = asyncio.run(scenario())
    assert met == need, "it is the same need"
    assert met.waited_ns >= 5
    assert client.closed == 1
    return met


def test_each_batch_is_read_by_a_request_of_its_own() -> None:
    client = Client({0: b"zero", 1: b"one", 2: int(ErrorCode.NOT_LEADER_OR_FOLLOWER)})

    met = read(client)

    assert client.asked == [(12, one, 40, 0) for one in range(3)]
    assert met.found == {
        WANTED[0]: StoredBatch(0, b"zero"),
        WANTED[1]: StoredBatch(0, b"one"),
        WANTED[2]: StoredBatch(int(ErrorCode.NOT_LEADER_OR_FOLLOWER)),
    }


def test_batches_behind_one_are_read_as_far_as_there_is_room() -> None:
    client, wanted = Client({0: b"zero", 1: b"one"}), (WANTED[0], WANTED[1]._replace(max_bytes=4096))

    assert read(client, wanted=wanted).found == {
        wanted[0]: StoredBatch(0, b"zero"),
        wanted[1]: StoredBatch(0, b"one"),
    }
    assert client.sizes == [1, 4096]


def test_what_is_large_is_given_before_more_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_batches, "ENOUGH_BYTES", 6)

    met = read(Client({0: b"zero", 1: b"one", 2: b"two"}))

    assert [one.partition for one in met.found] == [0, 1]


@pytest.mark.parametrize("answer", [BrokerError("it is away"), None])
def test_a_broker_that_fails_or_is_late_leaves_an_error_that_may_pass(answer: object) -> None:
    met = read(Client({0: b"zero", 1: answer}), wait_ms=50)

    assert met.found == {WANTED[0]: StoredBatch(0, b"zero"), WANTED[1]: FAILED, WANTED[2]: FAILED}
