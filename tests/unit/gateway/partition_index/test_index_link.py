"""What is read of the topic, and what is left out; with a real broker: tests/kafka/virtual/test_partition_index.py."""

from __future__ import annotations

import asyncio
import struct
from types import SimpleNamespace
from typing import Any

import pytest

from bifrost.config.fields.virtual_partitions import PartitionIndex
from bifrost.gateway.errors import BrokerError
from bifrost.gateway.partition_index import index_link as module
from bifrost.gateway.partition_index.index_link import IndexLink
from bifrost.gateway.partition_index.index_topic import index_topic_settings
from bifrost.gateway.producing.upstream_topic import UpstreamTopic
from bifrost.records.batch_reader import UnreadableBatch
from bifrost.records.crc32c import crc32c
from bifrost.records.record_batch import Record, build_batch, compress
from bifrost.wire.error_codes import ErrorCode


def batch(base: int, *keys: bytes, codec: int | None = None) -> bytes:
    """Return a batch at an offset; with another codec, one that no gateway writes."""
    records: list[Record] = [(0, key, b"v") for key in keys]
    made = bytearray(build_batch(records, compress(records)))
    if codec is not None:
        made[22] = codec
        struct.pack_into(">I", made, 17, crc32c(bytes(made[21:])))
    return base.to_bytes(8, "big") + bytes(made[8:])


class Broker:
    """Answers Fetches in their order, and keeps from where they are."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: Any) -> None:
        self.answers, self.asked, self.written = list(answers), list[int](), list[Record]()
        self.found, self.begins = 0, 10
        monkeypatch.setattr(module, "fetch", self.fetch)
        monkeypatch.setattr(module, "edge_offset", self.edge_offset)
        monkeypatch.setattr(module, "find_single", self.find)
        monkeypatch.setattr(module, "write_single", self.write)
        self.link = IndexLink(SimpleNamespace(security=None), index_topic_settings(PartitionIndex()), 1000)  # type: ignore[arg-type]

    async def find(self, topic: UpstreamTopic) -> bool:
        self.found += 1
        topic.leaders = {0: object()}  # type: ignore[dict-item]
        return self.found == 1

    async def edge_offset(self, _topic: UpstreamTopic, _which: int) -> int:
        return self.begins

    async def fetch(self, _topic: UpstreamTopic, offset: int, _wait_ms: int) -> tuple[Any, int]:
        self.asked.append(offset)
        answer = self.answers.pop(0)
        if answer is None:
            return None, 0
        code, records, end = answer
        return SimpleNamespace(error_code=int(code), records=records, high_watermark=end), 0

    async def write(self, _topic: UpstreamTopic, records: list[Record]) -> None:
        self.written += records

    def read(self) -> list[tuple[int, bytes | None]]:
        return [(one.offset, one.key) for one in asyncio.run(self.link.read())]


def test_the_topic_is_read_from_its_start_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    first = batch(9, b"before", b"one")
    broker = Broker(
        monkeypatch, (0, first, 13), None, (0, batch(11, b"two", b"three")[:-1], 13), (0, b"", 11)
    )

    assert broker.read() == [(10, b"one")]
    assert (broker.link.is_at_end, broker.link.created) == (False, True)
    assert broker.read() == []
    assert broker.read() == []
    assert not broker.link.is_at_end
    assert broker.read() == []
    assert broker.link.is_at_end
    assert broker.asked == [10, 11, 11, 11]
    broker.link.lose_reader()
    assert not broker.link.is_at_end


def test_a_batch_that_no_gateway_writes_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    foreign = batch(11, b"x", b"y", codec=4)
    broker = Broker(monkeypatch, (0, batch(10, b"one") + foreign, 20), (0, foreign, 20), (0, b"", 20))

    assert broker.read() == [(10, b"one")]
    with pytest.raises(UnreadableBatch):
        broker.read()
    broker.read()
    assert broker.asked == [10, 11, 13]


@pytest.mark.parametrize("data", [b"\0" * 12, b"\xff" * 100])
def test_what_is_no_batch_at_all_is_left_out(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    broker = Broker(monkeypatch, (0, data, 20), (0, b"", 20))

    with pytest.raises(UnreadableBatch):
        broker.read()
    broker.read()
    assert broker.asked == [10, 11]


def test_after_a_deletion_it_is_read_from_its_new_start(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(monkeypatch, (ErrorCode.OFFSET_OUT_OF_RANGE, b"", 0), (0, b"", 3))
    assert broker.read() == []
    broker.begins = 3
    assert broker.read() == []

    assert (broker.asked, broker.link.is_at_end) == ([10, 3], True)


def test_any_other_error_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = Broker(monkeypatch, (ErrorCode.TOPIC_AUTHORIZATION_FAILED, b"", 0))

    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        broker.read()


def test_the_leader_is_found_before_the_first_record_and_when_it_was_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    broker = Broker(monkeypatch)
    for _ in range(2):
        asyncio.run(broker.link.write([(b"key", None)]))
    broker.link.lose_writer()
    asyncio.run(broker.link.write([(b"key", b"value")]))
    asyncio.run(broker.link.close())

    assert broker.found == 2
    assert broker.written == [(0, b"key", None), (0, b"key", None), (0, b"key", b"value")]
