"""The load of a growth: always as many requests in flight, over connections that take turns, however many there are."""

from collections import deque
from collections.abc import Sequence

from bench.client import RawClient
from bench.frames import request_frame
from bench.subjects import Space, Subject
from bifrost.wire.messages import ListOffsetsRequest, MetadataRequest

LIST_OFFSETS_VERSION, METADATA_VERSION = 7, 12
TOPIC = "t"
"""What the stub's topics are called, before their number."""


class Load:
    """Connections through one subject."""

    def __init__(self, subject: Subject, connections: int) -> None:
        """Open them all."""
        self.subject = subject
        self.clients: list[RawClient] = [subject.connect(number) for number in range(connections)]
        self._buffer = bytearray(64 * 1024)

    def close(self) -> None:
        """Close them all."""
        for client in self.clients:
            client.close()

    def cpu_us(self, frames: Sequence[bytes], requests: int, in_flight: int) -> float:
        """Send requests over one connection after the other, `in_flight` of them at a time.

        Args:
            frames: sent in turns.
            requests: how many are sent.
            in_flight: at most as many as there are connections.
        Returns:
            CPU time of the subject's process per request, in microseconds.
        """
        clients, waiting = self.clients, deque[RawClient]()
        before_s = self.subject.cpu_s()
        for number in range(requests):
            client = clients[number % len(clients)]
            if len(waiting) >= in_flight:
                waiting.popleft().receive(self._buffer)
            client.send(frames[number % len(frames)])
            waiting.append(client)
        while waiting:
            waiting.popleft().receive(self._buffer)
        return (self.subject.cpu_s() - before_s) * 1e6 / requests

    def response_bytes(self, frame: bytes) -> int:
        """Return the size of the response to a request, its length included."""
        self.clients[0].send(frame)
        return 4 + len(self.clients[0].receive(self._buffer))


def list_offsets(space: Space, topics: Sequence[int], partitions: int = 1) -> bytes:
    """Return a ListOffsets request about the first partitions of topics by their numbers."""
    wanted = [
        ListOffsetsRequest.ListOffsetsPartition(partition_index=index, timestamp=-1)
        for index in range(partitions)
    ]
    named = [
        ListOffsetsRequest.ListOffsetsTopic(name=space.called(f"{TOPIC}{number}"), partitions=wanted)
        for number in topics
    ]
    return request_frame(ListOffsetsRequest(replica_id=-1, topics=named), LIST_OFFSETS_VERSION, 1)


def metadata(space: Space, topic: int | None) -> bytes:
    """Return a Metadata request about one topic by its number, None for all."""
    named = (
        None
        if topic is None
        else [MetadataRequest.MetadataRequestTopic(name=space.called(f"{TOPIC}{topic}"))]
    )
    request = MetadataRequest(topics=named, allow_auto_topic_creation=False)
    return request_frame(request, METADATA_VERSION, 1)
