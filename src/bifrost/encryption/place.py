"""Where sealed records belong: what is sealed for one partition cannot be opened as another's."""

from struct import Struct

_LENGTH = Struct(">H")
_PARTITION = Struct(">i")


class Place:
    """A partition of a physical cluster.

    Attributes:
        cluster: what the operator or the cluster itself calls the cluster: by default Kafka's cluster ID.
        topic: the physical name of the topic.
        partition: the index of the partition.
        binding: the three as bytes; they begin the additional data of every cipher call (docs/encryption.md).
    """

    __slots__ = ("binding", "cluster", "partition", "topic")

    def __init__(self, cluster: str, topic: str, partition: int) -> None:
        self.cluster, self.topic, self.partition = cluster, topic, partition
        self.binding = _text(cluster) + _text(topic) + _PARTITION.pack(partition)

    def __repr__(self) -> str:
        return f"Place({self.cluster!r}, {self.topic!r}, {self.partition})"


def _text(text: str) -> bytes:
    data = text.encode()
    return _LENGTH.pack(len(data)) + data
