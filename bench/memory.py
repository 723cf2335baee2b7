"""What a process in between keeps resident: at rest, per idle connection, with a hundred connections that work."""

import resource
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from bench.client import RawClient
from bench.frames import fetch, produce, request_frame
from bench.subjects import Subject
from bench.topics import CONSUMED, PARTITIONS, PRODUCED, Topics
from bifrost.wire.messages import MetadataRequest

WORKING_CONNECTIONS = 100
FETCHING_CONNECTIONS = 10
"""Of those, how many also fetch 8 MiB at once."""
IDLE_CONNECTIONS = 1000
BATCHES_EACH = 5
DESCRIPTORS_TO_SPARE = 200
SETTLED_S = 3.0
"""After a load, before what stays is measured: the gateway gives back within two seconds what is not needed."""

Start = Callable[[], AbstractContextManager[Subject]]
"""Starts a subject that no client has used yet."""


@dataclass
class Memory:
    """Resident memory of one process, in MiB and KiB."""

    start_mib: float
    loaded_mib: float
    """At the moment at which a hundred connections have all produced, and ten of them have fetched 8 MiB."""
    working_mib: float
    """With the same connections, SETTLED_S later."""
    peak_mib: float
    """The most that was ever resident; 0 where it belongs to all that the process did before."""
    per_connected_kib: float | None = None
    """What an idle connection costs that has been opened, and authenticated where it must be; None when there are not
    enough file descriptors to find out."""
    per_used_kib: float | None = None
    """The same of one that has asked something, so that there is a connection to the broker behind it."""


def raise_descriptor_limit() -> None:
    """Let this process and those it starts have as many file descriptors as they may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def measure_memory(start: Start, topics: Topics) -> Memory:
    """Measure a subject in two fresh processes: one that works, one with idle connections."""
    with start() as subject:
        start_mib = subject.resident_mib()
        clients = [subject.connect(number) for number in range(WORKING_CONNECTIONS)]
        _work(subject, clients, topics)
        loaded_mib = subject.resident_mib()
        time.sleep(SETTLED_S)
        memory = Memory(start_mib, loaded_mib, subject.resident_mib(), subject.peak_mib())
        _close(clients)
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= 2 * IDLE_CONNECTIONS + DESCRIPTORS_TO_SPARE:
        with start() as subject:
            measure_idle(subject, memory)
    return memory


def measure_idle(subject: Subject, memory: Memory) -> None:
    """Add what idle connections cost."""
    before_mib = subject.resident_mib()
    clients = [subject.connect(number) for number in range(IDLE_CONNECTIONS)]
    connected_mib = subject.resident_mib()
    for client in clients:
        client.request(MetadataRequest(topics=[]), 12)
    used_mib = subject.resident_mib()
    _close(clients)
    memory.per_connected_kib = (connected_mib - before_mib) * 1024 / IDLE_CONNECTIONS
    memory.per_used_kib = (used_mib - before_mib) * 1024 / IDLE_CONNECTIONS


def _work(subject: Subject, clients: list[RawClient], topics: Topics) -> None:
    """Let every connection produce five batches, and some fetch 8 MiB, all at once."""
    buffer = bytearray(1024)
    for number, client in enumerate(clients):
        space = subject.space(number)
        for partition in range(BATCHES_EACH):
            topic, topic_id = space.called(PRODUCED), topics.topic_id(space.tenant, PRODUCED)
            client.send(request_frame(produce(topic, topic_id, 9, partition, topics.batch), 9, partition))
        if number < FETCHING_CONNECTIONS:
            topic, topic_id = space.called(CONSUMED), topics.topic_id(space.tenant, CONSUMED)
            wanted = fetch(topic, topic_id, 16, [(partition, 0) for partition in range(PARTITIONS)])
            client.send(request_frame(wanted, 16, BATCHES_EACH))
    for number, client in enumerate(clients):
        for _ in range(BATCHES_EACH + (number < FETCHING_CONNECTIONS)):
            client.receive(buffer)


def _close(clients: list[RawClient]) -> None:
    for client in clients:
        client.close()
