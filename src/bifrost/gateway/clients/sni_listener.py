"""The one TLS port of a listener set whose clients name the broker by a host name (SNI)."""

from dataclasses import replace

from bifrost.authentication.accounts import AuthenticationFailed
from bifrost.config.fields.listener_sets import ListenerSet
from bifrost.config.fields.server_names import ServerNames, Wanted
from bifrost.config.model import Config
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.context import ClientContext
from bifrost.gateway.clients.listener import Listener
from bifrost.gateway.sockets.client_origin import ClientOrigin
from bifrost.gateway.sockets.server_tls import TlsFailure
from bifrost.session.close_reason import CloseReason


class SniListener(Listener):
    """Accepts the clients of one such listener set."""

    def __init__(self, listener_set: ListenerSet, gateway: ClientContext) -> None:
        """Bind nothing yet.

        Raises:
            StartError: its certificates cannot be used any more.
        """
        super().__init__(listener_set, gateway)
        self._config: Config | None = None
        self._tenants: dict[str, str] = {}

    @property
    def leads_to_a_broker(self) -> bool:
        """Whether a broker is known: each has a host name."""
        return bool(self._gateway.clusters.node_ids)

    async def follow_brokers(self) -> None:
        """Do nothing: there is a host name for every broker."""

    def _enter(self, node_id: int | None, origin: ClientOrigin) -> ClientConnection:
        """Return the connection of a client to the broker that it named.

        Raises:
            TlsFailure: it named no host of this listener set, or a broker that does not exist.
            AuthenticationFailed: its certificate is another tenant's.
            SessionEnded: no broker is known.
        """
        wanted = self._wanted(origin.server_name)
        if wanted.tenant is not None:
            origin = self._bound(origin, self._tenant(wanted.tenant))
        brokers = self._gateway.clusters.brokers_at(wanted.node_id)
        if not brokers and wanted.node_id is not None:
            detail = f"{origin.server_name} stands for broker {wanted.node_id}, which there is not"
            raise TlsFailure(CloseReason.UNKNOWN_SERVER_NAME, detail)
        return self._connection(brokers, origin)

    def _bound(self, origin: ClientOrigin, tenant: str) -> ClientOrigin:
        """Return the origin of a client that named `tenant`, and may not authenticate for another tenant."""
        account = origin.account
        if account is not None and account.tenant != tenant:
            text = f"User:{account.username} belongs to another tenant than {origin.server_name}"
            raise AuthenticationFailed("Authentication failed", text)
        if origin.tenant not in (None, tenant):
            detail = f"{origin.server_name} is not of {origin.tenant}, the only tenant of this listener set"
            raise TlsFailure(CloseReason.UNKNOWN_SERVER_NAME, detail)
        return replace(origin, tenant=tenant)

    def _tenant(self, label: str) -> str:
        """Return the name of the tenant that a host name's label stands for.

        An unknown tenant is treated as one without users, so that a client does not learn which tenants exist.
        """
        config = self._gateway.config
        if config is not self._config:
            self._config = config
            self._tenants = {tenant.name.lower(): tenant.name for tenant in config.tenants}
        return self._tenants.get(label, label)

    def _wanted(self, server_name: str | None) -> Wanted:
        names = self.addresses
        assert isinstance(names, ServerNames)
        wanted = None if server_name is None else names.wanted(server_name)
        if wanted is None:
            said = "no host" if server_name is None else repr(server_name[:253])
            detail = f"the client named {said} (SNI), and this listener set is {names.host_for('<tenant>')}"
            raise TlsFailure(CloseReason.UNKNOWN_SERVER_NAME, detail)
        return wanted


def listener_of(listener_set: ListenerSet, gateway: ClientContext) -> Listener:
    """Return the listener for a listener set; it binds nothing yet.

    Raises:
        StartError: its certificates cannot be used any more.
    """
    kind = Listener if listener_set.sni is None else SniListener
    return kind(listener_set, gateway)
