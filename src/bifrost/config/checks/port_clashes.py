"""Check that no port is taken twice on the same host; `clashes.py` calls it.

A thousand listener sets have two thousand ports and ranges, so each is compared only with those that reach into its own
numbers, found by going through them in the order of their first port.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from bifrost.config.loc import Loc, Tree

MAX_LISTENER_SETS = 1_000
"""Most listener sets, and so most virtual clusters. Each takes a port, and more for brokers, which are sockets and file
descriptors: a thousand with three brokers each are 4,000, and a start or a reload takes seconds ("Many virtual
clusters" in docs/virtual-clusters.md has the figures)."""

_WAY_OUT = ", or set single_address: true, which needs no broker_port_range"
"""A listener set with one port for all brokers is what remains where no room is left for their ports."""

_WILDCARD_IPV4 = "0.0.0.0"  # noqa: S104 - recognised, not bound
_ADMIN: Loc = ("proxy", "admin")
_SETS: Loc = ("proxy", "listener_sets")


@dataclass(frozen=True, slots=True)
class _Ports:
    loc: Loc
    what: str
    host: str
    low: int
    high: int

    def is_beside(self, other: "_Ports") -> bool:
        """Whether these are brokers' ports and ports of another listener set, or the other way round."""
        sets = {ports.loc[:-2] for ports in (self, other) if ports.loc[: len(_SETS)] == _SETS}
        return len(sets) > 1 and any(ports.loc[-1] == "broker_port_range" for ports in (self, other))


def port_misfits(tree: Tree) -> Iterator[tuple[Loc, str, Loc | None]]:
    """Yield the place of each port or range that cannot be had, the reason, and the place that has it already."""
    taken = _admin_ports(tree)
    for index in list(tree.indexes(*_SETS))[:MAX_LISTENER_SETS]:
        for ports in _ports_of_set(tree, (*_SETS, index)):
            if ports.low <= ports.high:
                taken.append(ports)
                continue
            text = f"the range starts at {ports.low}, after its end {ports.high}: exchange the two"
            yield (*ports.loc, "start"), text, None
    for later, earlier in sorted(_first_overlaps(taken).items()):
        ports, other = taken[later], taken[earlier]
        low, high = max(ports.low, other.low), min(ports.high, other.high)
        some = f"port {low} is" if low == high else f"ports {low} to {high} are"
        text = f"{some} taken twice, by {ports.what} and by {other.what}: move one of them"
        if ports.is_beside(other):
            text += _WAY_OUT
        yield ports.loc, text, other.loc


def _first_overlaps(taken: list[_Ports]) -> dict[int, int]:
    """Return, by index, the first of the earlier ports that each overlaps with on a common host."""
    found: dict[int, int] = {}
    reaching: list[int] = []
    for index in sorted(range(len(taken)), key=lambda one: taken[one].low):
        ports = taken[index]
        reaching = [one for one in reaching if taken[one].high >= ports.low]
        for one in reaching:
            if hosts_overlap(ports.host, taken[one].host):
                later, earlier = max(index, one), min(index, one)
                found[later] = min(earlier, found.get(later, earlier))
        reaching.append(index)
    return found


def _admin_ports(tree: Tree) -> list[_Ports]:
    port = tree.number(*_ADMIN, "port")
    host = tree.text(*_ADMIN, "bind_host") or "127.0.0.1"
    return [] if port is None else [_Ports((*_ADMIN, "port"), "admin", host, port, port)]


def _ports_of_set(tree: Tree, at: Loc) -> list[_Ports]:
    """Return the ports of one listener set in the order of the file."""
    name = tree.text(*at, "name")
    suffix = f" of {name}" if name else ""
    sni: Loc = (*at, "sni")
    port = tree.number(*sni, "port")
    if port is not None:
        host = tree.text(*sni, "bind_host") or _WILDCARD_IPV4
        return [_Ports((*sni, "port"), f"port{suffix}", host, port, port)]
    at = (*at, "port_range")
    host = tree.text(*at, "bind_host") or _WILDCARD_IPV4
    found = []
    bootstrap = tree.number(*at, "bootstrap_port")
    if bootstrap is not None:
        found.append(_Ports((*at, "bootstrap_port"), f"bootstrap_port{suffix}", host, bootstrap, bootstrap))
    start = tree.number(*at, "broker_port_range", "start")
    end = tree.number(*at, "broker_port_range", "end")
    if start is not None and end is not None:
        found.append(_Ports((*at, "broker_port_range"), f"broker_port_range{suffix}", host, start, end))
    keys = tree.get(*at)
    order = list(keys) if isinstance(keys, Mapping) else []
    return sorted(found, key=lambda ports: order.index(ports.loc[-1]))


def hosts_overlap(one: str, other: str) -> bool:
    """Whether binding the same port on both fails.

    A listener on `::` takes IPv6 only (asyncio sets IPV6_V6ONLY), so it stands beside one on 0.0.0.0. A host
    name may resolve to either family, so it overlaps with both wildcards.
    """
    one, other = ("127.0.0.1" if host.lower() == "localhost" else host.lower() for host in (one, other))
    if one == other:
        return True
    for wildcard, host in ((one, other), (other, one)):
        if wildcard == _WILDCARD_IPV4:
            return ":" not in host
        if wildcard == "::":
            return ":" in host or not host.replace(".", "").isdigit()
    return False
