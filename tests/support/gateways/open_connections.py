"""How many connections a program has that it accepted: to ports of its own."""

from __future__ import annotations

from collections.abc import Collection

import psutil


def connections_to(pid: int, ports: Collection[int]) -> int:
    """Return how many connections to these ports a process and its children have."""
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    connections = [one for process in family for one in process.net_connections("tcp4")]
    return sum(one.laddr.port in ports and one.status == psutil.CONN_ESTABLISHED for one in connections)
