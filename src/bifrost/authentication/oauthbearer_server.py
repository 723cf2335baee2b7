"""The server side of OAUTHBEARER (RFC 7628): the client sends an access token that an issuer signed.

    client  n,a=<principal>,^Aauth=Bearer <token>^A<extension>=<value>^A^A
    server  an empty token: let in
       or   {"status":"invalid_token"}
    client  ^A                                              and then the failure, in the same words

^A is the byte 1; `a=` and extensions may be left out. SASL extensions (KIP-342) are read and ignored. What a token must
have is in access_tokens.py. A message that is not of this form fails at once, as at a broker; so does anything but ^A
after a refusal, where a broker would take another token.

Source: RFC 7628, sections 3.1 and 3.2; OAuthBearerSaslServer, OAuthBearerClientInitialResponse.
"""

import re
from dataclasses import dataclass
from typing import Protocol

from bifrost.authentication.accounts import Account, AuthenticationFailed, invalid_credentials
from bifrost.config.fields.verifiers import Mechanism

MAX_OTHER_BYTES = 8 * 1024
"""Most bytes of a message beside the token: an authorization ID and extensions."""

_DUMMY = b"\1"
_NAME = r"(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+"
_PAIR = r"[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01"
_CLIENT_FIRST = re.compile(rf"n,(?:a=(?P<authorization_id>{_NAME}))?,\x01(?P<pairs>(?:{_PAIR})*)\x01")
_AUTH = re.compile(r"(?P<scheme>[A-Za-z0-9_]+) +(?P<token>[-_.a-zA-Z0-9]+)")


class InvalidToken(Exception):
    """A token is refused. The text is for the log; the client is told `status` and `scope`."""

    def __init__(self, text: str, *, status: str = "invalid_token", scope: str | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.scope = scope


class KeysAreFetched(Exception):
    """The token's key is not known, but a fetch of keys is under way: try again when the fetch has ended."""


@dataclass(frozen=True, slots=True)
class CheckedToken:
    """What a good token says."""

    account: Account
    lifetime_ms: int
    """Time until the token ends, at least 0. A token is accepted a little longer than that, because clocks differ."""


class Tokens(Protocol):
    """Checks access tokens; implemented in access_tokens.py."""

    @property
    def max_bytes(self) -> int:
        """Largest token read."""

    @property
    def has_principals(self) -> bool:
        """Whether any principal's token could be accepted."""

    def only_of(self, tenant: str) -> "Tokens":
        """Return the same checks, which accept only this tenant's principals."""

    def check(self, token: str) -> CheckedToken:
        """Return the token's account and lifetime.

        Raises:
            InvalidToken: the token is refused.
            KeysAreFetched: the token's key may be among those that are being fetched.
        """


class OAuthBearerServer:
    """One exchange with a client; it fails when a token is out of order or one too many."""

    def __init__(self, tokens: Tokens, *, is_again: bool = False) -> None:
        """Wait for the client's message.

        Args:
            tokens: what checks its access token.
            is_again: whether the client authenticates again; the text of a failure says so.
        """
        self._tokens = tokens
        self._text = invalid_credentials(Mechanism.OAUTHBEARER, is_again=is_again)
        self._refusal: AuthenticationFailed | None = None
        self._is_over = False
        self.account: Account | None = None
        self.lifetime_ms: int | None = None

    @property
    def max_token_bytes(self) -> int:
        """Largest message read: the access token, an authorization ID and extensions."""
        return self._tokens.max_bytes + MAX_OTHER_BYTES

    def respond(self, token: bytes) -> bytes:
        """Answer the client's message, or after a refusal its ^A.

        Raises:
            AuthenticationFailed: the exchange is over.
            KeysAreFetched: give the same message again when keys have been fetched.
        """
        if self._refusal is not None:
            raise self._refusal if token == _DUMMY else self._failed("a token after a refusal")
        if self._is_over:
            raise self._failed("a token after the end of the OAUTHBEARER exchange")
        authorization_id, access_token = self._read(token)
        try:
            checked = self._tokens.check(access_token)
        except InvalidToken as invalid:
            scope = "" if invalid.scope is None else f', "scope":"{invalid.scope}"'
            text = f'{{"status":"{invalid.status}"{scope}}}'
            self._refusal = AuthenticationFailed(text, str(invalid))
            return text.encode()
        self._is_over = True
        principal = checked.account.username
        if authorization_id and authorization_id != principal:
            raise AuthenticationFailed(
                f"Authentication failed: Client requested an authorization id ({authorization_id}) that is different "
                f"from the token's principal name ({principal})",
                "the client wants to act for another principal than its token's",
            )
        self.account, self.lifetime_ms = checked.account, checked.lifetime_ms
        return b""

    def _read(self, message: bytes) -> tuple[str, str]:
        """Return the authorization ID (empty if there is none) and the access token."""
        if len(message) > self.max_token_bytes:
            raise self._failed(f"an OAUTHBEARER message of {len(message)} bytes")
        match = _CLIENT_FIRST.fullmatch(message.decode("latin-1"))
        if match is None:
            raise self._failed("a malformed OAUTHBEARER message")
        pairs = [pair.split("=", 1) for pair in match["pairs"].split("\1")[:-1]]
        shown = [value for key, value in pairs if key == "auth"]
        auth = _AUTH.fullmatch(shown[0]) if len(shown) == 1 else None
        if auth is None or auth["scheme"].lower() != "bearer":
            raise self._failed("an OAUTHBEARER message without one bearer token")
        name = match["authorization_id"] or ""
        return name.replace("=2C", ",").replace("=3D", "="), auth["token"]

    def _failed(self, detail: str) -> AuthenticationFailed:
        return AuthenticationFailed(self._text, detail)
