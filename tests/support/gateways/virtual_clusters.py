"""A gateway of KafkaVirtualCluster documents in a folder, one for each prefix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

from support.clients.endpoint import Endpoint
from support.gateways.gateway_process import HOST, GatewayProcess, free_ports
from support.gateways.virtual_cluster_texts import PROD

PORTS = 2
"""Of each virtual cluster: one to bootstrap from, and that of the only broker."""


class VirtualClusters(GatewayProcess):
    """A gateway with a folder that has a file for each prefix; those of `with_users` ask for a password.

    With `side_by_side` their ports follow each other, as those of an operator who counts them up; `change` is called
    with the `spec` of each document.
    """

    def __init__(
        self,
        directory: Path,
        upstream: str,
        prefixes: Sequence[str],
        *,
        with_users: Sequence[str] = (),
        later: Sequence[str] = (),
        side_by_side: bool = False,
        change: Callable[[str, dict[str, Any]], None] = lambda prefix, spec: None,
    ) -> None:
        super().__init__(directory, upstream)
        self.folder = directory / "proxy.yaml"  # what the process is given
        self._bootstrap_servers = upstream
        self._prefixes = [*prefixes, *later]
        self._with_users = with_users
        self._later = later
        self._side_by_side = side_by_side
        self._change = change
        self._ports: dict[str, int] = {}

    def of(self, prefix: str) -> Endpoint:
        """Return how clients connect to the virtual cluster with this prefix."""
        user = {"username": f"{prefix}user", "password": "pw"} if prefix in self._with_users else {}
        return Endpoint(HOST, self._ports[prefix], **user)

    def write(self, prefix: str) -> Path:
        """Write the document of the virtual cluster with this prefix into the folder."""
        file = self.folder / f"{prefix}prod.yaml"
        file.write_text(yaml.safe_dump(self._document(prefix), sort_keys=False))
        return file

    def _write_configuration(self) -> None:
        self.folder.mkdir(exist_ok=True)
        first = free_ports(len(self._prefixes)) if self._side_by_side else 0
        self._ports = {prefix: first + n for n, prefix in enumerate(self._prefixes)} if first else {}
        while len(self._ports) < len(self._prefixes):
            port = free_ports(PORTS)
            if all(abs(port - other) >= PORTS for other in self._ports.values()):
                self._ports[self._prefixes[len(self._ports)]] = port
        for prefix in self._prefixes:
            if prefix not in self._later:
                self.write(prefix)
        (self.folder / "password").write_text("pw")

    def _document(self, prefix: str) -> dict[str, Any]:
        port = self._ports[prefix]
        document: dict[str, Any] = yaml.safe_load(PROD.replace("t1-", prefix))
        document["metadata"]["name"] = f"tenant-{prefix}prod"
        spec = document["spec"]
        spec["listener"] |= {"bind": HOST, "port": port, "advertisedHost": HOST, "brokerIdBase": 1}
        spec["listener"]["brokerPorts"] = {"start": port + 1, "end": port + 1}
        if self._side_by_side:
            del spec["listener"]["brokerPorts"]
        spec["targetCluster"]["bootstrapServers"] = self._bootstrap_servers
        if prefix in self._with_users:
            user = {"username": f"{prefix}user", "passwordFile": "password"}
            spec["auth"] = {"credentials": [user]}
        self._change(prefix, spec)
        return document
