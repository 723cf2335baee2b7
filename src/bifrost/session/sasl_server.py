"""The server side of a SASL exchange: who is it?

PLAIN (RFC 4616), one token:

    message := [authzid] NUL authcid NUL passwd        (UTF-8)

SCRAM is scram_server.py. A failure never says which part was wrong.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from bifrost.config.verifiers import Mechanism
from bifrost.session.accounts import OTHER_AUTHORIZATION_ID, Account, Accounts, AuthenticationFailed
from bifrost.session.scram_server import ScramServer


@dataclass(frozen=True, slots=True)
class SaslSettings:
    """What the authentications of a gateway have in common."""

    accounts: Accounts
    new_nonce: Callable[[], str]
    """Makes the server's part of a nonce: printable ASCII without a comma, never the same twice."""

    now_ms: Callable[[], int]
    max_reauth_ms: int = 0
    """Time after which a client must authenticate again; 0: never."""


class SaslExchange(Protocol):
    """One mechanism's exchange with one client."""

    account: Account | None
    """Set once the client has proved it."""

    def respond(self, token: bytes) -> bytes:
        """Answer the client's next token; the one that proves the account is answered as well.

        Raises:
            AuthenticationFailed: the exchange is over.
        """


class PlainServer:
    """PLAIN: one token, with name and password."""

    def __init__(self, accounts: Accounts) -> None:
        """Wait for the token."""
        self._accounts = accounts
        self.account: Account | None = None

    def respond(self, token: bytes) -> bytes:
        """Answer the token with nothing.

        Raises:
            AuthenticationFailed: malformed token, unknown user, wrong password, or an authorization ID of another.
        Source: RFC 4616; PlainSaslServer.
        """
        parts = token.split(b"\0")
        if len(parts) != 3:
            raise AuthenticationFailed("Invalid SASL/PLAIN response: expected 3 tokens")
        authorization_id, username, password = parts
        account = self._accounts.matching(username.decode("utf-8", "replace"), password)
        if account is None:
            raise AuthenticationFailed("Authentication failed: Invalid username or password")
        if authorization_id and authorization_id != username:
            raise AuthenticationFailed(OTHER_AUTHORIZATION_ID)
        self.account = account
        return b""


def new_exchange(mechanism: Mechanism, settings: SaslSettings, *, is_again: bool = False) -> SaslExchange:
    """Begin an exchange; `is_again` when the client authenticates again."""
    if mechanism is Mechanism.PLAIN:
        return PlainServer(settings.accounts)
    return ScramServer(mechanism, settings.accounts, settings.new_nonce(), is_again=is_again)
