"""The client side of SCRAM-SHA-256 and SCRAM-SHA-512, towards a broker; its counterpart is `scram_server.py`.

    client  n,,n=gateway,r=<client nonce>
    server  r=<client nonce><server nonce>,s=<salt>,i=<iterations>
    client  c=biws,r=<both nonces>,p=<proof>
    server  v=<server's signature>

The broker proves itself as well: a broker that does not know the password's verifier cannot sign and is not trusted.
User name and password are sent without SASLprep, as by Kafka's own client.

Source: RFC 5802, sections 3, 5.1 and 7; RFC 7677; ScramSaslClient, ScramFormatter.
"""

import hashlib
import hmac
import re
from base64 import b64decode, b64encode

from bifrost.authentication.sasl_client import LoginFailed
from bifrost.config.fields.upstream_sasl import UpstreamMechanism
from bifrost.config.fields.verifiers import MIN_ITERATIONS
from bifrost.config.kept_secret import KeptSecret

MAX_ITERATIONS = 100_000
"""Kafka's brokers allow 16,384 (ScramMechanism); with more than six times that a broker could keep the gateway busy."""

MAX_SERVER_MESSAGE_BYTES = 4096

_HASHES = {UpstreamMechanism.SCRAM_SHA_256: "sha256", UpstreamMechanism.SCRAM_SHA_512: "sha512"}
_NONCE = r"[\x21-\x2b\x2d-\x7e]+"
_BASE_64 = r"[A-Za-z0-9/+=]+"
_EXTENSIONS = r"(?:,[A-Za-z]=[^,\0]+)*"
_SERVER_FIRST = re.compile(
    rf"r=(?P<nonce>{_NONCE}),s=(?P<salt>{_BASE_64}),i=(?P<iterations>[1-9][0-9]{{0,8}}){_EXTENSIONS}"
)
_SERVER_FINAL = re.compile(rf"v=(?P<signature>{_BASE_64}){_EXTENSIONS}")


class SaltedPasswords:
    """Derives salted passwords and remembers the last one, so that repeated logins cost the iterations only once."""

    def __init__(self, mechanism: UpstreamMechanism, password: KeptSecret) -> None:
        """Derive nothing yet."""
        self.hash_name = _HASHES[mechanism]
        self._password = password
        self._last: tuple[bytes, int, bytes] | None = None

    def derive(self, salt: bytes, iterations: int) -> bytes:
        """Return the salted password: milliseconds of work, unless salt and iterations are the same as before."""
        last = self._last
        if last is not None and last[:2] == (salt, iterations):
            return last[2]
        salted = hashlib.pbkdf2_hmac(self.hash_name, self._password.reveal(), salt, iterations)
        self._last = (salt, iterations, salted)
        return salted


class ScramClient:
    """One exchange."""

    def __init__(self, username: str, passwords: SaltedPasswords, nonce: str) -> None:
        """Prepare the first message.

        Args:
            username: the account's name.
            passwords: derives the account's salted password.
            nonce: random text that only this exchange uses: printable ASCII without a comma.
        """
        self._passwords = passwords
        self._nonce = nonce
        escaped = username.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={escaped},r={nonce}"
        self._server_signature: bytes | None = None
        self._is_proven = False

    def first(self) -> bytes:
        """Return the first token."""
        return f"n,,{self._bare}".encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """Return the next token; None when the broker has proved itself and the exchange is complete.

        Raises:
            LoginFailed: the broker's message is malformed, of another exchange, or has a wrong signature.
        """
        if self._is_proven:
            raise LoginFailed("the broker goes on after the end of the SCRAM exchange")
        if len(challenge) > MAX_SERVER_MESSAGE_BYTES:
            raise LoginFailed("the broker's SCRAM message is too large")
        message = challenge.decode("utf-8", "replace")
        if self._server_signature is None:
            return self._final(message)
        self._verify(message, self._server_signature)
        self._is_proven = True
        return None

    def _final(self, message: str) -> bytes:
        match = _SERVER_FIRST.fullmatch(message)
        if match is None:
            wants = message.startswith("m=")
            what = "wants an extension that is not known" if wants else "is malformed"
            raise LoginFailed(f"the broker's first SCRAM message {what}")
        nonce, iterations = match["nonce"], int(match["iterations"])
        if not nonce.startswith(self._nonce) or nonce == self._nonce:
            raise LoginFailed("the broker's SCRAM nonce is not of this exchange")
        if not MIN_ITERATIONS <= iterations <= MAX_ITERATIONS:
            bounds = f"{MIN_ITERATIONS} to {MAX_ITERATIONS} are allowed"
            raise LoginFailed(f"the broker wants {iterations} SCRAM iterations; {bounds}")
        name = self._passwords.hash_name
        salted = self._passwords.derive(_decoded(match["salt"]), iterations)
        client_key = hmac.digest(salted, b"Client Key", name)
        without_proof = f"c=biws,r={nonce}"
        auth_message = f"{self._bare},{message},{without_proof}".encode()
        signature = hmac.digest(hashlib.new(name, client_key).digest(), auth_message, name)
        proof = bytes(one ^ other for one, other in zip(client_key, signature, strict=True))
        server_key = hmac.digest(salted, b"Server Key", name)
        self._server_signature = hmac.digest(server_key, auth_message, name)
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def _verify(self, message: str, expected: bytes) -> None:
        if message.startswith("e="):
            raise LoginFailed("the broker refused the SCRAM proof: wrong user name or password")
        match = _SERVER_FINAL.fullmatch(message)
        if match is None:
            raise LoginFailed("the broker's final SCRAM message is malformed")
        if not hmac.compare_digest(_decoded(match["signature"]), expected):
            raise LoginFailed("the broker does not know the password: it may not be the broker")


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        raise LoginFailed("the broker's SCRAM message is not base64") from None
