"""Connections whose clients have not authenticated yet: how many there may be, of all addresses and of one.

When all places are taken, the address with most of them gives one up to an address that has at least two fewer: its
oldest connection is closed. If no address has two more, the new connection is closed. So an attacker that holds places
from one address, or from some, does not keep other clients out. A fleet whose clients all reconnect at once, each from
its own address, is served in order; always closing the oldest would close each just before it has authenticated.
"""

from collections import OrderedDict
from typing import Protocol

from bifrost.authentication.failed_authentications import network_of
from bifrost.session.close_reason import CloseReason

Refusal = tuple[CloseReason, str]
"""The reason for closing a connection, and its detail in words."""


class Newcomer(Protocol):
    """A connection: a ClientConnection or a ClientHandshake."""

    def end(self, reason: CloseReason, detail: str) -> None:
        """End now."""


class Newcomers:
    """The unauthenticated connections of one process."""

    def __init__(self) -> None:
        """Start without connections."""
        self.most = self.most_of_address = 1
        self._address_of: dict[Newcomer, str | None] = {}
        self._of_address: dict[str, OrderedDict[Newcomer, None]] = {}
        self._by_count: dict[int, OrderedDict[str, None]] = {}
        """Addresses by their number of connections."""
        self._largest = 0
        """Largest number of connections of one address."""

    def __len__(self) -> int:
        return len(self._address_of)

    def admit(self, one: Newcomer, address: str | None) -> Refusal | None:
        """Count a new connection, or return why it is refused. Another connection may be closed to make room.

        Args:
            one: the connection.
            address: the client's address; None while the load balancer's PROXY header has not told it.
        """
        network = None if address is None else network_of(address)
        refusal = self._no_room_at(network)
        if refusal is None and len(self._address_of) >= self.most and not self._make_room(network):
            refusal = CloseReason.UNAUTHENTICATED_CONNECTIONS, f"{self.most} clients are just authenticating"
        if refusal is None:
            self._add(one, network)
        return refusal

    def locate(self, one: Newcomer, address: str) -> Refusal | None:
        """Note the address of a connection that was counted without one; return why it is closed, if it is."""
        if one not in self._address_of:
            return None
        network = network_of(address)
        refusal = self._no_room_at(network)
        if refusal is None:
            self.forget(one)
            self._add(one, network)
        return refusal

    def forget(self, one: Newcomer) -> None:
        """Stop counting a connection, if it is counted: it has authenticated, or is gone."""
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
        """Close the oldest connection of the address with most, if it has at least two more; return whether it did."""
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
        """Change an address's number of connections, and move it to the addresses with the same number."""
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
        # Counts change by one: if no address has the largest count any more, one has one fewer, or there is none.
        if now > self._largest:
            self._largest = now
        elif self._largest not in self._by_count:
            self._largest -= 1
