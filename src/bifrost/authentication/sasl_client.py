"""The client side of SASL towards a broker, without its connection: tokens out, challenges in.

    first() ──▶ token ──▶ broker ──challenge──▶ respond() ──▶ token … or None: nothing more is to be sent

PLAIN (RFC 4616) and OAUTHBEARER (RFC 7628) are here, SCRAM in `scram_client.py`. GSSAPI asks a KDC, so it belongs to
the gateway (`gateway/brokers/gssapi_client.py`). The server's side is `sasl_server.py`.

Source: PlainSaslClient of the JDK; OAuthBearerSaslClient, OAuthBearerClientInitialResponse (KIP-255).
"""

import json
from typing import Protocol

from bifrost.config.kept_secret import KeptSecret


class LoginFailed(Exception):
    """An exchange that cannot go on; the text says why and holds no secret."""


class SaslClient(Protocol):
    """One exchange."""

    def first(self) -> bytes:
        """Return the first token."""

    def respond(self, challenge: bytes) -> bytes | None:
        """Return the next token, None when the exchange is complete.

        Raises:
            LoginFailed: the exchange cannot go on.
        """


class PlainClient:
    """SASL/PLAIN: one token, with the password in clear."""

    def __init__(self, username: str, password: KeptSecret) -> None:
        """Prepare the token."""
        self._token = b"\0" + username.encode() + b"\0" + password.reveal()

    def first(self) -> bytes:
        """Return the only token."""
        return self._token

    def respond(self, challenge: bytes) -> None:
        """Check that the broker's answer is empty."""
        if challenge:
            raise LoginFailed("the broker goes on after the only token of SASL/PLAIN")


class BearerClient:
    """SASL/OAUTHBEARER: one token; the broker sends a refusal as a challenge, which the client answers first.

    Source: RFC 7628, sections 3.1 and 3.2.3.
    """

    def __init__(self, token: str) -> None:
        """Take the token, which must have the form of a bearer token (RFC 6750, section 2.1)."""
        self._token = token
        self._refusal: str | None = None

    def first(self) -> bytes:
        """Return the initial response."""
        return f"n,,\x01auth=Bearer {self._token}\x01\x01".encode()

    def respond(self, challenge: bytes) -> bytes | None:
        """Answer a refusal by the one byte that ends the exchange; the broker then says that it failed."""
        if self._refusal is not None:
            raise LoginFailed(f"the broker refused the token ({self._refusal})")
        if not challenge:
            return None
        self._refusal = _status(challenge)
        return b"\x01"

    @property
    def refusal(self) -> str | None:
        """Why the broker refused the token, as far as it said."""
        return self._refusal


def _status(challenge: bytes) -> str:
    """Return the status of a refusal, bounded and printable."""
    try:
        content = json.loads(challenge)
    except (ValueError, RecursionError):
        return "no reason given"
    status = content.get("status") if isinstance(content, dict) else None
    text = status if isinstance(status, str) else "no reason given"
    return "".join(char for char in text[:100] if char.isprintable())
