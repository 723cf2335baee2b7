"""Types and contract of the leader table; leaders.pyx has it."""

from collections.abc import Iterable, Sequence

class Leaders:
    """The leader of each partition of one topic, -1 where there is none."""

    count: int
    known_ms: int
    is_hidden: bool
    """Whether the gateway's account may not see the topic: a tenant's may."""

    def __init__(self, nodes: Sequence[int], known_ms: int, is_hidden: bool = False) -> None: ...
    def __getitem__(self, partition: int) -> int: ...
    def __len__(self) -> int: ...

class LeaderTable:
    """The leaders of the partitions of a physical cluster, by the topic's name or ID in bytes.

    Args:
        most: the most partitions that are kept, of names and IDs together.
    """

    most: int
    partitions: int

    def __init__(self, most: int) -> None: ...
    def put(self, key: bytes, nodes: Sequence[int], known_ms: int, is_hidden: bool = False) -> None:
        """Keep the leaders of a topic; beyond the limit the topics kept longest are forgotten.

        Without any the topic does not exist, or is hidden; of these ten thousand are kept, and none with a name too
        long for a topic.
        """

    def find(self, key: bytes) -> Leaders | None:
        """Return what is known of a topic."""

    def forget(self, keys: Iterable[bytes]) -> None:
        """Forget topics, so that they are asked for again."""

    def forget_node(self, node_id: int) -> None:
        """Forget all topics with a partition that this broker leads."""

    def __len__(self) -> int: ...
