"""The one TLS port of a listener set whose clients name the broker by a host name (SNI)."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from bifrost.authentication.accounts import AuthenticationFailed
from bifrost.config.fields.listener_sets import ListenerSet
from bifrost.config.fields.server_names import ServerNames, Wanted
from bifrost.config.model import Config
from bifrost.gateway.clients.client_connection import ClientConnection
from bifrost.gateway.clients.context import ClientContext
from bifrost.gateway.clients.ingress import contexts_of
from bifrost.gateway.clients.listener import Listener
from bifrost.gateway.sockets.client_origin import ClientOrigin
from bifrost.gateway.sockets.server_tls import ServerContexts, TlsFailure
from bifrost.session.close_reason import CloseReason


class SniListener(Listener):
    """Accepts the clients of one such listener set."""

    def __init__(
        self, listener_set: ListenerSet, gateway: ClientContext, contexts: ServerContexts | None
    ) -> None:
        """Bind nothing yet."""
        super().__init__(listener_set, gateway, contexts)
        self._config: Config | None = None
        self._read_set: ListenerSet | None = None
        self._tenants: dict[str, str] = {}
        """What `_tenants_by_label` returned for these two."""

    @property
    def leads_to_a_broker(self) -> bool:
        """Whether a broker of a cluster that answers is known: each has a host name."""
        return bool(self._gateway.clusters.answering_node_ids)

    def serves(self, tenant: str | None) -> bool:
        """Whether clients under this tenant's names have a place here; None: names without a tenant."""
        if tenant is None or self._listed is None:
            return True
        return self._tenants_by_label().get(tenant.lower()) == tenant

    def owned_ports(self) -> Iterator[tuple[int, Collection[str]]]:
        """Yield the port, if it is for some tenants alone: clients of all of them know it as their brokers'."""
        sni = self.listener_set.sni
        if sni is not None and sni.tenants is not None and None in self._servers:
            yield sni.port, sni.tenants

    @property
    def _listed(self) -> tuple[str, ...] | None:
        """The tenants that have names here; None: all."""
        sni = self.listener_set.sni
        return None if sni is None else sni.tenants

    async def follow_brokers(self) -> None:
        """Do nothing: there is a host name for every broker."""

    def _enter(self, node_id: int | None, origin: ClientOrigin) -> ClientConnection:
        """Return the connection of a client to the broker that it named.

        Raises:
            TlsFailure: it named no host of this listener set, a tenant that is not listed, or a broker that does not
                exist.
            AuthenticationFailed: its certificate is another tenant's.
            SessionEnded: no broker is known.
        """
        wanted = self._wanted(origin.server_name)
        if wanted.tenant is not None:
            origin = self._bound(origin, self._tenant(wanted.tenant, origin.server_name))
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

    def _tenant(self, label: str, server_name: str | None) -> str:
        """Return the name of the tenant that a host name's label stands for.

        Where tenants are listed, only they are reached. Otherwise an unknown tenant is treated as one without users, so
        that a client does not learn which tenants exist.

        Raises:
            TlsFailure: the listener set lists its tenants, and this is none of them.
        """
        tenant = self._tenants_by_label().get(label)
        if tenant is not None:
            return tenant
        if self._listed is None:
            return label
        detail = f"{server_name} is the host of no tenant of this listener set"
        raise TlsFailure(CloseReason.UNKNOWN_SERVER_NAME, detail)

    def _tenants_by_label(self) -> Mapping[str, str]:
        """Return the tenants that have names here, by the labels of these names."""
        config, listener_set, listed = self._gateway.config, self.listener_set, self._listed
        if config is not self._config or listener_set is not self._read_set:
            self._config, self._read_set = config, listener_set
            names = [tenant.name for tenant in config.tenants] if listed is None else listed
            self._tenants = {name.lower(): name for name in names}
        return self._tenants

    def _wanted(self, server_name: str | None) -> Wanted:
        names = self.addresses
        assert isinstance(names, ServerNames)
        wanted = None if server_name is None else names.wanted(server_name)
        if wanted is None:
            said = "no host" if server_name is None else repr(server_name[:253])
            detail = f"the client named {said} (SNI), and this listener set is {names.host_for('<tenant>')}"
            raise TlsFailure(CloseReason.UNKNOWN_SERVER_NAME, detail)
        return wanted


def listeners_of(config: Config, gateway: ClientContext) -> list[Listener]:
    """Return the listeners of a gateway that starts; they bind nothing yet.

    Raises:
        StartError: certificates cannot be used any more.
    """
    now_ms = gateway.shared.sasl.now_ms
    return [listener_of(one, gateway, contexts_of(one, now_ms)) for one in config.proxy.listener_sets]


def listener_of(
    listener_set: ListenerSet, gateway: ClientContext, contexts: ServerContexts | None
) -> Listener:
    """Return the listener for a listener set and its TLS contexts; it binds nothing yet."""
    kind = Listener if listener_set.sni is None else SniListener
    return kind(listener_set, gateway, contexts)
