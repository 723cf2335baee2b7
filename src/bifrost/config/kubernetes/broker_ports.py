"""The ports that stand for the brokers of a virtual cluster whose document has no `brokerPorts`.

They are the 16 ports after `port`, or those up to the next virtual cluster's `port` where that is nearer. Where the
next follows at once (9093 and 9094), none is left: then `port` stands for the cluster's only broker as well.
"""

from collections.abc import Iterable

from bifrost.config.checks.port_clashes import hosts_overlap
from bifrost.config.kubernetes.resource import Resource

DEFAULT_BROKER_PORTS = 16
"""Most ports for the brokers, after the listener's own, when brokerPorts is absent."""

MAX_PORT = 65_535

DEFAULT_BIND = "0.0.0.0"  # noqa: S104 - the default of the flat dialect, compared and not bound


def is_port(value: object) -> bool:
    """Whether a value can be a TCP port."""
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_PORT


class Neighbours:
    """The ports of all virtual clusters."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        """Read the ports of these documents, as far as they are readable."""
        self._hosts: dict[int, set[str]] = {}
        for resource in resources:
            port, host = resource.get("spec", "listener", "port"), resource.get("spec", "listener", "bind")
            if is_port(port):
                assert isinstance(port, int)
                self._hosts.setdefault(port, set()).add(host if isinstance(host, str) else DEFAULT_BIND)

    def broker_ports_after(self, port: int, bind: object) -> range:
        """Return the ports that stand for the brokers of the virtual cluster at a port; empty if none is free.

        Args:
            port: the virtual cluster's own port.
            bind: the host that it is bound on, as far as it is readable.
        """
        host = bind if isinstance(bind, str) else DEFAULT_BIND
        last = min(port + DEFAULT_BROKER_PORTS, MAX_PORT)
        for other in range(port + 1, last + 1):
            if any(hosts_overlap(host, one) for one in self._hosts.get(other, ())):
                return range(port + 1, other)
        return range(port + 1, last + 1)
