"""How often authentication failed from which address lately, and how long the next connection from there waits.

Each connection waits for two reasons, one after the other:

    a delay   for recent failures, and for what the address's connections have cost before authentication, those that
              succeeded as well (`delay_ms`). It has an upper bound, and connections wait side by side.
    a debt    what the address's connections have cost that have not authenticated (`debt_ms`). The connections of an
              address in debt go on one after the other, each when the debt is paid (gateway/admission), so that many
              connections together cost no more than one. A client that authenticates has its costs taken back
              (`forgive`): the clients behind one address that know their passwords make no debt.

Connections with right and with wrong passwords wait alike: waiting tells nothing, and no user is locked out. An IPv6
address counts as its /64, the smallest network that one machine is given.
"""

import hashlib
import ipaddress
from collections import Counter
from typing import Protocol

from bifrost.authentication.address_costs import AddressCosts, Cost
from bifrost.tenancy.bounded_map import BoundedMap

FIRST_DELAY_MS = 100
"""Delay after one failure; each further one doubles it."""

FORGOTTEN_AFTER_MS = 60_000
"""Time without a failure after which an address waits no longer, for instance because its password was corrected."""

MAX_ADDRESSES = 10_000
"""Addresses remembered, some 2 MB; one more replaces the one whose last failure is the oldest."""

FAILURE = Cost(requests=10)
"""What a failure adds to the debt: an address may fail fifty times each second without end, five hundred times at once.
Then its clients have a wrong password in their configurations, or guess."""

ADDRESS_COST = "address_cost"
"""The limit that counts as hit when a connection waits because of its address's costs."""

_IPV6_NETWORK_BITS = 64


class Failures(Protocol):
    """Number of failures, and time of the last one, by address."""

    def get(self, key: str) -> tuple[int, int] | None:
        """Return the number and the time of the last, in milliseconds of a monotonic clock; None: there are none."""

    def put(self, key: str, value: tuple[int, int]) -> object:
        """Remember the number and the time of the last failure."""


class SharedFailures:
    """Failures in memory that several processes share: each writes a part of its own and reads all parts.

    A secret key gives each address one place among many; of two addresses with the same place only one is remembered.
    """

    def __init__(self, parts: "list[memoryview[int]]", own: int, key: bytes) -> None:
        """Use parts of equal size, of signed 8-byte numbers: (mark, failures, time of the last) in each place."""
        self._parts, self._own, self._key = parts, own, key
        self._places = len(parts[own]) // 3

    def get(self, key: str) -> tuple[int, int] | None:
        """Return the newest entry of all processes; its number includes the failures that the others noted before."""
        at, mark = self._place(key)
        found = [(part[at + 1], part[at + 2]) for part in self._parts if part[at] == mark]
        return max(found, key=lambda one: (one[1], one[0]), default=None)

    def put(self, key: str, value: tuple[int, int]) -> None:
        """Write the number and the time of the last failure into this process's part."""
        at, mark = self._place(key)
        part = self._parts[self._own]
        part[at], part[at + 1], part[at + 2] = mark, *value

    def _place(self, key: str) -> tuple[int, int]:
        digest = hashlib.blake2b(key.encode(), key=self._key, digest_size=16).digest()
        mark = int.from_bytes(digest[8:], "big", signed=True) or 1
        return int.from_bytes(digest[:8], "big") % self._places * 3, mark


class FailedAuthentications:
    """The failures of all addresses."""

    def __init__(
        self,
        max_delay_ms: int,
        failures: Failures | None = None,
        hits: Counter[tuple[str, str]] | None = None,
    ) -> None:
        """Start without failures.

        Args:
            max_delay_ms: the longest delay; 0: there is none.
            failures: where failures are remembered; None: in this object alone.
            hits: where to count how often a connection waits because of its address's costs.
        """
        self._costs, self._debts = AddressCosts(), AddressCosts()
        self._hits = Counter() if hits is None else hits
        self.max_delay_ms = max_delay_ms
        self._failures: Failures = failures or BoundedMap[str, tuple[int, int]](MAX_ADDRESSES)

    def note(self, address: str, now_ms: int) -> None:
        """Count a failure."""
        if self.max_delay_ms:
            key = network_of(address)
            self._failures.put(key, (self._recent(key, now_ms) + 1, now_ms))
            self._debts.charge(key, FAILURE, now_ms)

    def charge(self, address: str, cost: Cost, now_ms: int) -> None:
        """Count what a connection from this address has cost before it authenticated.

        A cost may be negative, to correct one that was estimated.
        """
        if self.max_delay_ms:
            network = network_of(address)
            self._costs.charge(network, cost, now_ms)
            self._debts.charge(network, cost, now_ms)

    def forgive(self, address: str, cost: Cost, now_ms: int) -> None:
        """Take back from the address's debt what a connection has cost: its client has authenticated."""
        if self.max_delay_ms:
            self._debts.charge(network_of(address), -cost, now_ms)

    def debt_ms(self, address: str, now_ms: int) -> int:
        """Return the time until the address's debt is paid; 0: there is none."""
        return self._debts.delay_ms(network_of(address), now_ms) if self.max_delay_ms else 0

    def note_wait(self, limit: str) -> None:
        """Count a connection that waits: until the debt of its address is paid, or for another limit."""
        self._hits[limit, ""] += 1

    def delay_ms(self, address: str, now_ms: int) -> int:
        """Return how long a new connection from this address waits before it is read."""
        if not self.max_delay_ms:
            return 0
        network = network_of(address)
        failures = self._recent(network, now_ms)
        # A larger shift would only make a large number that the bound cuts off.
        for_failures_ms = FIRST_DELAY_MS << min(failures - 1, 20) if failures else 0
        for_costs_ms = self._costs.delay_ms(network, now_ms)
        if for_costs_ms:
            self._hits[ADDRESS_COST, ""] += 1
        return min(max(for_failures_ms, for_costs_ms), self.max_delay_ms)

    def _recent(self, key: str, now_ms: int) -> int:
        count, last_ms = self._failures.get(key) or (0, 0)
        return count if now_ms - last_ms < FORGOTTEN_AFTER_MS else 0


def network_of(address: str) -> str:
    """Return what an address counts as: itself, or for IPv6 its /64, the smallest network that one machine is given."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed), _IPV6_NETWORK_BITS), strict=False))
