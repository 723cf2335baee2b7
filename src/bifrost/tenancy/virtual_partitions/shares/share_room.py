"""How much share sessions with virtual partitions may remember: those of one connection, those of a tenant's.

    ShareSession ──takes places──▶ ShareRoom of its connection ──the same──▶ ShareRoom of its tenant

A tenant may have thousands of connections, and a broker has a limit of all sessions likewise
(`group.share.max.share.sessions`).
"""

MAX_PARTITIONS = 10_000
"""Virtual partitions of all sessions of a connection: as many as a topic usually has at the most."""

SESSION_PLACES = 4
"""Places of a session without partitions, which takes as much memory as so many of them."""

NAME_LENGTH = 256
"""Characters of a session's names that count as a place. A name may have 32,767."""

MAX_OF_TENANT = 50_000
"""Places of all connections of a tenant: some 10 MiB, and at most 40 where each topic has one virtual partition."""


class ShareRoom:
    """Places, each for a virtual partition."""

    __slots__ = ("_of_all", "most", "used")

    def __init__(self, most: int = MAX_OF_TENANT, of_all: "ShareRoom | None" = None) -> None:
        """Begin with all of it free.

        Args:
            most: how many places there are.
            of_all: a larger room, whose places are taken as well; None: there is none.
        """
        self.most, self._of_all = most, of_all
        self.used = 0

    def take(self, places: int) -> bool:
        """Take places; False: there are no more so many, and none is taken."""
        if self.used + places > self.most or not (self._of_all is None or self._of_all.take(places)):
            return False
        self.used += places
        return True

    def give_back(self, places: int) -> None:
        """Give back places that were taken."""
        self.used -= places
        if self._of_all is not None:
            self._of_all.give_back(places)
