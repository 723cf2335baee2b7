"""How many bytes batches take on the broker, sealed and not: what the broker says of its partitions."""

from typing import Any

from bench import frames
from bench.records.batches import ZSTD, batch_of, json_values
from bench.records.filtered import BATCHES, PLAIN, Filtered
from bench.subjects import Subject, physical
from bench.table import Table
from bench.topics import RECORD_BYTES, SINGLE, is_produced
from bifrost.wire.messages import DescribeLogDirsRequest

SENT = 100
TITLE = "A batch on the broker"
COUNTS = (64, 192)
"""Records of a batch: 64 KiB of them before compression, and some 64 KiB behind it."""


def measure_size(filtered: Filtered) -> Table:
    """Send the same batches of JSON in zstd both ways."""
    table = Table(TITLE, "PLAINTEXT", "bytes", 0)
    for count in COUNTS:
        packed = batch_of(ZSTD, json_values(count, RECORD_BYTES), is_idempotent=False).data
        for name in (PLAIN, BATCHES):
            grown = _grown(filtered, filtered.ways[name], bytes(packed))
            table.add(f"zstd, {count} records of JSON", name, grown / SENT)
    return table


def _grown(filtered: Filtered, subject: Subject, batch: bytes) -> int:
    topic = physical(subject.space(0).tenant, SINGLE)
    before = _size(filtered.direct, topic)
    client = subject.connect()
    request = frames.produce(SINGLE, b"", 9, 0, batch)
    for _ in range(SENT):
        answer = client.request(request, 9)
        assert is_produced(answer), answer
    client.close()
    return _size(filtered.direct, topic) - before


def _size(direct: Subject, topic: str) -> int:
    client = direct.connect()
    wanted = DescribeLogDirsRequest.DescribableLogDirTopic(topic=topic, partitions=[0])
    answer: Any = client.request(DescribeLogDirsRequest(topics=[wanted]), 4)
    client.close()
    (found,) = [one for result in answer.results for one in result.topics if one.name == topic]
    return int(found.partitions[0].partition_size)
