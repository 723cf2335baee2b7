"""The client side of SCRAM for the tests, spelled out from RFC 5802 with nothing of the gateway's own."""

from __future__ import annotations

import base64
import hashlib
import hmac

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}


class ScramClient:
    """One exchange. What it sends can be changed piece by piece."""

    def __init__(
        self, mechanism: str, username: str, password: str, nonce: str = "fyko+d2lbbFgONRv9qkxdawL"
    ) -> None:
        self._hash = HASHES[mechanism]
        self._password = password
        self.gs2 = "n,,"
        self.nonce = nonce
        self.username = username.replace("=", "=3D").replace(",", "=2C")
        self.extensions = ""
        self._signature = b""

    @property
    def bare(self) -> str:
        return f"n={self.username},r={self.nonce}{self.extensions}"

    def first(self) -> bytes:
        return (self.gs2 + self.bare).encode()

    def final(self, server_first: bytes, *, binding: str | None = None, nonce: str | None = None) -> bytes:
        attributes = dict(part.split("=", 1) for part in server_first.decode().split(","))
        assert attributes["r"].startswith(self.nonce)
        assert len(attributes["r"]) > len(self.nonce)
        salt, iterations = base64.b64decode(attributes["s"]), int(attributes["i"])
        salted = hashlib.pbkdf2_hmac(self._hash, self._password.encode(), salt, iterations)
        encoded = base64.b64encode((self.gs2 if binding is None else binding).encode()).decode()
        without_proof = f"c={encoded},r={nonce or attributes['r']}"
        message = f"{self.bare},{server_first.decode()},{without_proof}".encode()
        client_key = hmac.new(salted, b"Client Key", self._hash).digest()
        stored_key = hashlib.new(self._hash, client_key).digest()
        signature = hmac.new(stored_key, message, self._hash).digest()
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        server_key = hmac.new(salted, b"Server Key", self._hash).digest()
        self._signature = hmac.new(server_key, message, self._hash).digest()
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()

    def trusts(self, server_final: bytes) -> bool:
        """Whether the server has shown that it knows the password's verifier."""
        return server_final == b"v=" + base64.b64encode(self._signature)
