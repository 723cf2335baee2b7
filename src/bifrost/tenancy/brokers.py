"""The address at which a client reaches each broker: one port per node ID, from the listener's configuration."""

from dataclasses import dataclass
from typing import Protocol

NO_NODE = -1
"""Kafka's Node.noNode(): "there is none"."""


class BrokerAddresses(Protocol):
    """The addresses of one listener set."""

    def address_of(self, node_id: int, tenant: str) -> tuple[str, int] | None:
        """Return host and port at which a tenant's client reaches a broker, or None when it cannot reach it."""

    def host_for(self, tenant: str) -> str:
        """Return the host by which a tenant knows the gateway; it replaces a client's host in a broker's answers."""


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """The ports of one listener set: broker *n* is reached at `start + (n - broker_id_base)`."""

    advertised_host: str
    start: int
    end: int
    broker_id_base: int

    def port_of(self, node_id: int) -> int | None:
        """Return the port that stands for a broker, or None when the range has none for it."""
        port = self.start + node_id - self.broker_id_base
        return port if self.start <= port <= self.end else None

    def address_of(self, node_id: int, tenant: str) -> tuple[str, int] | None:
        """Return the advertised host and the port that stands for a broker, for every tenant the same."""
        port = self.port_of(node_id)
        return None if port is None else (self.advertised_host, port)

    def host_for(self, tenant: str) -> str:
        """Return the advertised host."""
        return self.advertised_host

    def node_of(self, port: int) -> int:
        """Return the node ID of the broker that a port of the range stands for."""
        assert self.start <= port <= self.end
        return port - self.start + self.broker_id_base
