"""What requests cost a broker: the CPU time of a small request of each API, and of a KiB more of items in it.

    python -m bench.broker_costs

The numbers in `bifrost.forwarding.broker_costs` come from here, rounded up. Requests are written by their schemas
(bench/hostile/shapes.py) and name nothing that exists. A broker needs some thousand requests before its compiler has
done its work, so the first APIs appear costlier than they are; what changes something costs more where it succeeds.
"""

import socket
import struct
import time
from dataclasses import dataclass

from bench.hostile.shapes import Shape, build
from bench.subjects import cpu_s_of
from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.entities import SERVED, served_versions
from bifrost.wire.schema import request_schema

SMALL_BYTES, LARGE_BYTES = 1, 20_000
IN_FLIGHT = 20
WARM_S, MEASURED_S, TIMEOUT_S = 0.5, 1.0, 8.0
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


def main() -> None:
    """Print a line for each served API."""
    with EmbeddedKafka(heap_mb=512) as kafka:
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
