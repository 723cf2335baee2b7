"""Who may authenticate, and what stands for those who do not exist.

Whoever asks for an unknown name is to see and to wait for what a known one's would: so each unknown name gets an
impostor, made after one of the accounts that there are, whose password nothing matches.
"""

import copy
import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bifrost.authentication.saslprep import saslprep
from bifrost.config.fields.verifiers import SCRAM_HASHES, Mechanism, ScramVerifier
from bifrost.config.secrets import Secret


@dataclass(frozen=True, slots=True)
class Account:
    """One credential: whose namespace it opens, and with what."""

    username: str
    tenant: str
    password: Secret | None = None
    """None when only verifiers of it are known."""

    verifiers: Mapping[Mechanism, ScramVerifier] = field(default_factory=dict)
    namespace: tuple[str, ...] = ()
    """The tiers below the tenant that bound what it sees (KIP-37); empty for all of the tenant."""

    is_listed: bool = True
    """Whether the configuration names it; else a token or a listener set says whose it is."""

    @property
    def has_password(self) -> bool:
        """Whether it is proved by a password; else somebody else vouches for it."""
        return self.password is not None or bool(self.verifiers)


WRONG_CREDENTIALS = "wrong user name or password"
OTHER_AUTHORIZATION_ID = (
    "Authentication failed: Client requested an authorization id that is different from username"
)


def invalid_credentials(mechanism: Mechanism, *, is_again: bool) -> str:
    """Return what a client is told whose exchange failed, whatever was wrong with it.

    Args:
        mechanism: by which it wanted to authenticate.
        is_again: whether it had authenticated before on its connection.
    Source: SaslServerAuthenticator.handleSaslToken.
    """
    which = "re-authentication" if is_again else "authentication"
    return f"Authentication failed during {which} due to invalid credentials with SASL mechanism {mechanism}"


class AuthenticationFailed(Exception):
    """The exchange failed. The text is for the client, as Kafka words it, and never says which part was wrong.

    `detail` is for the log: what an honest client's owner should know. What another try may mend is not told
    (`is_told`): the connection just ends, and a client tries again.
    """

    def __init__(self, text: str, detail: str = WRONG_CREDENTIALS, *, is_told: bool = True) -> None:
        super().__init__(text)
        self.detail = detail
        self.is_told = is_told


_NOBODYS = Secret(b"nobody has this password, since no account refers to it")


class Accounts:
    """All accounts of a gateway."""

    def __init__(self, accounts: Iterable[Account], key: bytes) -> None:
        """Take the accounts.

        Args:
            accounts: one for each user name.
            key: a secret of this process, which makes what is shown of unknown users look random.
        """
        self._key = key
        self._tenant: str | None = None
        everybody = tuple(accounts)
        self._by_principal = {one.username: one for one in everybody if not one.has_password}
        self._by_name = {one.username: one for one in everybody if one.has_password}
        self._by_prepared_name: dict[str, Account | None] = {}
        for account in self._by_name.values():
            prepared = saslprep(account.username)
            if prepared is not None and prepared not in self._by_name:
                # Two that only differ so: nobody can say which is meant.
                is_new = prepared not in self._by_prepared_name
                self._by_prepared_name[prepared] = account if is_new else None
        self._all = tuple(self._by_name.values())
        self._with = {one: tuple(each for each in self._all if one in each.verifiers) for one in SCRAM_HASHES}
        scram = tuple(one for one in SCRAM_HASHES if self._with[one])
        self.mechanisms = (Mechanism.PLAIN, *scram) if self._all else ()
        """The mechanisms that some account can use."""

    def only_of(self, tenant: str) -> "Accounts":
        """Return the same accounts, of which only this tenant's authenticate.

        The others do not become unknown, whom another salt would show to be known elsewhere: they have wrong passwords.
        """
        restricted = copy.copy(self)
        restricted._tenant = tenant
        return restricted

    def _admitted(self, account: Account | None) -> Account | None:
        is_foreign = account is not None and self._tenant is not None and account.tenant != self._tenant
        return None if is_foreign else account

    @property
    def has_principals(self) -> bool:
        """Whether there is anybody that somebody else vouches for."""
        return bool(self._by_principal)

    def of_principal(self, name: str) -> Account | None:
        """Return the account of a principal that somebody trusted has vouched for (a CA, an issuer, a KDC)."""
        return self._admitted(self._by_principal.get(name))

    def still_has(self, account: Account) -> bool:
        """Whether an account that authenticated once still belongs to the same tenant and namespace.

        Its password may be another by now, which as at a broker ends no connection.
        """
        if not account.is_listed:
            return True  # Whoever said whose it is says so still; whether there is such a tenant is another's to ask.
        known = self._by_name if account.has_password else self._by_principal
        now = known.get(account.username)
        return now is not None and (now.tenant, now.namespace) == (account.tenant, account.namespace)

    def matching(self, username: str, password: bytes) -> Account | None:
        """Return the account of this name if that is its password; an unknown name takes as long as a known one."""
        account = self._by_name.get(username)
        # Made up whether it is needed or not, for the time it takes; so in `verifier`.
        model = self._model_of(username, self._all)
        like = account or model
        if like.password is not None:
            matches = (like.password if account else _NOBODYS).matches(password)
        else:
            verifier = next(iter(like.verifiers.values()))
            imitated = verifier.imitated(self._key, username)
            matches = (verifier if account else imitated).matches(password)
        return self._admitted(account) if matches else None

    def verifier(self, username: str, mechanism: Mechanism) -> tuple[Account | None, ScramVerifier]:
        """Return the account of this name and its verifier; for an unknown name None and one that nothing proves."""
        account = self._find(username)
        model = self._model_of(username, self._with[mechanism])
        imitated = model.verifiers[mechanism].imitated(self._key, username)
        found = account.verifiers.get(mechanism) if account else None
        return (None, imitated) if found is None else (self._admitted(account), found)

    def _find(self, username: str) -> Account | None:
        """Return the account of a name as it stands, or else as SASLprep has it."""
        prepared = saslprep(username)
        account = self._by_name.get(username)
        if account is not None or prepared is None:
            return account
        return self._by_name.get(prepared) or self._by_prepared_name.get(prepared)

    def _model_of(self, username: str, accounts: Sequence[Account]) -> Account:
        """Return the account that an unknown name is made after, always the same one."""
        digest = hmac.digest(self._key, username.encode("utf-8", "surrogatepass"), "sha256")
        return accounts[int.from_bytes(digest[:8], "big") % len(accounts)]
