"""The ways to reach the gateway: the section `proxy.listener_sets`."""

from pydantic import Field

from bifrost.config.section import Section
from bifrost.config.values import AdvertisedHost, Count, Host, Name, Port
from bifrost.config.verifiers import Mechanism


class BrokerPortRange(Section):
    """The ports that stand for the physical cluster's brokers, both ends included."""

    start: Port = Field(examples=["9093"])
    """TCP port of the broker whose node ID is `broker_id_base`. Required."""

    end: Port = Field(examples=["9095"])
    """Last TCP port of the range, at least `start`. A broker whose port would lie beyond it cannot be
    reached, so leave room for brokers to come: a port is only bound when its broker exists. Required."""


class PortRange(Section):
    """One port to bootstrap from and one for each broker, all on the same host.

    A Kafka client chooses a broker by connecting to its address, so each broker of the physical cluster
    needs an address at the gateway: broker `n` is `advertised_host` at port `broker_port_range.start + (n -
    broker_id_base)`.
    """

    bind_host: Host = "0.0.0.0"  # noqa: S104
    """Address on which the ports are bound. Default `0.0.0.0`, every IPv4 interface, as a Kafka broker does
    whose listener names no host; `127.0.0.1` keeps the gateway to the machine itself."""

    advertised_host: AdvertisedHost = Field(examples=["proxy.example.com"])
    """Host that clients are told to connect to, as Kafka's `advertised.listeners`: it must resolve, for
    them, to this gateway. Without a port. Required, because no gateway can know how it is seen from
    outside."""

    bootstrap_port: Port = Field(examples=["9092"])
    """TCP port clients bootstrap from; any broker of the physical cluster may serve it. Required."""

    broker_port_range: BrokerPortRange = Field(examples=["{ start: 9093, end: 9095 }"])
    """TCP ports of the brokers. Required."""

    broker_id_base: Count = Field(default=0, ge=0, le=2**31 - 1)
    """Node ID of the broker that has the first port of the range. Default 0, the first ID that Strimzi and
    most automation give; set 1 for clusters counted from 1."""

    def broker_port(self, broker_id: int) -> int | None:
        """Return the port of the broker with this node ID, None when the range has none for it."""
        port = self.broker_port_range.start + broker_id - self.broker_id_base
        return port if self.broker_port_range.start <= port <= self.broker_port_range.end else None

    def broker_ids(self) -> range:
        """Return the node IDs that have a port."""
        size = self.broker_port_range.end - self.broker_port_range.start + 1
        return range(self.broker_id_base, self.broker_id_base + size)


class ListenerSet(Section):
    """One way to reach the gateway: addresses that belong together."""

    name: Name = Field(examples=["plaintext"])
    """What logs call it. Letters, digits, `.`, `_` and `-`, at most 64; no two sets share one. Required."""

    port_range: PortRange = Field(examples=["{ ... }"])
    """The addresses. Required."""

    sasl_mechanisms: tuple[Mechanism, ...] | None = Field(default=None, min_length=1, max_length=3)
    """How clients may authenticate here: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`. Default: the key is
    absent and each is offered that some credential allows. Where no listener set offers SCRAM, no verifiers
    are derived from password files, which takes some 4 ms for each at the start."""
