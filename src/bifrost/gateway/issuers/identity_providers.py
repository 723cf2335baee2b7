"""The identity providers of a configuration: an issuer of tokens, a Kerberos realm.

A reload that does not change a provider keeps it: its fetched keys, and the task that fetches them.
"""

import asyncio
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from bifrost.authentication.accounts import Accounts
from bifrost.authentication.gssapi_server import KerberosSettings
from bifrost.authentication.oauthbearer_server import Tokens
from bifrost.config.fields.oauth import OAuth
from bifrost.config.model import Config
from bifrost.gateway.loop.loop_guard import keep

if TYPE_CHECKING:
    from bifrost.gateway.issuers.jwks import Jwks


class IdentityProviders:
    """The identity providers of one configuration."""

    def __init__(
        self, config: Config, now_ms: Callable[[], int], before: "IdentityProviders | None" = None
    ) -> None:
        """Read the files that the providers need; fetch no key yet.

        Args:
            config: the configuration with the providers.
            now_ms: a monotonic clock, in milliseconds.
            before: the providers of the configuration before this one.
        Raises:
            StartError: a file, or a package, cannot be used.
        """
        self._oauth, self._kerberos = config.proxy.oauth, config.proxy.kerberos
        self._jwks: Jwks | None = None
        self.kerberos: KerberosSettings | None = None
        self._task: asyncio.Task[None] | None = None
        if self._oauth is not None and before is not None and before._oauth == self._oauth:
            self._jwks, self._task = before._jwks, before._task
        elif self._oauth is not None:
            self._jwks = _new_jwks(self._oauth, now_ms)
        if self._kerberos is not None and before is not None and before._kerberos == self._kerberos:
            self.kerberos = before.kerberos
        elif self._kerberos is not None:
            from bifrost.gateway.issuers.kerberos import kerberos_settings

            self.kerberos = kerberos_settings(self._kerberos)

    def start(self) -> None:
        """Start fetching keys, if there is an issuer and no task fetches its keys yet."""
        if self._jwks is not None and self._task is None:
            self._task = asyncio.get_running_loop().create_task(keep("jwks", self._jwks.run))

    def stop(self, after: "IdentityProviders | None" = None) -> None:
        """Stop fetching keys, unless the providers `after` these go on with them."""
        if self._task is not None and (after is None or after._task is not self._task):
            self._task.cancel()

    def tokens(self, accounts: Accounts, tenants: Collection[str]) -> Tokens | None:
        """Return what checks access tokens for these accounts and tenants; None if no tokens are accepted."""
        return None if self._jwks is None else self._jwks.tokens(accounts, tenants)

    def call_when_keys_are_fetched(self, callback: Callable[[], object]) -> None:
        """Call back when the current fetch has ended; soon, if there is none."""
        if self._jwks is None:
            asyncio.get_running_loop().call_soon(callback)
        else:
            self._jwks.call_when_fetched(callback)


def _new_jwks(settings: OAuth, now_ms: Callable[[], int]) -> "Jwks":
    from bifrost.gateway.issuers.jwks import Jwks  # and cryptography, 20 MiB, for those who use it

    jwks = Jwks(settings, now_ms)
    jwks.prepare()
    return jwks
