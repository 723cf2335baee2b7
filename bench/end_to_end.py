"""End to end at a fixed rate: from when a batch is due to when a consumer has it, in an open loop.

One thread sends each batch when it is due, in a Produce request of its own (acks=1), and fetches the same partition
over a second connection with a long poll, as consumers do. If the subject stalls, the batches that come due meanwhile
wait too, and their latencies count from when they were due (`schedule.py`). When the load itself comes late, that
counts as well, on every way alike.
"""

import select
import ssl
import struct
import time
from collections import deque
from typing import NamedTuple

from bench.client import RawClient
from bench.frames import fetch, produce, read_response, record_batch, request_frame
from bench.schedule import Schedule
from bench.subjects import Subject
from bench.topics import PRODUCED, RECORD_BYTES, Topics, end_offset
from bifrost.wire.api_keys import ApiKey

RATE = 1000
"""Batches of one record per second: well below what any way can carry, so that it is latency that is measured and not a
queue."""
PARTITION = 7
"""Of the topic that is written into; no other workload uses it."""
WARM_UP = 100
FETCH_VERSION, PRODUCE_VERSION = 12, 9
LEAD_S = 0.01
PATIENCE_S = 30.0
_BASE_OFFSET = struct.Struct(">q")
_LAST_OFFSET_DELTA = struct.Struct(">i")
_LAST_OFFSET_DELTA_AT = 23
"""DefaultRecordBatch.LAST_OFFSET_DELTA_OFFSET: how far the last record's offset is from the batch's base offset."""
_BATCH_LENGTH_AT, _LOG_OVERHEAD = 8, 12
_RECEIVE_BYTES = 64 * 1024


def end_after(records: bytes | memoryview) -> int:
    """Return the offset behind the last whole record batch (v2) of what a fetch returned, -1 if there is none."""
    at, end = 0, -1
    while at + _LAST_OFFSET_DELTA_AT + 4 <= len(records):
        size = _LOG_OVERHEAD + int.from_bytes(records[at + _BATCH_LENGTH_AT : at + _LOG_OVERHEAD], "big")
        if at + size > len(records):
            break
        (base,) = _BASE_OFFSET.unpack_from(records, at)
        (delta,) = _LAST_OFFSET_DELTA.unpack_from(records, at + _LAST_OFFSET_DELTA_AT)
        end, at = base + delta + 1, at + size
    return end


class Frames:
    """Whole frames out of the bytes of a connection."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, received: bytes) -> list[bytes]:
        """Take what was received; return the frames that are whole now, without their lengths."""
        self._bytes += received
        whole, at = [], 0
        while len(self._bytes) - at >= 4:
            end = at + 4 + int.from_bytes(self._bytes[at : at + 4], "big")
            if end > len(self._bytes):
                break
            whole.append(bytes(self._bytes[at + 4 : end]))
            at = end
        del self._bytes[:at]
        return whole


class Side:
    """A connection that is never waited for."""

    def __init__(self, client: RawClient) -> None:
        self.socket = client.socket
        self.socket.setblocking(False)
        self._frames = Frames()
        self._to_send: deque[bytes] = deque()
        self._rest = memoryview(b"")

    @property
    def has_more(self) -> bool:
        """Whether something waits to be sent."""
        return bool(self._rest or self._to_send)

    def send(self, frame: bytes) -> None:
        """Send a frame, or as much of it as can be sent now."""
        self._to_send.append(frame)
        self.flush()

    def flush(self) -> None:
        """Send what can be sent."""
        while self.has_more:
            if not self._rest:
                self._rest = memoryview(self._to_send.popleft())
            try:
                self._rest = self._rest[self.socket.send(self._rest) :]
            except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                return

    def receive(self) -> list[bytes]:
        """Return the frames that have arrived."""
        whole: list[bytes] = []
        while True:
            try:
                received = self.socket.recv(_RECEIVE_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError):
                return whole
            if not received:
                raise ConnectionError("the connection was closed")
            whole += self._frames.feed(received)
            if not isinstance(self.socket, ssl.SSLSocket) and len(received) < _RECEIVE_BYTES:
                return whole


class Place(NamedTuple):
    """Where batches go."""

    topic: str
    topic_id: bytes
    partition: int


class _Run:
    """One open loop over one subject."""

    def __init__(self, subject: Subject, place: Place, batch: bytes, records: int) -> None:
        clients = subject.connect(), subject.connect()
        self._topic, self._topic_id, self._partition = place
        self.first_offset = end_offset(clients[0], self._topic, self._partition)
        self._clients = clients
        self._producer, self._consumer = Side(clients[0]), Side(clients[1])
        self._records = records
        request = produce(self._topic, self._topic_id, PRODUCE_VERSION, self._partition, batch)
        self._frame = request_frame(request, PRODUCE_VERSION, 1)
        self._next_offset = self.first_offset

    def close(self) -> None:
        for client in self._clients:
            client.close()

    def latencies_s(self, rate: float, count: int, patience_s: float = PATIENCE_S) -> list[float]:
        """Send `count` batches and return the latency of each, in seconds.

        Raises:
            TimeoutError: they have not all arrived `patience_s` after the last one was due.
        """
        self.first_offset = self._next_offset
        found: list[float] = []
        sent = 0
        schedule = Schedule(time.perf_counter() + LEAD_S, rate, count)
        deadline = schedule.due_s(count) + patience_s
        self._fetch()
        while len(found) < count:
            now = time.perf_counter()
            if now > deadline:
                raise TimeoutError(f"{len(found)} of {count} batches arrived")
            for _ in range(schedule.due_by(now) - sent):
                self._producer.send(self._frame)
                sent += 1
            self._wait(max(schedule.due_s(sent) - time.perf_counter(), 0.0) if sent < count else 1.0)
            self._producer.flush()
            for answer in self._producer.receive():
                response = read_response(ApiKey.PRODUCE, PRODUCE_VERSION, answer)
                assert response.responses[0].partition_responses[0].error_code == 0, response
            for answer in self._consumer.receive():
                arrived = self._arrived(answer)
                now = time.perf_counter()
                found += [schedule.latency_s(index, now) for index in range(len(found), arrived)]
                if len(found) < count:
                    self._fetch()
        return found

    def _fetch(self) -> None:
        wanted = fetch(self._topic, self._topic_id, FETCH_VERSION, [(self._partition, self._next_offset)])
        self._consumer.send(request_frame(wanted, FETCH_VERSION, 1))

    def _arrived(self, answer: bytes) -> int:
        """Return how many batches have arrived, now that there is another answer."""
        response = read_response(ApiKey.FETCH, FETCH_VERSION, answer)
        found = response.responses[0].partitions[0] if response.responses else None
        assert response.error_code == 0, response
        assert found is None or found.error_code == 0, response
        end = end_after(found.records) if found is not None and found.records else -1
        self._next_offset = max(self._next_offset, end)
        return (self._next_offset - self.first_offset) // self._records

    def _wait(self, timeout_s: float) -> None:
        sides = [self._producer, self._consumer]
        # Not epoll, whose time limits are whole milliseconds.
        select.select(
            [one.socket for one in sides], [one.socket for one in sides if one.has_more], [], timeout_s
        )


def measure_end_to_end(
    subject: Subject,
    topics: Topics,
    seconds: float,
    rate: float = RATE,
    batch: bytes | None = None,
    records: int = 1,
    patience_s: float = PATIENCE_S,
) -> list[float]:
    """Send batches for `seconds`; return each one's latency, in milliseconds.

    Args:
        subject: what they go through.
        topics: where they go.
        seconds: how long.
        rate: batches per second.
        batch: the batch; None: one with one record.
        records: how many it has.
        patience_s: how long the last ones are waited for.
    Raises:
        TimeoutError: they have not arrived by then.
    """
    if batch is None:
        batch, records = record_batch(RECORD_BYTES + 100, RECORD_BYTES)
        assert records == 1
    space = subject.space(0)
    place = Place(space.called(PRODUCED), topics.topic_id(space.tenant, PRODUCED), PARTITION)
    return latencies_ms(subject, place, seconds, rate, batch, records, patience_s)


def latencies_ms(
    subject: Subject,
    place: Place,
    seconds: float,
    rate: float,
    batch: bytes,
    records: int,
    patience_s: float = PATIENCE_S,
) -> list[float]:
    """Send batches to a place; see `measure_end_to_end`."""
    run = _Run(subject, place, batch, records)
    try:
        run.latencies_s(rate, WARM_UP)
        return [one * 1000 for one in run.latencies_s(rate, int(rate * seconds), patience_s)]
    finally:
        run.close()
