"""Connections whose clients have not authenticated yet: how many there may be, of all addresses and of one.

When all places are taken, the address with most of them gives one up to another that has at least two less: its oldest
connection is closed. Where no address has two more, the new connection is closed. So an attacker that holds places from
one address, or from some, does not keep other clients out. A fleet whose clients all come back at once, each from an
address of its own, is served in order; always closing the oldest would close each just before it has authenticated.
"""

from collections import OrderedDict
from typing import Protocol

from bifrost.authentication.failed_authentications import network_of
from bifrost.session.close_reason import CloseReason

Refusal = tuple[CloseReason, str]
"""Why a connection is closed, and the same in words."""


class Newcomer(Protocol):
    """A connection: a ClientConnection or a ClientHandshake."""

    def end(self, reason: CloseReason, detail: str) -> None:
        """End now."""


class Newcomers:
    """Those of one process."""

    def __init__(self) -> None:
        """There are none."""
        self.most = self.most_of_address = 1
        self._address_of: dict[Newcomer, str | None] = {}
        self._of_address: dict[str, OrderedDict[Newcomer, None]] = {}
        self._by_count: dict[int, OrderedDict[str, None]] = {}
        """Addresses by how many connections they have."""
        self._largest = 0
        """The most that one address has."""

    def __len__(self) -> int:
        return len(self._address_of)

    def admit(self, one: Newcomer, address: str | None) -> Refusal | None:
        """Count a connection in; return why not, if it is not. Another may be closed for it.

        Args:
            one: the connection.
            address: where it comes from; None: a load balancer stands between, and has not said yet.
        """
        network = None if address is None else network_of(address)
        refusal = self._no_room_at(network)
        if refusal is None and len(self._address_of) >= self.most and not self._make_room(network):
            refusal = CloseReason.UNAUTHENTICATED_CONNECTIONS, f"{self.most} clients are just authenticating"
        if refusal is None:
            self._add(one, network)
        return refusal

    def locate(self, one: Newcomer, address: str) -> Refusal | None:
        """Note where a connection comes from that was counted in without an address; return why it is closed."""
        if one not in self._address_of:
            return None
        network = network_of(address)
        refusal = self._no_room_at(network)
        if refusal is None:
            self.forget(one)
            self._add(one, network)
        return refusal

    def forget(self, one: Newcomer) -> None:
        """Count a connection out, if it was counted in: it has authenticated, or is gone."""
        if one not in self._address_of:
            return
        network = self._address_of.pop(one)
        if network is not None:
            del self._of_address[network][one]
            self._count(network, -1)

    def _no_room_at(self, network: str | None) -> Refusal | None:
        if network is None or len(self._of_address.get(network, ())) < self.most_of_address:
            return None
        detail = f"{self.most_of_address} clients of this address are just authenticating"
        return CloseReason.ADDRESS_CONNECTIONS, detail

    def _make_room(self, network: str | None) -> bool:
        """Close the oldest connection of the address that has most, if that has at least two more; return whether."""
        own = 0 if network is None else len(self._of_address.get(network, ()))
        if self._largest < own + 2:
            return False
        loser = next(iter(self._by_count[self._largest]))
        oldest = next(iter(self._of_address[loser]))
        self.forget(oldest)
        detail = f"{self.most} clients are just authenticating, and most of them come from this address"
        oldest.end(CloseReason.UNAUTHENTICATED_CONNECTIONS, detail)
        return True

    def _add(self, one: Newcomer, network: str | None) -> None:
        self._address_of[one] = network
        if network is not None:
            self._of_address.setdefault(network, OrderedDict())[one] = None
            self._count(network, 1)

    def _count(self, network: str, change: int) -> None:
        """Move an address to where those stand that have as many connections as it has now."""
        now = len(self._of_address[network])
        before = now - change
        if before:
            del self._by_count[before][network]
            if not self._by_count[before]:
                del self._by_count[before]
        if now:
            self._by_count.setdefault(now, OrderedDict())[network] = None
        else:
            del self._of_address[network]
        # Counts change by one: when no address has the largest one any more, some address has one less, or none any.
        if now > self._largest:
            self._largest = now
        elif self._largest not in self._by_count:
            self._largest -= 1
