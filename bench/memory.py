"""What the gateway keeps resident: at rest, with ten connections that have worked, per idle connection."""

import resource
from dataclasses import dataclass

from bench.client import RawClient
from bench.frames import fetch, produce, request_frame
from bench.subjects import Subject
from bench.workloads import CONSUMED, PRODUCED, Topics
from bifrost.wire.messages import MetadataRequest

WORKING_CONNECTIONS = 10
IDLE_CONNECTIONS = 1000
DESCRIPTORS_TO_SPARE = 200


@dataclass
class Memory:
    """Resident memory of a gateway process."""

    start_mib: float
    per_authenticated_kib: float | None = None
    """What an idle connection costs that is authenticated and has asked nothing yet; None when there are not enough
    file descriptors to find out."""
    per_used_kib: float | None = None
    """The same of one that has asked something, and so has a connection to the broker behind it."""
    working_mib: float = 0.0
    """With ten connections open that have all produced and consumed, after everything else."""
    peak_mib: float = 0.0


def raise_descriptor_limit() -> None:
    """Let this process and those it starts have as many file descriptors as they may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def measure_idle(gateway: Subject) -> Memory:
    """Read what idle connections cost a gateway that has just started."""
    memory = Memory(gateway.resident_mib())
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 2 * IDLE_CONNECTIONS + DESCRIPTORS_TO_SPARE:
        return memory
    clients = [gateway.connect() for _ in range(IDLE_CONNECTIONS)]
    authenticated_mib = gateway.resident_mib()
    for client in clients:
        client.request(MetadataRequest(topics=[]), 12)
    used_mib = gateway.resident_mib()
    _close(clients)
    memory.per_authenticated_kib = (authenticated_mib - memory.start_mib) * 1024 / IDLE_CONNECTIONS
    memory.per_used_kib = (used_mib - memory.start_mib) * 1024 / IDLE_CONNECTIONS
    return memory


def measure_working(gateway: Subject, topics: Topics, memory: Memory) -> None:
    """Add what ten busy connections make of a gateway that has carried everything else before."""
    clients = [gateway.connect() for _ in range(WORKING_CONNECTIONS)]
    _work(clients, topics)
    memory.working_mib, memory.peak_mib = gateway.resident_mib(), gateway.peak_mib()
    _close(clients)


def _work(clients: list[RawClient], topics: Topics) -> None:
    """Let every connection produce five batches and fetch 8 MiB, all at once."""
    buffer = bytearray(1024)
    for client in clients:
        for partition in range(5):
            request = produce(PRODUCED, topics.ids[PRODUCED], 9, partition, topics.batch)
            client.send(request_frame(request, 9, partition))
        partitions = [(partition, 0) for partition in range(8)]
        client.send(request_frame(fetch(CONSUMED, topics.ids[CONSUMED], 16, partitions), 16, 6))
    for client in clients:
        for _ in range(6):
            client.receive(buffer)


def _close(clients: list[RawClient]) -> None:
    for client in clients:
        client.close()
