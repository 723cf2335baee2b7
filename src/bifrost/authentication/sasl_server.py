"""The server side of a SASL exchange, by which a client proves who it is.

PLAIN (RFC 4616), one token:

    message := [authzid] NUL authcid NUL passwd        (UTF-8)

SCRAM is in scram_server.py, OAUTHBEARER in oauthbearer_server.py, GSSAPI in gssapi_server.py. A failure never says
which part was wrong.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from bifrost.authentication.accounts import (
    OTHER_AUTHORIZATION_ID,
    Account,
    Accounts,
    AuthenticationFailed,
    PasswordCheck,
    PasswordIsChecked,
)
from bifrost.authentication.gssapi_server import GssapiServer, KerberosSettings
from bifrost.authentication.oauthbearer_server import OAuthBearerServer, Tokens
from bifrost.authentication.saslprep import MAX_NAME_LENGTH
from bifrost.authentication.scram_server import ScramServer
from bifrost.config.fields.verifiers import Mechanism

MAX_PLAIN_BYTES = 8 * 1024
"""Largest PLAIN token read: two names of 256 characters in UTF-8 (1 KiB each) and a password of 4 KiB, the longest that
the configuration takes (`MAX_PASSWORD_BYTES`), with room to spare. Every byte of it is hashed."""


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """What the authentications of a gateway have in common."""

    accounts: Accounts
    new_nonce: Callable[[], str]
    """Makes the server's part of a nonce: printable ASCII without a comma, never the same twice."""

    now_ms: Callable[[], int]
    max_reauth_ms: int = 0
    """Time after which a client must authenticate again; 0: never."""

    tokens: Tokens | None = None
    """What checks access tokens; None: no tokens are accepted."""

    kerberos: KerberosSettings | None = None
    """What accepts Kerberos tickets; None: no tickets are accepted."""

    allows_repeated_scram_nonce: bool = False
    """Whether SCRAM clients may repeat their own nonce, as librdkafka before 2.6.1 does."""

    outcomes: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Number of authentications by tenant (empty if it failed), mechanism and outcome."""

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Every mechanism by which some client could authenticate."""
        passwordless = []
        if self.tokens is not None and self.tokens.has_principals:
            passwordless.append(Mechanism.OAUTHBEARER)
        if self.kerberos is not None and self.accounts.has_principals:
            passwordless.append(Mechanism.GSSAPI)
        return (*self.accounts.mechanisms, *passwordless)


class SaslExchange(Protocol):
    """One mechanism's exchange with one client."""

    @property
    def max_token_bytes(self) -> int:
        """Largest token that `respond` looks at; a larger one fails the exchange before any work."""

    account: Account | None
    """The account that the client has proved; None until then."""

    lifetime_ms: int | None
    """How long the proof holds from then on; None: for ever."""

    def respond(self, token: bytes) -> bytes:
        """Answer the client's next token, also the one that proves the account.

        Raises:
            AuthenticationFailed: the exchange is over.
            KeysAreFetched, PasswordIsChecked: give the same token again when that has ended.
        """


_REFUSAL = "Authentication failed: Invalid username or password"


class PlainServer:
    """PLAIN: one token, with name and password."""

    lifetime_ms: int | None = None
    max_token_bytes = MAX_PLAIN_BYTES

    def __init__(self, accounts: Accounts) -> None:
        """Wait for the token."""
        self._accounts = accounts
        self._check: PasswordCheck | None = None
        self.account: Account | None = None

    def respond(self, token: bytes) -> bytes:
        """Check the client's token and return an empty answer.

        Raises:
            PasswordIsChecked: give the same token again when the check has run.
            AuthenticationFailed: malformed token, unknown user, wrong password, or an authorization ID of another.
        Source: RFC 4616; PlainSaslServer.
        """
        if len(token) > MAX_PLAIN_BYTES:
            detail = f"a PLAIN token of {len(token)} bytes, at most {MAX_PLAIN_BYTES} are read"
            raise AuthenticationFailed(_REFUSAL, detail)
        parts = token.split(b"\0", 3)
        if len(parts) != 3:
            raise AuthenticationFailed("Invalid SASL/PLAIN response: expected 3 tokens")
        authorization_id, username, password = parts
        name = username.decode("utf-8", "replace")
        if len(name) > MAX_NAME_LENGTH:
            detail = f"a user name of {len(name)} characters, at most {MAX_NAME_LENGTH} are read"
            raise AuthenticationFailed(_REFUSAL, detail)
        check = self._check = self._check or self._accounts.check(name, password)
        if not check.is_done:
            raise PasswordIsChecked(check)
        account = check.account
        if account is None:
            raise AuthenticationFailed(_REFUSAL)
        if authorization_id and authorization_id != username:
            raise AuthenticationFailed(OTHER_AUTHORIZATION_ID)
        self.account = account
        return b""


def new_exchange(mechanism: Mechanism, settings: SaslSettings, *, is_again: bool = False) -> SaslExchange:
    """Begin an exchange; `is_again` when the client authenticates again."""
    if mechanism is Mechanism.PLAIN:
        return PlainServer(settings.accounts)
    if mechanism is Mechanism.OAUTHBEARER:
        assert settings.tokens is not None
        return OAuthBearerServer(settings.tokens, is_again=is_again)
    if mechanism is Mechanism.GSSAPI:
        assert settings.kerberos is not None
        return GssapiServer(settings.kerberos, settings.accounts, is_again=is_again)
    return ScramServer(
        mechanism,
        settings.accounts,
        settings.new_nonce(),
        is_again=is_again,
        allows_repeated_nonce=settings.allows_repeated_scram_nonce,
    )
