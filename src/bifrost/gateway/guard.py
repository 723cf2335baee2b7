"""Against what clients authenticate: made of a configuration before it comes into force, and kept while it is.

What must not change with a configuration stays here: the key that hides who exists, and what is counted.
"""

import asyncio
import os
import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bifrost.config.model import Config
from bifrost.config.oauth import OAuth
from bifrost.session.accounts import Account, Accounts
from bifrost.session.gssapi_server import KerberosSettings
from bifrost.session.sasl_server import SaslSettings

if TYPE_CHECKING:
    from bifrost.gateway.jwks import Jwks


@dataclass(frozen=True, slots=True)
class Secured:
    """The accounts of a configuration, and whoever vouches for them."""

    sasl: SaslSettings
    oauth: OAuth | None
    jwks: "Jwks | None"
    """The issuer's keys; None where no tokens are taken."""


class Guard:
    """Who may come into one gateway."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        """Let nobody in yet; `now_ms` is a monotonic clock, in milliseconds."""
        self._now_ms = now_ms
        # The same for as long as the process lives, or a reload would tell who does not exist.
        self._key = os.urandom(32)
        self._outcomes: Counter[tuple[str, str, str]] = Counter()
        self._secured: Secured | None = None
        self._fetching: asyncio.Task[None] | None = None

    def secure(self, config: Config) -> Secured:
        """Return what a configuration says of who may come in; nothing has changed yet.

        Raises:
            StartError: a certificate, a keytab or a library that it needs cannot be used.
        """
        oauth, before = config.proxy.oauth, self._secured
        jwks = before.jwks if before is not None and before.oauth == oauth else _jwks(oauth, self._now_ms)
        accounts = Accounts(_accounts(config), key=self._key)
        tenants = [tenant.name for tenant in config.tenants]
        settings = SaslSettings(
            accounts=accounts,
            new_nonce=lambda: secrets.token_urlsafe(24),
            now_ms=self._now_ms,
            max_reauth_ms=config.proxy.limits.max_reauth_ms,
            kerberos=_kerberos(config),
            tokens=None if jwks is None else jwks.tokens(accounts, tenants),
            outcomes=self._outcomes,
        )
        secured = Secured(settings, oauth, jwks)
        if before is None:
            self._secured = secured
        return secured

    def begin(self) -> None:
        """Fetch the issuer's keys, now and from time to time."""
        if self._secured is not None and self._secured.jwks is not None:
            self._fetching = asyncio.create_task(self._secured.jwks.run())

    def take(self, secured: Secured) -> None:
        """Go on with another configuration."""
        before, self._secured = self._secured, secured
        if before is None or before.jwks is not secured.jwks:
            self.end()
            self.begin()

    def end(self) -> None:
        """Fetch no more."""
        if self._fetching is not None:
            self._fetching.cancel()
            self._fetching = None

    def call_when_keys_are_fetched(self, callback: Callable[[], object]) -> None:
        """Call back when the fetch of the issuer's keys that is under way has ended; at once when there is none."""
        if self._secured is not None and self._secured.jwks is not None:
            self._secured.jwks.call_when_fetched(callback)
        else:
            asyncio.get_running_loop().call_soon(callback)


def _jwks(oauth: OAuth | None, now_ms: Callable[[], int]) -> "Jwks | None":
    if oauth is None:
        return None
    from bifrost.gateway.jwks import Jwks  # and cryptography, 20 MiB, for those who use it

    jwks = Jwks(oauth, now_ms)
    jwks.prepare()
    return jwks


def _kerberos(config: Config) -> KerberosSettings | None:
    if config.proxy.kerberos is None:
        return None
    from bifrost.gateway.kerberos import kerberos_settings

    return kerberos_settings(config.proxy.kerberos)


def _accounts(config: Config) -> list[Account]:
    users = [
        Account(
            credential.username,
            tenant.name,
            credential.password,
            {verifier.mechanism: verifier for verifier in credential.verifiers},
            tuple(credential.namespace.split(":")) if credential.namespace else (),
        )
        for tenant, credential in config.credentials()
    ]
    return [
        *users,
        *(Account(one, tenant.name) for tenant in config.tenants for one in tenant.auth.principals),
    ]
