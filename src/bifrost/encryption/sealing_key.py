"""The sealing key: the keys of topics come from it (`topic_key.py`), and a KEK keeps it wrapped in a file.

    v1 9f86d081884c7d65 AAAAAQAVAD...     its ID in hexadecimal digits, and in base64 what wraps it (`wrapped_dek.py`)

It never changes, for what was sealed with it has to stay the same: a new KEK, or a new version of one, wraps the same
key again. Without its KEK the file is worth nothing to anybody; without the file sealed keys of records are lost.

Source: RFC 5869 (HKDF).
"""

import base64
import binascii
from hashlib import sha256
from typing import NamedTuple

from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from bifrost.encryption.dek_context import DekContext
from bifrost.encryption.errors import BrokenSeal, UnknownKek
from bifrost.encryption.topic_key import TOPIC_KEY_BYTES, TopicKey
from bifrost.encryption.wrapped_dek import WrappedDek, read_wrapped_dek

SEALING_KEY_BYTES = 32
SEALING_CONTEXT = DekContext("bifrost", "sealing key")
"""What a KEK wraps it for. No topic has such a name, so a KEK does not unwrap it as the DEK of a topic."""

_FORM, _ID_BYTES = "v1", 8


class SealingKey(NamedTuple):
    """A sealing key that only its KEK can unwrap."""

    key_id: bytes
    """8 bytes that say which key it is, and nothing of the key."""
    wrapped: WrappedDek

    def as_text(self) -> str:
        """Return it as its file has it."""
        data = base64.b64encode(self.wrapped.as_bytes()).decode()
        return f"{_FORM} {self.key_id.hex()} {data}"

    def checked(self, key: bytes) -> bytes:
        """Return the key that a KEK has unwrapped.

        Raises:
            UnknownKek: it is another one.
        """
        if len(key) != SEALING_KEY_BYTES or id_of(key) != self.key_id:
            raise UnknownKek(f"{self.wrapped.kek[:80]}: what it unwrapped is another sealing key")
        return key


def id_of(key: bytes) -> bytes:
    """Return what a sealing key is known by."""
    return sha256(b"bifrost sealing key" + key).digest()[:_ID_BYTES]


def read_sealing_key(text: str) -> SealingKey:
    """Return the sealing key of a file; lines that begin with # say something about it.

    Raises:
        BrokenSeal: it has none.
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    try:
        form, key_id, data = lines[0].split() if len(lines) == 1 else ("", "", "")
        found = bytes.fromhex(key_id)
        if form != _FORM or len(found) != _ID_BYTES:
            raise ValueError
        return SealingKey(found, read_wrapped_dek(base64.b64decode(data, validate=True)))
    except (ValueError, binascii.Error):
        raise BrokenSeal(
            "expected one line of v1, an ID and base64, as `bifrost sealing-key` writes it"
        ) from None


def topic_key_of(key: bytes, context: DekContext) -> TopicKey:
    """Return the key of a topic, which the caller's key should be forgotten for."""
    info = b"bifrost topic key\0" + context.as_bytes()
    return TopicKey(HKDF(SHA512(), TOPIC_KEY_BYTES, None, info).derive(key))
