"""Whether the memory of a gateway with encryption and validation is within what its configuration says, and flat.

First many clients send batches that unpack to far more than all may have together, and fetch as much: the most that is
resident then is compared with the limits. Then 20 MB/s go through it for as long as is wanted.
"""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from statistics import median

from bench import frames
from bench.client import RawClient
from bench.end_to_end import PATIENCE_S, measure_end_to_end
from bench.frames import read_response
from bench.records.batches import ZSTD, avro_values, batch_of
from bench.records.filtered import BOTH, Filtered, add_gateway
from bench.records.latency import BYTES_PER_S
from bench.subjects import Subject
from bench.table import Table
from bench.topics import CONSUMED, PARTITIONS, PRODUCED
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode

TITLE = "Memory of the gateway, encryption and validation"
START, PEAK, BOUND = (
    "after the start",
    "peak of the flood",
    "after the start, and the limits of the configuration",
)
EARLY, LATE = "second quarter of the load", "last quarter of the load"
NAME = "flooded"
UNPACKED_MIB, BUFFERED_MIB = 32, 32
LIMITS = (
    f"max_request_bytes: 16 MiB, max_buffered_bytes: 24 MiB, max_buffered_bytes_total: {BUFFERED_MIB} MiB, "
    f"max_unpacked_batch_bytes: 8 MiB, max_unpacked_bytes: 16 MiB, max_unpacked_bytes_total: {UNPACKED_MIB} MiB"
)
FLOODING, FLOODS = 24, 3
"""Connections, and requests of each."""
UNPACKED_RECORDS, UNPACKED_BYTES = 40, 100_000
"""Of each batch of the flood; a request has one for every partition."""
SAMPLE_S = 0.5
TRIED_AGAIN = (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.MESSAGE_TOO_LARGE)


@dataclass
class Watch:
    """Samples of the resident memory of a process, in MiB."""

    subject: Subject
    found: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Begin."""
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def _look(self) -> None:
        while not self._done.wait(SAMPLE_S):
            self.found.append(self.subject.resident_mib())

    def end(self) -> list[float]:
        """End, and return them."""
        self._done.set()
        self._thread.join()
        return self.found


def measure_memory(filtered: Filtered, seconds: float) -> Table:
    """Flood a new gateway, then put a steady load on it."""
    table = Table(TITLE, "PLAINTEXT", "MiB", 1)
    subject = add_gateway(filtered, BOTH, name=NAME, limits=LIMITS)
    filtered.topics.make([filtered.direct, subject])
    start_mib = subject.resident_mib()
    flood(filtered, subject)
    peak_mib = subject.peak_mib()
    watch = Watch(subject)
    topics = filtered.topics
    rate = BYTES_PER_S / len(topics.batch)
    began_s = time.monotonic()
    # Memory is the question here: a machine with other work may need longer for the same bytes.
    patience_s = PATIENCE_S + seconds / 10
    measure_end_to_end(
        subject, topics, seconds, rate, topics.batch, topics.records_per_batch, patience_s=patience_s
    )
    took_s = time.monotonic() - began_s
    print(f"{seconds * BYTES_PER_S / 1e6:,.0f} MB each way in {took_s:,.0f} s", flush=True)
    samples = watch.end()
    quarter = max(1, len(samples) // 4)
    for row, value in (
        (START, start_mib),
        (PEAK, peak_mib),
        (BOUND, start_mib + UNPACKED_MIB + BUFFERED_MIB),
        (EARLY, median(samples[quarter : 2 * quarter] or samples)),
        (LATE, median(samples[-quarter:])),
    ):
        table.add(row, f"{seconds:.0f} s at 20 MB/s", value)
    return table


def flood(filtered: Filtered, subject: Subject) -> None:
    """Let many clients produce and fetch much at once; what finds no room has an error that a client tries again."""
    space, topics = subject.space(0), filtered.topics
    topic, topic_id = space.called(PRODUCED), topics.topic_id(space.tenant, PRODUCED)
    values = avro_values(1, UNPACKED_BYTES) * UNPACKED_RECORDS
    packed = bytes(batch_of(ZSTD, values, is_idempotent=False).data)
    produced = frames.request_frame(frames.produce_all(topic, 9, PARTITIONS, packed), 9, 1)
    wanted = frames.fetch(space.called(CONSUMED), topic_id, 12, [(one, 0) for one in range(PARTITIONS)])
    fetched = frames.request_frame(wanted, 12, 2)
    with ThreadPoolExecutor(FLOODING) as pool:
        clients = [subject.connect(number) for number in range(FLOODING)]
        for one in [pool.submit(_flood, client, produced, fetched) for client in clients]:
            one.result()


def _flood(client: RawClient, produced: bytes, fetched: bytes) -> None:
    for _ in range(FLOODS):
        client.send(produced)
        client.send(fetched)
    _receive_all(client)
    client.close()


def _receive_all(client: RawClient) -> None:
    buffer = bytearray(1024)
    for _ in range(FLOODS):
        answer = read_response(ApiKey.PRODUCE, 9, bytes(client.receive(buffer)))
        codes = {one.error_code for one in answer.responses[0].partition_responses}
        assert codes <= set(map(int, TRIED_AGAIN)), codes
        answer = read_response(ApiKey.FETCH, 12, bytes(client.receive(buffer)))
        codes = {one.error_code for one in answer.responses[0].partitions}
        assert codes == {0}, codes
