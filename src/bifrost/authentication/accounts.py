"""The accounts that may authenticate, and the impostors that stand for unknown user names.

A client that sends an unknown name must get the same answers after the same time as with a known one. So each unknown
name gets an impostor, made after one of the configured accounts; no password matches it.
"""

import copy
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bifrost.authentication.saslprep import saslprep
from bifrost.config.fields.verifiers import (
    MIN_ITERATIONS,
    SCRAM_HASHES,
    Mechanism,
    ScramVerifier,
    digest_size,
)
from bifrost.config.secrets import Secret

if TYPE_CHECKING:
    from bifrost.tenancy.users.stored_users import StoredUsers


@dataclass(frozen=True, slots=True)
class Account:
    """One credential: the tenant and namespace that it opens, and its password or verifiers."""

    username: str
    tenant: str
    password: Secret | None = None
    """None when the configuration has only verifiers of it, or none at all."""

    verifiers: Mapping[Mechanism, ScramVerifier] = field(default_factory=dict)
    namespace: tuple[str, ...] = ()
    """The tiers below the tenant that bound what the client sees (KIP-37); empty for all of the tenant."""

    is_listed: bool = True
    """Whether the configuration names it; else a token or a listener set names its tenant."""

    @property
    def has_password(self) -> bool:
        """Whether a client proves it by a password; else a CA, an issuer or a KDC vouches for the client."""
        return self.password is not None or bool(self.verifiers)


WRONG_CREDENTIALS = "wrong user name or password"
OTHER_AUTHORIZATION_ID = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


def invalid_credentials(mechanism: Mechanism, *, is_again: bool) -> str:
    """Return the error text for a client whose exchange failed, the same for each cause.

    Args:
        mechanism: by which the client wanted to authenticate.
        is_again: whether the client had authenticated before on its connection.
    Source: SaslServerAuthenticator.handleSaslToken.
    """
    which = "re-authentication" if is_again else "authentication"
    return f"Authentication failed during {which} due to invalid credentials with SASL mechanism {mechanism}"


class AuthenticationFailed(Exception):
    """The exchange failed. The text is for the client, as Kafka words it, and never says which part was wrong.

    `detail` is for the log: what an honest client's owner should know. Where another try may succeed, the client gets
    no text (`is_told`): the connection just ends, and the client tries again.
    """

    def __init__(self, text: str, detail: str = WRONG_CREDENTIALS, *, is_told: bool = True) -> None:
        super().__init__(text)
        self.detail = detail
        self.is_told = is_told


class PasswordCheck:
    """Whether a password is an account's: known at once, or after `run`, which takes milliseconds.

    `run` touches nothing but this object, so it may run in any thread.
    """

    __slots__ = ("_account", "_matches", "_password", "_verifier", "is_done")

    def __init__(
        self,
        account: Account | None,
        password: bytes,
        verifier: ScramVerifier | None = None,
        *,
        matches: bool = False,
    ) -> None:
        """Take what is compared.

        Args:
            account: the account that a right password proves; None: there is none.
            password: what the client sent.
            verifier: what `run` compares it with; None: it was compared.
            matches: whether it was right, if it was compared.
        """
        self._account, self._password, self._verifier = account, password, verifier
        self._matches = matches
        self.is_done = verifier is None
        """Whether the result is known."""

    def run(self) -> None:
        """Derive the verifier of the password, and compare (PBKDF2): the same work for an unknown name."""
        try:
            if self._verifier is not None:
                self._matches = self._verifier.matches(self._password)
        finally:
            self._password, self.is_done = b"", True

    @property
    def account(self) -> Account | None:
        """The account that the password has proved; None: it is wrong, or the result is not known."""
        return self._account if self._matches else None


class PasswordIsChecked(Exception):
    """A password is to be checked, which takes milliseconds: try again when `check.run` has returned."""

    def __init__(self, check: PasswordCheck) -> None:
        super().__init__("a password is checked")
        self.check = check


_MADE_BY_A_TENANT = Account(
    "",
    "",
    verifiers={
        one: ScramVerifier(one, b"0123456789abcdefghijklmno", MIN_ITERATIONS, bytes(size), bytes(size))
        for one, size in ((one, digest_size(one)) for one in SCRAM_HASHES)
    },
)
"""An account as kafka-configs.sh makes it, with a salt of its form: some unknown names have to look so too. Those that
tenants have made are no models, or what an unknown name is answered would change with each of them."""

_NO_PASSWORD = Secret(b"no account has this password: it is compared for unknown users")


class Accounts:
    """All accounts of a gateway."""

    def __init__(self, accounts: Iterable[Account], key: bytes, stored: "StoredUsers | None" = None) -> None:
        """Take the accounts.

        Args:
            accounts: one for each user name.
            key: a secret of this process; salts of unknown users are made with it and so look random.
            stored: the users that tenants have made; None: no tenant may make any.
        """
        self._key, self._stored = key, stored
        self._tenant: str | None = None
        all_accounts = tuple(accounts)
        self._by_principal = {one.username: one for one in all_accounts if not one.has_password}
        self._by_name = {one.username: one for one in all_accounts if one.has_password}
        self._by_prepared_name: dict[str, Account | None] = {}
        for account in self._by_name.values():
            prepared = saslprep(account.username)
            if prepared is not None and prepared not in self._by_name:
                # Two names that SASLprep makes equal: which of them a client means is unknown.
                is_new = prepared not in self._by_prepared_name
                self._by_prepared_name[prepared] = account if is_new else None
        self._all = tuple(self._by_name.values())
        models = self._all if stored is None else (*self._all, _MADE_BY_A_TENANT)
        self._with = {one: tuple(each for each in models if one in each.verifiers) for one in SCRAM_HASHES}
        scram = tuple(one for one in SCRAM_HASHES if self._with[one])
        self.mechanisms = (Mechanism.PLAIN, *scram) if self._all else scram
        """The mechanisms that some account can use."""

    def each(self) -> list[Account]:
        """Return the accounts, those of principals as well."""
        return [*self._all, *self._by_principal.values()]

    def only_of(self, tenant: str) -> "Accounts":
        """Return the same accounts, of which only this tenant's can authenticate.

        The others stay known and fail as with a wrong password: an unknown user's salt differs from the one at other
        listener sets, which would show that the user exists there.
        """
        restricted = copy.copy(self)
        restricted._tenant = tenant
        return restricted

    def _admitted(self, account: Account | None) -> Account | None:
        is_foreign = account is not None and self._tenant is not None and account.tenant != self._tenant
        return None if is_foreign else account

    @property
    def has_principals(self) -> bool:
        """Whether there is an account without a password, which a CA, an issuer or a KDC vouches for."""
        return bool(self._by_principal)

    def of_principal(self, name: str) -> Account | None:
        """Return the account of a principal that a trusted third party has vouched for (a CA, an issuer, a KDC)."""
        return self._admitted(self._by_principal.get(name))

    def still_has(self, account: Account) -> bool:
        """Whether an account that authenticated once still belongs to the same tenant and namespace.

        Its password may have changed, which ends no connection, as at a broker.
        """
        if not account.is_listed:
            return True  # A token or a listener set named its tenant; the caller checks that the tenant still exists.
        known = self._by_name if account.has_password else self._by_principal
        now = known.get(account.username)
        if now is None and account.has_password:
            now = self._made_by_a_tenant(account.username)
        return now is not None and (now.tenant, now.namespace) == (account.tenant, account.namespace)

    def check(self, username: str, password: bytes) -> PasswordCheck:
        """Return the check whether that is this user's password; an unknown name takes as long as a known one."""
        account = self._by_name.get(username)
        # The imitation is made even when it is not needed, so that both cases take as long; `verifier` does the same.
        model = self._model_of(username, self._all)
        like = account or model
        if like.password is not None:
            matches = (like.password if account else _NO_PASSWORD).matches(password)
            return PasswordCheck(self._admitted(account), b"", matches=matches)
        verifier = next(iter(like.verifiers.values()))
        imitated = verifier.imitated(self._key, username)
        return PasswordCheck(self._admitted(account), password, verifier if account else imitated)

    def verifier(self, username: str, mechanism: Mechanism) -> tuple[Account | None, ScramVerifier]:
        """Return the account of this name and its verifier; for an unknown name None and one that no proof matches."""
        account = self._find(username)
        model = self._model_of(username, self._with[mechanism])
        imitated = model.verifiers[mechanism].imitated(self._key, username)
        found = account.verifiers.get(mechanism) if account else None
        return (None, imitated) if found is None else (self._admitted(account), found)

    def _find(self, username: str) -> Account | None:
        """Return the account of a name as the client sent it, or else as SASLprep prepares it."""
        prepared = saslprep(username)
        account = self._by_name.get(username)
        if account is not None or prepared is None:
            return account
        found = self._by_name.get(prepared) or self._by_prepared_name.get(prepared)
        return found or self._made_by_a_tenant(username)

    def _made_by_a_tenant(self, username: str) -> Account | None:
        """Return the account of a user that a tenant has made; a name of the configuration is none."""
        user = None if self._stored is None else self._stored.find(username)
        if user is None:
            return None
        return Account(user.name, user.tenant, verifiers=user.verifiers, namespace=user.tiers)

    def _model_of(self, username: str, accounts: Sequence[Account]) -> Account:
        """Return the account that an unknown name is made after, always the same one."""
        digest = hmac.digest(self._key, username.encode("utf-8", "surrogatepass"), "sha256")
        return accounts[int.from_bytes(digest[:8], "big") % len(accounts)]
