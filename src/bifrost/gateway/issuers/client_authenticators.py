"""What clients authenticate against: made from a configuration before it comes into force, and kept while it is.

What must not change with a configuration stays here: the key that hides which users exist, and the counters.
"""

import secrets
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from bifrost.authentication.accounts import Account, Accounts
from bifrost.authentication.sasl_server import SaslSettings
from bifrost.config.model import Config
from bifrost.gateway.issuers.identity_providers import IdentityProviders

if TYPE_CHECKING:
    from bifrost.tenancy.users.stored_users import Allowance, StoredUsers


@dataclass(frozen=True, slots=True)
class Secured:
    """The accounts of a configuration, and its identity providers."""

    sasl: SaslSettings
    providers: IdentityProviders
    allowed: "Mapping[str, Allowance]"
    """The tenants that may make users."""


class ClientAuthenticators:
    """Authenticates the clients of one gateway."""

    def __init__(
        self, now_ms: Callable[[], int], key: bytes, outcomes: Counter[tuple[str, str, str]]
    ) -> None:
        """Start without accounts: no client can authenticate yet.

        Args:
            now_ms: a monotonic clock, in milliseconds.
            key: `AlonePeers.key`.
            outcomes: counts authentications.
        """
        self._now_ms, self._key, self._outcomes = now_ms, key, outcomes
        self._secured: Secured | None = None

    @cached_property
    def users(self) -> "StoredUsers":
        """The users that tenants have made. Loaded when first needed: most gateways have none."""
        from bifrost.tenancy.users.stored_users import StoredUsers

        return StoredUsers()

    def secure(self, config: Config) -> Secured:
        """Return what clients authenticate against in a configuration; nothing changes yet.

        Raises:
            StartError: a certificate, a keytab or a library that it needs cannot be used.
        """
        before = None if self._secured is None else self._secured.providers
        providers = IdentityProviders(config, self._now_ms, before)
        allowed = _allowed(config)
        accounts = Accounts(_accounts(config), key=self._key, stored=self.users if allowed else None)
        tenants = [tenant.name for tenant in config.tenants]
        settings = SaslSettings(
            accounts=accounts,
            new_nonce=lambda: secrets.token_urlsafe(24),
            now_ms=self._now_ms,
            max_reauth_ms=config.proxy.limits.max_reauth_ms,
            kerberos=providers.kerberos,
            tokens=providers.tokens(accounts, tenants),
            outcomes=self._outcomes,
        )
        secured = Secured(settings, providers, allowed)
        if self._secured is None:
            self._secured = secured
            self._allow(allowed)
        return secured

    def accounts(self) -> list[Account]:
        """Return the accounts of the configuration in force."""
        return [] if self._secured is None else self._secured.sasl.accounts.each()

    def begin(self) -> None:
        """Fetch the issuer's keys, now and from time to time."""
        if self._secured is not None:
            self._secured.providers.start()

    def take(self, secured: Secured) -> None:
        """Use what `secure` returned for another configuration."""
        before, self._secured = self._secured, secured
        self._allow(secured.allowed)
        secured.providers.start()
        if before is not None:
            before.providers.stop(secured.providers)

    def _allow(self, allowed: "Mapping[str, Allowance]") -> None:
        if allowed or "users" in self.__dict__:
            self.users.allow(allowed)

    def end(self) -> None:
        """Stop fetching keys."""
        if self._secured is not None:
            self._secured.providers.stop()

    def call_when_keys_are_fetched(self, callback: Callable[[], object]) -> None:
        """Call back when the current fetch of the issuer's keys has ended; soon, if there is none."""
        assert self._secured is not None
        self._secured.providers.call_when_keys_are_fetched(callback)


def _allowed(config: Config) -> "Mapping[str, Allowance]":
    """Return the tenants that may make users."""
    sections = {
        one.name: one.auth.stored_users for one in config.tenants if one.auth.stored_users is not None
    }
    if not sections:
        return {}
    from bifrost.tenancy.users.stored_users import Allowance

    named = [one.username for _, one in config.credentials()]
    named += [one for tenant in config.tenants for one in tenant.auth.principals]
    return {
        name: Allowance(
            one.name_prefix,
            one.max_users,
            frozenset(user for user in named if user.startswith(one.name_prefix)),
        )
        for name, one in sections.items()
    }


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
