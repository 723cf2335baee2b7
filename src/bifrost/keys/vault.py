"""A KEK in the transit engine of HashiCorp Vault, or of OpenBao, over its HTTP API.

A DEK is made here and encrypted there, with the topic as associated data, so Vault decrypts it for that topic alone.
The token is read from its file for each call: an agent that renews it needs no restart here. A token needs `update` on
`<mount>/encrypt/<key>` to seal, on `<mount>/decrypt/<key>` to open; with `create` Vault would make a new key if the
name has a typing error.

Source: Vault's HTTP API, secret/transit; `associated_data` needs an AEAD key, as the default aes256-gcm96 is.
"""

import base64
import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import EncryptionError, KekUnavailable, UnknownKek
from bifrost.encryption.wrapped_dek import WrappedDek
from bifrost.keys.kek_provider import CALL_TIMEOUT_S

MAX_ANSWER_BYTES = 64 * 1024
MAX_TOKEN_BYTES = 16 * 1024
_OK, _BAD_REQUEST, _NOT_FOUND, _FORBIDDEN = 200, 400, 404, 403


@dataclass(frozen=True, slots=True)
class VaultSettings:
    """Where a KEK is, and how the gateway logs in there."""

    address: str
    """`https://host:port`, or `http://` within a host."""
    key: str
    token_file: Path
    mount: str = "transit"
    namespace: str | None = None
    """Of Vault Enterprise."""
    ca_file: Path | None = None
    """PEM; None: the system's certificates."""
    timeout_s: float = CALL_TIMEOUT_S


class Vault:
    """One KEK of a transit engine."""

    def __init__(self, settings: VaultSettings) -> None:
        """Prepare; nothing is asked yet.

        Raises:
            ValueError: the address is no HTTP URL.
            OSError: the certificates cannot be read.
        """
        self._settings = settings
        self.name = f"vault:{settings.mount}/{settings.key}"
        address = urlsplit(settings.address)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("expected http://host:port or https://host:port")
        self._host, self._port, self._base = address.hostname, address.port, address.path.rstrip("/")
        self._context = None
        if address.scheme == "https":
            self._context = ssl.create_default_context(cafile=settings.ca_file)

    def __repr__(self) -> str:
        return f"Vault({self.name!r})"

    def wrap(self, key: bytes, context: DekContext) -> WrappedDek:
        """See `KekProvider`."""
        text = self._call("encrypt", {"plaintext": _base64(key)}, context, "ciphertext")
        return WrappedDek(self.name, _version_of(text), text.encode())

    def unwrap(self, wrapped: WrappedDek, context: DekContext) -> bytes:
        """See `KekProvider`."""
        if wrapped.kek != self.name:
            raise UnknownKek(f"the envelope names the KEK {wrapped.kek[:80]!r}, not {self.name!r}")
        text = wrapped.wrapped.decode("ascii", "replace")
        plain = self._call("decrypt", {"ciphertext": text}, context, "plaintext")
        try:
            return base64.b64decode(plain, validate=True)
        except ValueError:
            raise KekUnavailable(f"{self.name}: the answer has no key") from None

    def close(self) -> None:
        """See `KekProvider`: there is a connection for each call."""

    def _call(self, verb: str, body: Mapping[str, str], context: DekContext, field: str) -> str:
        content = json.dumps({**body, "associated_data": _base64(context.as_bytes())})
        headers = {
            "X-Vault-Token": self._token(),
            "X-Vault-Request": "true",
            "Content-Type": "application/json",
        }
        if self._settings.namespace is not None:
            headers["X-Vault-Namespace"] = self._settings.namespace
        path = f"{self._base}/v1/{quote(self._settings.mount)}/{verb}/{quote(self._settings.key, safe='')}"
        connection = self._connect()
        try:
            connection.request("POST", path, content, headers)
            answer = connection.getresponse()
            status, data = answer.status, answer.read(MAX_ANSWER_BYTES)
        except (OSError, HTTPException, ValueError) as error:
            # Its text may have what was sent; its kind says enough.
            raise KekUnavailable(f"{self.name}: no answer ({type(error).__name__})") from None
        finally:
            connection.close()
        return self._read(status, data, field)

    def _connect(self) -> HTTPConnection:
        timeout_s = self._settings.timeout_s
        if self._context is None:
            return HTTPConnection(self._host, self._port, timeout=timeout_s)
        return HTTPSConnection(self._host, self._port, timeout=timeout_s, context=self._context)

    def _token(self) -> str:
        try:
            with self._settings.token_file.open(encoding="ascii") as file:
                token = file.read(MAX_TOKEN_BYTES).strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not ASCII"
            raise KekUnavailable(f"{self._settings.token_file}: cannot be read ({reason})") from None
        if not token.isprintable() or not token:
            raise KekUnavailable(f"{self._settings.token_file}: has no token")
        return token

    def _read(self, status: int, data: bytes, field: str) -> str:
        if status != _OK:
            raise self._refusal(status)
        try:
            answer: Any = json.loads(data)
            text = answer["data"][field]
        except (ValueError, KeyError, TypeError):
            text = None
        if not isinstance(text, str):
            raise KekUnavailable(f"{self.name}: an answer that Vault does not give")
        return text

    def _refusal(self, status: int) -> EncryptionError:
        """Return the error for a status; the body could have what was sent."""
        if status == _BAD_REQUEST:
            return UnknownKek(
                f"{self.name}: Vault refuses the request: the key is not there, its version is disabled, or it did "
                "not wrap this DEK for this topic"
            )
        if status == _NOT_FOUND:
            return UnknownKek(f"{self.name}: there is no such engine")
        if status == _FORBIDDEN:
            # To seal with a key that is not there would make it. What a token may is changed without us.
            return KekUnavailable(f"{self.name}: Vault refuses the token, or has no such key to seal with")
        return KekUnavailable(f"{self.name}: Vault answers with status {status}")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _version_of(ciphertext: str) -> int:
    """Return the version in `vault:v3:...`; 0 where it has none."""
    parts = ciphertext.split(":", 2)
    is_known = len(parts) == 3 and parts[1].startswith("v") and parts[1][1:].isdecimal()
    return min(int(parts[1][1:]), 2**32 - 1) if is_known else 0
