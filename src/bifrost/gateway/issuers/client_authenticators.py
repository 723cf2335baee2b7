"""Against what clients authenticate: made of a configuration before it comes into force, and kept while it is.

What must not change with a configuration stays here: the key that hides who exists, and what is counted.
"""

import secrets
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from bifrost.authentication.accounts import Account, Accounts
from bifrost.authentication.sasl_server import SaslSettings
from bifrost.config.model import Config
from bifrost.gateway.issuers.identity_providers import IdentityProviders


@dataclass(frozen=True, slots=True)
class Secured:
    """The accounts of a configuration, and whoever vouches for them."""

    sasl: SaslSettings
    vouchers: IdentityProviders


class ClientAuthenticators:
    """Who may come into one gateway."""

    def __init__(
        self, now_ms: Callable[[], int], key: bytes, outcomes: Counter[tuple[str, str, str]]
    ) -> None:
        """Let nobody in yet.

        Args:
            now_ms: a monotonic clock, in milliseconds.
            key: `Whole.key`.
            outcomes: where authentications are counted.
        """
        self._now_ms, self._key, self._outcomes = now_ms, key, outcomes
        self._secured: Secured | None = None

    def secure(self, config: Config) -> Secured:
        """Return what a configuration says of who may come in; nothing has changed yet.

        Raises:
            StartError: a certificate, a keytab or a library that it needs cannot be used.
        """
        before = None if self._secured is None else self._secured.vouchers
        vouchers = IdentityProviders(config, self._now_ms, before)
        accounts = Accounts(_accounts(config), key=self._key)
        tenants = [tenant.name for tenant in config.tenants]
        settings = SaslSettings(
            accounts=accounts,
            new_nonce=lambda: secrets.token_urlsafe(24),
            now_ms=self._now_ms,
            max_reauth_ms=config.proxy.limits.max_reauth_ms,
            kerberos=vouchers.kerberos,
            tokens=vouchers.tokens(accounts, tenants),
            outcomes=self._outcomes,
        )
        secured = Secured(settings, vouchers)
        if self._secured is None:
            self._secured = secured
        return secured

    def begin(self) -> None:
        """Fetch the issuer's keys, now and from time to time."""
        if self._secured is not None:
            self._secured.vouchers.start()

    def take(self, secured: Secured) -> None:
        """Go on with another configuration."""
        before, self._secured = self._secured, secured
        secured.vouchers.start()
        if before is not None:
            before.vouchers.stop(secured.vouchers)

    def end(self) -> None:
        """Fetch no more."""
        if self._secured is not None:
            self._secured.vouchers.stop()

    def call_when_keys_are_fetched(self, callback: Callable[[], object]) -> None:
        """Call back when the fetch of the issuer's keys that is under way has ended; soon, if there is none."""
        assert self._secured is not None
        self._secured.vouchers.call_when_keys_are_fetched(callback)


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
