"""Refuses a reload that gives the port of a tenant's broker to another tenant.

Clients remember the address of each broker. A client whose broker's port becomes another tenant's would connect there,
and where clients are not asked who they are, its records would be the other tenant's. A port that has only just been
bound, or that is another tenant's after a restart, cannot be told from a new one: docs/virtual-clusters.md says so.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Mapping

from bifrost.config.model import Config
from bifrost.gateway.errors import StartError


def check_ports(open_ports: Mapping[int, Collection[str]], config: Config) -> None:
    """Refuse another configuration if it gives a tenant's port to another tenant.

    Args:
        open_ports: the open ports that stand for brokers, each with the tenants whose clients alone know it.
        config: the configuration that the gateway is to use.
    Raises:
        StartError: a port would change hands, while its tenant stays.
    """
    staying = {tenant.name for tenant in config.tenants}
    known = sorted(open_ports)
    for one in config.proxy.listener_sets:
        if one.port_range is None:
            continue
        ports = one.port_range.broker_port_range
        taken: Iterable[int] = (one.port_range.bootstrap_port,)
        if ports is not None:
            taken = (*taken, *known[bisect_left(known, ports.start) : bisect_left(known, ports.end + 1)])
        for port in taken:
            others = [owner for owner in open_ports.get(port, ()) if owner in staying and owner != one.tenant]
            if others:
                raise StartError(
                    f"port {port} stands for a broker of {others[0]}, whose clients still know it, and would be of "
                    f"listener set {one.name}: choose another port, or restart the gateway"
                )
