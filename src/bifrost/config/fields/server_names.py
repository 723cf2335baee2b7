"""Which broker of which tenant a client wants to reach, by the host name in its TLS hello (SNI, RFC 6066).

Two patterns, such as `{tenant}.kafka.example.com` to bootstrap from and `b{node_id}-{tenant}.kafka.example.com` for a
broker, map names in both directions. Host names are compared without regard to case (RFC 4343).
"""

import re
from dataclasses import dataclass

TENANT, NODE_ID = "{tenant}", "{node_id}"
MAX_LABEL_LENGTH = 63
"""Longest label of a host name, in characters (RFC 1035)."""

_LABEL = "[a-z0-9](?:[a-z0-9-]*[a-z0-9])?"
_NODE_ID = "0|[1-9][0-9]{0,9}"


def is_label(name: str) -> bool:
    """Whether a name can be a label of a host name unchanged: letters, digits and inner hyphens, at most 63."""
    return len(name) <= MAX_LABEL_LENGTH and re.fullmatch(_LABEL, name.lower()) is not None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a host name stands for."""

    node_id: int | None
    """The broker; None to bootstrap."""

    tenant: str | None
    """The tenant, in small letters; None when the patterns do not say."""


class ServerNames:
    """The host names of one listener set."""

    def __init__(self, bootstrap_host: str, broker_host: str, port: int) -> None:
        """Use two patterns; the configuration has checked them.

        Args:
            bootstrap_host: may have `{tenant}` in it.
            broker_host: has `{node_id}` in it, and `{tenant}` if the other has.
            port: the port at which clients reach all of them.
        """
        self._broker_host = broker_host.lower()
        self._bootstrap_host = bootstrap_host.lower()
        self._port = port
        self._bootstrap = _compiled(self._bootstrap_host)
        self._broker = _compiled(self._broker_host)
        self.names_tenants = TENANT in self._bootstrap_host

    def wanted(self, server_name: str) -> Wanted | None:
        """Return what a host name stands for, None when it matches neither pattern.

        It does not check that the tenant exists: authentication does.
        """
        name = server_name.lower().removesuffix(".")
        for pattern in (self._broker, self._bootstrap):
            match = pattern.fullmatch(name)
            if match is not None:
                found = match.groupdict()
                node_id = found.get("node_id")
                return Wanted(None if node_id is None else int(node_id), found.get("tenant"))
        return None

    def address_of(self, node_id: int, tenant: str) -> tuple[str, int]:
        """Return host and port at which a tenant's client reaches a broker."""
        host = self._broker_host.replace(NODE_ID, str(node_id)).replace(TENANT, tenant.lower())
        return host, self._port

    def host_for(self, tenant: str) -> str:
        """Return the host by which a tenant knows the gateway."""
        return self._bootstrap_host.replace(TENANT, tenant.lower())


def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"(\{tenant\}|\{node_id\})", pattern)
    groups = {TENANT: f"(?P<tenant>{_LABEL})", NODE_ID: f"(?P<node_id>{_NODE_ID})"}
    return re.compile("".join(groups.get(part) or re.escape(part) for part in parts))
