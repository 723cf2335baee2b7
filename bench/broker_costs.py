"""What requests cost a broker: the CPU time of a small request of each API, and of a KiB more of items in it.

    python -m bench.broker_costs [partitions|records|groups]

The numbers in `bifrost.forwarding.broker_costs` come from here, rounded up. Requests are written by their schemas
(bench/hostile/shapes.py) and name nothing that exists. A broker needs some thousand requests before its compiler has
done its work, so the first APIs appear costlier than they are; what changes something costs more where it succeeds.
"""

import socket
import struct
import sys
import time
from dataclasses import dataclass

from bench.client import RawClient
from bench.frames import produce, record_batch, request_frame
from bench.hostile.arsenal.records import malformed, undecompressible
from bench.hostile.shapes import Shape, build
from bench.subjects import cpu_s_of
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.fields.entities import SERVED, served_versions
from bifrost.wire.messages import (
    CreateTopicsRequest,
    DeleteGroupsRequest,
    DeleteTopicsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    OffsetFetchRequest,
)
from bifrost.wire.schema import request_schema

SMALL_BYTES, LARGE_BYTES = 1, 20_000
IN_FLIGHT = 20
WARM_S, MEASURED_S, TIMEOUT_S = 0.5, 1.0, 8.0
PARTITIONS, ROUNDS, AFTER_S = 200, 5, 2.0
GROUPS = 1_000
NOT_SENT = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE, ApiKey.API_VERSIONS})
"""The gateway answers these itself."""


@dataclass(frozen=True)
class Cost:
    """What many requests of one kind cost."""

    requests: int
    cpu_s: float

    @property
    def request_us(self) -> float:
        """CPU time of one request, in microseconds."""
        return self.cpu_s / self.requests * 1e6


def measure(kafka: EmbeddedKafka, frame: bytes) -> Cost:
    """Send a request again and again, a few in flight.

    Raises:
        OSError: the broker does not answer, or closes the connection.
    """
    host, port = kafka.bootstrap.split(",")[0].split(":")
    with socket.create_connection((host, int(port)), timeout=TIMEOUT_S) as connection:
        _exchange(connection, frame, WARM_S)
        before_s = sum(map(cpu_s_of, kafka.pids))
        requests = _exchange(connection, frame, MEASURED_S)
        return Cost(requests, sum(map(cpu_s_of, kafka.pids)) - before_s)


def _exchange(connection: socket.socket, frame: bytes, seconds: float) -> int:
    count, until = 0, time.monotonic() + seconds
    with connection.makefile("rb") as answers:
        while time.monotonic() < until:
            connection.sendall(frame * IN_FLIGHT)
            for _ in range(IN_FLIGHT):
                length = answers.read(4)
                if len(length) < 4:
                    raise ConnectionError("the broker has closed the connection")
                answers.read(int.from_bytes(length, "big"))
            count += IN_FLIGHT
    return count


def measure_partitions(kafka: EmbeddedKafka) -> None:
    """Print what a partition costs to create and to delete: much of it comes after the answer."""
    host, port = kafka.bootstrap.split(",")[0].split(":")
    client = RawClient(host, int(port), None, timeout_s=60)
    for number in range(ROUNDS):
        name = f"wide{number}"
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=PARTITIONS, replication_factor=1)
        deleted = DeleteTopicsRequest.DeleteTopicState(name=name, topic_id=bytes(16))
        costs = []
        for request, version in (
            (CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7),
            (DeleteTopicsRequest(topics=[deleted], timeout_ms=30_000), 6),
        ):
            before_s = sum(map(cpu_s_of, kafka.pids))
            client.request(request, version)
            time.sleep(AFTER_S)
            costs.append((sum(map(cpu_s_of, kafka.pids)) - before_s) / PARTITIONS * 1e6)
        print(f"a partition: {costs[0]:.0f} us to create, {costs[1]:.0f} us to delete", flush=True)
    client.close()


def measure_records(kafka: EmbeddedKafka) -> None:
    """Print what it costs to write a batch of 4 KB, and to refuse one."""
    host, port = kafka.bootstrap.split(",")[0].split(":")
    client = RawClient(host, int(port), None, timeout_s=60)
    topic = CreateTopicsRequest.CreatableTopic(name="records", num_partitions=1, replication_factor=1)
    client.request(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7)
    good, _ = record_batch(4000, 200)
    for name, batch in {"good": good, **malformed(), **undecompressible(), "good again": good}.items():
        request = produce("records", b"", 9, 0, batch)
        answer = client.request(request, 9).responses[0].partition_responses[0]
        cost = measure(kafka, request_frame(request, 9, 1))
        print(f"{name:14} {cost.request_us:8.0f} us {ErrorCode(answer.error_code).name}", flush=True)
    client.close()


def measure_groups(kafka: EmbeddedKafka) -> None:
    """Print what a group costs that a request names, among many: none of them has members or offsets."""
    names = [f"group{number}" for number in range(GROUPS)]
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    whole = {
        "offsets of all topics": (OffsetFetchRequest(groups=[group(group_id=one) for one in names]), 8),
        "description": (DescribeGroupsRequest(groups=names), 5),
        "deletion": (DeleteGroupsRequest(groups_names=names), 2),
        "coordinator": (FindCoordinatorRequest(coordinator_keys=names), 4),
    }
    for name, (request, version) in whole.items():
        cost = measure(kafka, request_frame(request, version, 1))
        print(f"{name:22} {cost.request_us / GROUPS:6.1f} us a group", flush=True)


def main() -> None:
    """Print a line for each served API, or what partitions, broken records or groups cost."""
    with EmbeddedKafka(heap_mb=512) as kafka:
        if sys.argv[1:] == ["partitions"]:
            measure_partitions(kafka)
            return
        if sys.argv[1:] == ["records"]:
            measure_records(kafka)
            return
        if sys.argv[1:] == ["groups"]:
            measure_groups(kafka)
            return
        for api_key in sorted(set(SERVED) - NOT_SENT):
            schema, version = request_schema(api_key), max(served_versions(api_key) or (0,))
            try:
                frames = [build(schema, version, Shape.LISTS, size) for size in (SMALL_BYTES, LARGE_BYTES)]
                small, large = (measure(kafka, frame) for frame in frames)
            except (OSError, struct.error) as error:
                print(f"{api_key.name:34} v{version:<3} {error}", flush=True)
                continue
            more_kib = (len(frames[1]) - len(frames[0])) / 1024
            more = (
                f"{(large.request_us - small.request_us) / more_kib:8.1f} us a KiB" if more_kib >= 1 else ""
            )
            print(f"{api_key.name:34} v{version:<3} {small.request_us:8.0f} us {more}", flush=True)


if __name__ == "__main__":
    main()
