"""The server side of SCRAM-SHA-256 and SCRAM-SHA-512 (RFC 5802, RFC 7677): the password never crosses the network.

    client  n,,n=acme,r=<client nonce>
    server  r=<client nonce><server nonce>,s=<salt>,i=<iterations>
    client  c=biws,r=<both nonces>,p=<proof>
    server  v=<server's signature>

An unknown user gets the same answers as a known one until the proof; then each failure has the same text. The gateway
refuses channel binding (there is no -PLUS mechanism here), mandatory extensions, and `tokenauth` (KIP-48: delegation
tokens are not served); it ignores other extensions, as a broker does.

librdkafka before 2.6.1 repeats its own nonce in its final message, against RFC 5802, and signs what it sends:

    client  c=biws,r=<client nonce><both nonces>,p=<proof>

A listener set accepts exactly that as well if its operator allows it. In either form the proof covers the server's
first message, and so the server's nonce: it is good for one exchange only.

Source: RFC 5802, section 7 (grammar) and 5.1 (attributes); ScramMessages, ScramSaslServer; librdkafka's pull request
4895.
"""

import re
from base64 import b64decode, b64encode

from bifrost.authentication.accounts import (
    OTHER_AUTHORIZATION_ID,
    WRONG_CREDENTIALS,
    Account,
    Accounts,
    AuthenticationFailed,
    invalid_credentials,
)
from bifrost.authentication.saslprep import MAX_NAME_LENGTH
from bifrost.config.fields.verifiers import Mechanism, ScramVerifier

MAX_TOKEN_BYTES = 4096
"""Largest token read. A user name of 256 characters, each escaped, takes 768 bytes and in UTF-8 up to 1,024; nonces
of Kafka's clients have 20 to 64."""

REPEATED_NONCE = (
    "the client repeats its SCRAM nonce, as librdkafka before 2.6.1 does: update it, or set "
    "allow_repeated_scram_nonce on the listener set"
)
"""Why a client with that error is refused, for the log."""

_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_NAME = r"(?:[^=,\0]|=2C|=3D)+"
_EXTENSIONS = r"(?P<extensions>(?:,[A-Za-z]+=[^,\0]*)*)"
_CLIENT_FIRST = re.compile(
    rf"(?P<gs2>[ny],(?:a=(?P<authorization_id>{_NAME}))?,)"
    rf"(?P<bare>n=(?P<username>{_NAME}),r=(?P<nonce>{_NONCE}){_EXTENSIONS})"
)
_CLIENT_FINAL = re.compile(
    rf"(?P<without_proof>c=(?P<binding>[A-Za-z0-9/+=]+),r=(?P<nonce>{_NONCE}){_EXTENSIONS}),p=(?P<proof>[A-Za-z0-9/+=]+)"
)


class ScramServer:
    """One exchange with a client; it fails when a token is out of order or one too many."""

    lifetime_ms: int | None = None
    max_token_bytes = MAX_TOKEN_BYTES

    def __init__(
        self,
        mechanism: Mechanism,
        accounts: Accounts,
        server_nonce: str,
        *,
        is_again: bool = False,
        allows_repeated_nonce: bool = False,
    ) -> None:
        """Wait for the client's first message.

        Args:
            mechanism: SCRAM-SHA-256 or SCRAM-SHA-512.
            accounts: whose verifiers are used.
            server_nonce: random text that only this exchange uses.
            is_again: whether the client authenticates again; the text of a failure says so.
            allows_repeated_nonce: whether the client may repeat its own nonce, as librdkafka before 2.6.1 does.
        """
        self._allows_repeated_nonce = allows_repeated_nonce
        self._mechanism = mechanism
        self._accounts = accounts
        self._server_nonce = server_nonce
        self._text = invalid_credentials(mechanism, is_again=is_again)
        self._claimed: Account | None = None
        self._verifier: ScramVerifier | None = None
        self._gs2 = self._nonce = self._repeated_nonce = self._bare = self._server_first = ""
        self._is_over = False
        self.account: Account | None = None

    def respond(self, token: bytes) -> bytes:
        """Answer the client's first or final message.

        Raises:
            AuthenticationFailed: a message malformed or out of order, an unknown user, a wrong proof. The exchange
                is over.
        """
        if self._is_over:
            raise self._failed("a token after the end of the SCRAM exchange")
        self._is_over = True
        if len(token) > MAX_TOKEN_BYTES:
            raise self._failed(f"a SCRAM message of {len(token)} bytes, at most {MAX_TOKEN_BYTES} are read")
        try:
            message = token.decode("utf-8")
        except UnicodeDecodeError:
            raise self._failed("a SCRAM message that is not UTF-8") from None
        if self._verifier is None:
            answer = self._first(message)
            self._is_over = False
            return answer
        return self._final(message, self._verifier)

    def _first(self, message: str) -> bytes:
        match = _CLIENT_FIRST.fullmatch(message)
        if match is None:
            if message.startswith("p="):
                raise self._failed("the client wants channel binding, which is not offered")
            if re.match(r"[ny],[^,]*,m=", message):
                raise self._failed("the client wants a SCRAM extension that is not known")
            raise self._failed("a malformed first SCRAM message")
        extensions = dict(part.split("=", 1) for part in match["extensions"].split(",")[1:])
        if extensions.get("tokenauth", "false").lower() != "false":
            raise self._failed("the client wants to authenticate with a delegation token; none are served")
        username = _unescaped(match["username"])
        if len(username) > MAX_NAME_LENGTH:
            text = f"a user name of {len(username)} characters, at most {MAX_NAME_LENGTH} are read"
            raise self._failed(text)
        authorization_id = match["authorization_id"]
        if authorization_id is not None and _unescaped(authorization_id) != username:
            raise AuthenticationFailed(OTHER_AUTHORIZATION_ID)
        self._claimed, self._verifier = self._accounts.verifier(username, self._mechanism)
        self._gs2, self._bare = match["gs2"], match["bare"]
        self._nonce = match["nonce"] + self._server_nonce
        self._repeated_nonce = match["nonce"] + self._nonce
        salt = b64encode(self._verifier.salt).decode()
        self._server_first = f"r={self._nonce},s={salt},i={self._verifier.iterations}"
        return self._server_first.encode()

    def _final(self, message: str, verifier: ScramVerifier) -> bytes:
        match = _CLIENT_FINAL.fullmatch(message)
        if match is None:
            raise self._failed("a malformed final SCRAM message")
        try:
            binding, proof = (b64decode(match[name], validate=True) for name in ("binding", "proof"))
        except ValueError:
            raise self._failed("a final SCRAM message that is not base64") from None
        if binding != self._gs2.encode():
            raise self._failed("the SCRAM channel binding is not what the client first said")
        if match["nonce"] == self._repeated_nonce:
            if not self._allows_repeated_nonce:
                raise self._failed(REPEATED_NONCE)
        elif match["nonce"] != self._nonce:
            raise self._failed("the SCRAM nonce is not this exchange's")
        auth_message = f"{self._bare},{self._server_first},{match['without_proof']}".encode()
        is_proven = verifier.is_proven_by(proof, auth_message)
        if self._claimed is None or not is_proven:
            raise self._failed()
        self.account = self._claimed
        return b"v=" + b64encode(verifier.server_signature(auth_message))

    def _failed(self, detail: str = WRONG_CREDENTIALS) -> AuthenticationFailed:
        return AuthenticationFailed(self._text, detail)


def _unescaped(name: str) -> str:
    """Return a `saslname` without escapes; the grammar allows no other `=` in it."""
    return name.replace("=2C", ",").replace("=3D", "=")
