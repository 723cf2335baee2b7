"""How clients of one listener set connect: with or without a PROXY header and TLS, and as which account."""

import asyncio
from collections.abc import Callable

from bifrost.authentication.address_costs import NO_COST, Cost
from bifrost.authentication.identity import Identification
from bifrost.config.fields.listener_sets import ListenerSet, ProxyProtocol
from bifrost.config.files.server_context import ServerContextError
from bifrost.config.principals.principal_mapping import PrincipalMapping
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.client_handshake import ClientHandshake
from bifrost.gateway.clients.context import ClientContext
from bifrost.gateway.errors import StartError
from bifrost.gateway.sockets.client_origin import ClientOrigin
from bifrost.gateway.sockets.server_tls import ServerContexts

Enter = Callable[[ClientOrigin], ClientConnection]
"""Makes the ClientConnection of a client that has passed the handshake."""


class Ingress:
    """What all connections of one listener set begin with."""

    def __init__(
        self, listener_set: ListenerSet, gateway: ClientContext, contexts: ServerContexts | None
    ) -> None:
        """Take the TLS contexts that `contexts_of` returned for the listener set."""
        self._gateway = gateway
        self.security_protocol = listener_set.security_protocol
        self.proxy_protocol = listener_set.proxy_protocol
        tls, tenant, shared = listener_set.tls, listener_set.tenant, gateway.shared.sasl
        self.contexts = contexts
        """The TLS contexts; None without TLS."""
        self._tenant = tenant
        self._identification: Identification | None = None
        if not self.security_protocol.has_sasl:
            mapping = PrincipalMapping("DEFAULT" if tls is None else tls.principal_mapping_rules)
            self._identification = Identification(shared.accounts, mapping, tenant)

    def open(self, enter: Enter) -> asyncio.BaseProtocol:
        """Return the protocol of a new connection."""
        if self.contexts is None and self.proxy_protocol is ProxyProtocol.OFF:
            return enter(self.origin(None))
        return ClientHandshake(self._gateway, self, enter)

    def origin(
        self,
        certificate: bytes | None,
        address: tuple[str, int] | None = None,
        server_name: str | None = None,
        waited_ms: int | None = None,
        cost: Cost = NO_COST,
    ) -> ClientOrigin:
        """Return the origin of a client that has passed the handshake.

        Raises:
            AuthenticationFailed: no account matches its certificate.
        """
        account = None if self._identification is None else self._identification.account_of(certificate)
        protocol, tenant = self.security_protocol, self._tenant
        return ClientOrigin(protocol, account, tenant, address, server_name, waited_ms, cost)


def contexts_of(
    listener_set: ListenerSet, now_ms: Callable[[], int], before: ServerContexts | None = None
) -> ServerContexts | None:
    """Return the TLS contexts of a listener set; None if it has no TLS. May run in any thread.

    Args:
        listener_set: the listener set.
        now_ms: a monotonic clock.
        before: those of its settings before, which go on if they fit: to read the files takes milliseconds.
    Raises:
        StartError: its certificates cannot be used any more.
    """
    tls = listener_set.tls
    if tls is None or (before is not None and before.has(listener_set.name, tls)):
        return None if tls is None else before
    try:
        return ServerContexts(listener_set.name, tls, now_ms)
    except ServerContextError as error:
        raise StartError(f"listener {listener_set.name}: tls.{error.key}: {error}") from None
