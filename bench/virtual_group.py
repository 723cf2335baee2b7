"""A group of consumers that reads a whole topic, each its partitions in turn, from the start to the end.

The partitions are shared out as by Kafka's RangeAssignor, which Java's consumer uses if nothing else is said: a member
has virtual partitions that follow each other, one of each physical partition. So every member needs what is in all of
the log, and what one has fetched serves the others.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Thread

from bench.client import RawClient
from bench.end_to_end import end_after
from bench.frames import fetch, read_response, request_frame
from bench.subjects import Subject
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode

FETCH_VERSION = 12


@dataclass(frozen=True)
class FilledTopic:
    """A topic with records."""

    name: str
    ends: Sequence[int]
    """Where each partition ends."""
    size: int
    """Of all batches, in bytes."""


def go_on(positions: dict[int, int], answer: bytes) -> None:
    """Move positions behind the records that the answer to a Fetch has for their partitions."""
    for topic in read_response(ApiKey.FETCH, FETCH_VERSION, answer).responses:
        for one in topic.partitions:
            assert one.error_code == 0, ErrorCode(one.error_code)
            if one.records:
                positions[one.partition_index] = end_after(one.records)


class _Member:
    """A consumer: each Fetch names all of its partitions, as clients do that have no fetch session."""

    def __init__(self, client: RawClient, topic: FilledTopic, partitions: range) -> None:
        self._client, self._topic = client, topic
        self._positions = dict.fromkeys(partitions, 0)
        self._buffer = bytearray(1024)
        self.error: BaseException | None = None

    def read_all(self) -> None:
        try:
            while any(at < self._topic.ends[one] for one, at in self._positions.items()):
                self._read()
        except BaseException as error:  # The thread that waits for it raises it.
            self.error = error
        finally:
            self._client.close()

    def _read(self) -> None:
        wanted = fetch(self._topic.name, b"", FETCH_VERSION, list(self._positions.items()))
        self._client.send(request_frame(wanted, FETCH_VERSION, 7))
        answer = bytes(self._client.receive(self._buffer))
        go_on(self._positions, answer)


def cpu_s_per_gib(subject: Subject, topic: FilledTopic, members: int) -> float:
    """Let a group read the topic; return the CPU time of the subject for each GiB that it has."""
    share = len(topic.ends) // members
    group = [
        _Member(subject.connect(one), topic, range(one * share, (one + 1) * share)) for one in range(members)
    ]
    began_s = subject.cpu_s()
    threads = [Thread(target=one.read_all) for one in group]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent_s = subject.cpu_s() - began_s
    for one in group:
        if one.error is not None:
            raise one.error
    return spent_s * 2**30 / topic.size
