"""A well-behaved tenant, until it is ended: `python -m bench.hostile.victim records|joins TARGET.json OUTPUT`.

`records` sends one record every 5 ms when it is due, whatever became of those before it, and fetches them over a
second connection. `joins` connects, joins a group, leaves it and closes, once a second. Both write what they see into a
file, three values at a time: when it was due (monotonic clock), its latency in seconds, and whether it failed.
"""

import contextlib
import select
import struct
import sys
import time
from collections import deque
from pathlib import Path
from typing import Any, BinaryIO

from bench.certificates import HOST
from bench.client import RawClient
from bench.end_to_end import Side, end_after
from bench.frames import fetch, produce, read_response, record_batch, request_frame
from bench.hostile.field import Target
from bench.priority import go_first
from bench.topics import end_offset
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)

RATE = 200
"""Records per second."""
RECORD_BYTES = 200
SOURCE = "127.0.0.2"
"""The victim's address: another one than the attacker's, for some limits are those of an address."""
JOIN_EVERY_S = 1.0
RECONNECT_S = 0.1
FETCH_VERSION, PRODUCE_VERSION = 12, 9
RETRIES_S = 10.0
RETRIABLE = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)
LINE = struct.Struct("=dd?")
# Version 1, no topics, no user data: a subscription that every broker takes (ConsumerProtocolSubscription).
SUBSCRIPTION = struct.pack(">hii", 0, 0, -1)


class RetriableError(OSError):
    """The brokers have answered that it may go well soon."""


def connect(target: Target, port: int) -> RawClient:
    return RawClient(HOST, port, target.credentials, source=SOURCE)


class Records:
    """One open loop that outlives its connections."""

    def __init__(self, target: Target, output: BinaryIO) -> None:
        self._target, self._output = target, output
        # Not of long ago, or the brokers would soon delete it.
        batch, count = record_batch(RECORD_BYTES + 100, RECORD_BYTES, int(time.time() * 1000))
        assert count == 1
        self._frame = request_frame(produce(target.topic, b"", PRODUCE_VERSION, 0, batch), PRODUCE_VERSION, 1)
        self._due: deque[float] = deque()
        """When each record was due that has been sent and has not come back."""
        self._next_due = time.monotonic()

    def run(self) -> None:
        while True:
            try:
                self._connect()
                while True:
                    self._turn()
            except (OSError, AssertionError) as error:
                print(f"victim: {error!r}", file=sys.stderr, flush=True)
                self._lose()
                time.sleep(RECONNECT_S)

    def _connect(self) -> None:
        port = self._target.plain_port + self._target.node_id
        clients = connect(self._target, port), connect(self._target, port)
        self._next_offset = self._first_offset = end_offset(clients[0], self._target.topic, 0)
        self._sides = self._producer, self._consumer = Side(clients[0]), Side(clients[1])
        self._fetch()

    def _lose(self) -> None:
        """Count records on their way as failed: what became of them is unknown."""
        now = time.monotonic()
        while self._due:
            due = self._due.popleft()
            self._write(due, now - due, True)
        self._output.flush()
        for side in getattr(self, "_sides", ()):
            with contextlib.suppress(OSError):
                side.socket.close()

    def _turn(self) -> None:
        now = time.monotonic()
        while self._next_due <= now:
            self._producer.send(self._frame)
            self._due.append(self._next_due)
            self._next_due += 1 / RATE
        wanted = [one.socket for one in self._sides if one.has_more]
        select.select([one.socket for one in self._sides], wanted, [], max(self._next_due - now, 0))
        for side in self._sides:
            side.flush()
        for answer in self._producer.receive():
            response = read_response(ApiKey.PRODUCE, PRODUCE_VERSION, answer)
            assert response.responses[0].partition_responses[0].error_code == 0, response
        for answer in self._consumer.receive():
            self._take(answer)
            self._fetch()

    def _fetch(self) -> None:
        wanted = fetch(self._target.topic, b"", FETCH_VERSION, [(0, self._next_offset)])
        self._consumer.send(request_frame(wanted, FETCH_VERSION, 1))

    def _take(self, answer: bytes) -> None:
        response = read_response(ApiKey.FETCH, FETCH_VERSION, answer)
        now = time.monotonic()
        found = response.responses[0].partitions[0] if response.responses else None
        assert response.error_code == 0, response
        assert found is None or found.error_code == 0, response
        end = end_after(found.records) if found is not None and found.records else -1
        while self._next_offset < end and self._due:
            due = self._due.popleft()
            self._write(due, now - due, False)
            self._next_offset += 1
        self._next_offset = max(self._next_offset, end)
        self._output.flush()

    def _write(self, due: float, latency_s: float, has_failed: bool) -> None:
        self._output.write(LINE.pack(due, latency_s, has_failed))


def join_once(target: Target) -> None:
    """Connect at the bootstrap port, find the coordinator's, join a group and leave it."""
    bootstrap = connect(target, target.plain_port)
    with contextlib.closing(bootstrap):
        found = bootstrap.request(FindCoordinatorRequest(key_type=0, coordinator_keys=["victims"]), 4)
        expect_none(found.coordinators[0])
        port = found.coordinators[0].port
    client = connect(target, port)
    with contextlib.closing(client):
        protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)
        join = JoinGroupRequest(
            group_id="victims",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            protocol_type="consumer",
            protocols=[protocol],
        )
        joined = client.request(join, 5)
        if joined.error_code == 79:  # MEMBER_ID_REQUIRED
            join.member_id = joined.member_id
            joined = client.request(join, 5)
        expect_none(joined)
        mine = {"group_id": "victims", "generation_id": joined.generation_id, "member_id": joined.member_id}
        assigned = SyncGroupRequest.SyncGroupRequestAssignment(
            member_id=joined.member_id, assignment=SUBSCRIPTION
        )
        synced = client.request(SyncGroupRequest(**mine, assignments=[assigned]), 3)
        expect_none(synced)
        expect_none(client.request(HeartbeatRequest(**mine), 3))
        leave = LeaveGroupRequest(group_id="victims", member_id=joined.member_id)
        expect_none(client.request(leave, 2))


def join_as_clients_do(target: Target) -> None:
    """Join, again if the brokers say that it may go well soon."""
    deadline = time.monotonic() + RETRIES_S
    while True:
        try:
            join_once(target)
        except RetriableError:
            if time.monotonic() > deadline:
                raise
            time.sleep(RECONNECT_S)
        else:
            return


def expect_none(answer: Any) -> None:
    """Raise what fits to an error code."""
    if answer.error_code in RETRIABLE:
        raise RetriableError(repr(answer))
    assert answer.error_code == 0, answer


def join_again_and_again(target: Target, output: BinaryIO) -> None:
    due = time.monotonic()
    while True:
        began, has_failed = time.monotonic(), False
        try:
            join_as_clients_do(target)
        except (OSError, AssertionError) as error:
            has_failed = True
            print(f"victim: {error!r}", file=sys.stderr, flush=True)
        output.write(LINE.pack(began, time.monotonic() - began, has_failed))
        output.flush()
        due = max(due + JOIN_EVERY_S, time.monotonic())
        time.sleep(max(due - time.monotonic(), 0))


def main() -> None:
    if not go_first():
        print(
            "victim: shares the cores with the others: its latencies have what it waits for one",
            file=sys.stderr,
        )
    target = Target.read(Path(sys.argv[2]))
    with Path(sys.argv[3]).open("ab") as output:
        if sys.argv[1] == "joins":
            join_again_and_again(target, output)
        else:
            Records(target, output).run()


if __name__ == "__main__":
    main()
