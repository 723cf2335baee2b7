"""Which address a client reaches each broker at: one port per node ID, as the listener's configuration says."""

from dataclasses import dataclass


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

    def node_of(self, port: int) -> int:
        """Return the node ID of the broker that a port of the range stands for."""
        assert self.start <= port <= self.end
        return port - self.start + self.broker_id_base
