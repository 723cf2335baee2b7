"""How connections to the brokers of one cluster are secured, and with which accounts the gateway logs in.

Built from the section `upstream` and from what tenants and their users have in place of `upstream.sasl`. Used by
`broker_client.py` for the gateway's own connections, and by `broker_connection.py` for those of clients.
"""

import ssl
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from bifrost.config.fields.client_tls import ClientTls
from bifrost.config.fields.tenants import Tenant
from bifrost.config.fields.upstream import Upstream
from bifrost.config.fields.upstream_sasl import UpstreamSasl
from bifrost.gateway.brokers.broker_login import Login
from bifrost.gateway.brokers.broker_tls import FileWatch, watch_context

TLS_SHUTDOWN_S = 5.0
"""Time for the broker to confirm the end of TLS; brokers do so at once, and without it no data is lost."""


class BrokerSecurity:
    """The security of the connections to one cluster."""

    def __init__(
        self,
        upstream: Upstream,
        tenants: Iterable[Tenant],
        *,
        timeout_ms: int,
        now_ms: Callable[[], int],
        workers: int = 1,
        before: "BrokerSecurity | None" = None,
    ) -> None:
        """Read the certificates, if they are not those of `before`; connect nowhere yet. May run in any thread.

        Args:
            upstream: the cluster's section.
            tenants: the tenants of this cluster.
            timeout_ms: time limit of a request to a token endpoint.
            now_ms: a monotonic clock.
            workers: processes of the gateway that use the same accounts.
            before: what was in force, whose context is used again if it would be the same: to read the files takes
                milliseconds, those of the system 70.
        Raises:
            StartError: certificates cannot be used, or a library is missing.
        """
        protocol = upstream.security_protocol
        tls = (upstream.tls or ClientTls()) if protocol.has_tls else None
        self._tls = tls
        self._context: FileWatch[ssl.SSLContext] | None = None
        if before is not None and before._goes_on_with(tls):
            self._context = before._context
        elif tls is not None:
            self._context = watch_context("upstream.tls", tls)
        logins: dict[UpstreamSasl, Login] = {}

        def login(sasl: UpstreamSasl) -> Login:
            # An account that is configured in several places has one Login, with one pace and one token.
            if sasl not in logins:
                logins[sasl] = Login(sasl, tls=tls, timeout_ms=timeout_ms, now_ms=now_ms, workers=workers)
            return logins[sasl]

        has_sasl = protocol.has_sasl and upstream.sasl is not None
        self.own = login(upstream.sasl) if has_sasl and upstream.sasl is not None else None
        """The login for the gateway's own requests; None without an account."""
        self._of_tenants: dict[str, Login] = {}
        self._of_users: dict[tuple[str, str], Login] = {}
        for tenant in tenants if has_sasl else ():
            if tenant.upstream_sasl is not None:
                self._of_tenants[tenant.name] = login(tenant.upstream_sasl)
            for user in tenant.auth.credentials:
                if user.upstream_sasl is not None:
                    self._of_users[tenant.name, user.username] = login(user.upstream_sasl)

    def _goes_on_with(self, tls: ClientTls | None) -> bool:
        """Whether the context is what this section would make; the system's CAs are read anew each time."""
        if self._context is None or tls is None or tls.ca_file is None:
            return False
        return tls == self._tls and self._context.is_up_to_date

    def login_of(self, tenant: str, username: str) -> Login | None:
        """Return the login for the connections of a user: the user's own, its tenant's or the gateway's."""
        return self._of_users.get((tenant, username)) or self._of_tenants.get(tenant) or self.own

    def accounts(self) -> Iterator[tuple[str, Login]]:
        """Yield the accounts of tenants and users, each with its owner in words."""
        yield from ((f"tenant {tenant}", login) for tenant, login in self._of_tenants.items())
        yield from ((f"user {user} of {tenant}", login) for (tenant, user), login in self._of_users.items())

    async def connect_options(self, host: str) -> dict[str, Any]:
        """Return asyncio's arguments to encrypt a connection to `host`; none without TLS."""
        context = await self.tls_context()
        if context is None:
            return {}
        return {"ssl": context, "server_hostname": host, "ssl_shutdown_timeout": TLS_SHUTDOWN_S}

    async def tls_context(self) -> ssl.SSLContext | None:
        """Return the context for a new connection; None without TLS."""
        return None if self._context is None else await self._context.current()
