"""How many bytes the fetch or the share sessions of all clients of a cluster hold, at single addresses.

    of one client      a fixed limit
    of all of them     a fixed limit
    of one tenant's    as much as is left free: of two that want everything each has a third, of three a quarter

So no tenant takes the room of all: one that comes later finds some, however many have taken what they could.

Source: dynamic thresholds for buffers that are shared (Choudhury and Hahne, 1998).
"""

from collections import Counter


class SessionMemory:
    """What is held, by tenant."""

    def __init__(self, most: int, most_of_one: int) -> None:
        """Hold nothing yet.

        Args:
            most: bytes of all clients.
            most_of_one: bytes of one client.
        """
        self.used, self._most, self._most_of_one = 0, most, most_of_one
        self._of_tenants: Counter[str] = Counter()

    def swap(self, tenant: str, before: int, after: int, of_client: int) -> bool:
        """Let a client hold so many bytes for a session in place of others; False: there is no room for them.

        Args:
            tenant: the client's.
            before: what it held for the session.
            after: what it would hold.
            of_client: what it holds for all its sessions, with `before`.
        """
        more = after - before
        of_tenant, of_all = self._of_tenants[tenant] + more, self.used + more
        if more > 0 and (of_client + more > self._most_of_one or of_tenant > self._most - of_all):
            return False
        self.used = of_all
        if of_tenant:
            self._of_tenants[tenant] = of_tenant
        else:
            del self._of_tenants[tenant]
        return True
