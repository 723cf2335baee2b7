"""The server side of SASL/PLAIN (RFC 4616): who is it?

message := [authzid] NUL authcid NUL passwd        (UTF-8)
"""

from collections.abc import Mapping
from dataclasses import dataclass

from bifrost.config.secrets import Secret

MECHANISMS = ("PLAIN",)


@dataclass(frozen=True, slots=True)
class Account:
    """One credential: whose namespace it opens, and with what."""

    username: str
    tenant: str
    password: Secret


class AuthenticationFailed(Exception):
    """The exchange failed. The text is for the client, as Kafka words it, and never says which part was wrong."""


_UNKNOWN_USER = Secret(b"nobody has this password, since no account refers to it")


def authenticate_plain(token: bytes, accounts: Mapping[str, Account]) -> Account:
    """Return the account that a PLAIN token proves.

    Args:
        token: what the client sent, at most a frame.
        accounts: by user name.
    Raises:
        AuthenticationFailed: malformed token, unknown user, wrong password, or an authorization ID of somebody else.
    Source: RFC 4616; PlainSaslServer.
    """
    parts = token.split(b"\0")
    if len(parts) != 3:
        raise AuthenticationFailed("Invalid SASL/PLAIN response: expected 3 tokens")
    authorization_id, username, password = parts
    account = accounts.get(username.decode("utf-8", "replace"))
    # An unknown user costs the same comparison as a known one.
    matches = (_UNKNOWN_USER if account is None else account.password).matches(password)
    if account is None or not matches:
        raise AuthenticationFailed("Authentication failed: Invalid username or password")
    if authorization_id and authorization_id != username:
        raise AuthenticationFailed(
            "Authentication failed: Client requested an authorization id that is different from username"
        )
    return account
