"""How many bytes share sessions with virtual partitions may hold: those of one connection, and those of a tenant.

    ShareSession ──takes bytes──▶ ShareRoom of its connection ──the same──▶ ShareRoom of its tenant

A tenant may have thousands of connections. A broker limits the sessions of all clients likewise
(`group.share.max.share.sessions`).
"""

SESSION_BYTES = 1_024
"""What a session holds without partitions; the names of its member come on top."""
TOPIC_BYTES = 300
"""What a topic of a session holds without partitions."""
PHYSICAL_BYTES = 420
"""What a physical partition holds of which a session has virtual ones, without these."""
VIRTUAL_BYTES = 100
"""What a virtual partition of a session holds: many may share a physical one."""
TOLD_BYTES = 200
"""What a physical partition holds that the broker has to forget, or that a change of it is about."""

MAX_BYTES_OF_ONE = 8 << 20
"""Bound of the sessions of a connection: 80,000 virtual partitions that share few physical ones, 16,000 that share
none, and 10,000 of as many topics."""
MAX_BYTES = 16 << 20
"""Bound of the sessions of all connections of a tenant."""


class ShareRoom:
    """Bytes that sessions may take."""

    __slots__ = ("_of_all", "most", "used")

    def __init__(self, most: int = MAX_BYTES, of_all: "ShareRoom | None" = None) -> None:
        """Begin with all of it free.

        Args:
            most: how many bytes there are.
            of_all: a larger room, from which they are taken as well; None: there is none.
        """
        self.most, self._of_all = most, of_all
        self.used = 0

    def take(self, size: int) -> bool:
        """Take so many bytes; False: there are no more so many, and none is taken."""
        if self.used + size > self.most or not (self._of_all is None or self._of_all.take(size)):
            return False
        self.used += size
        return True

    def give_back(self, size: int) -> None:
        """Give back bytes that were taken."""
        self.used -= size
        if self._of_all is not None:
            self._of_all.give_back(size)
