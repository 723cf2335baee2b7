"""The key that seals the keys of a topic's records, always to the same bytes (AES-SIV).

Compaction keeps the latest record of each key, so a key must be sealed alike as long as the topic lives: this key does
not change, unlike a DEK. It comes from the sealing key (`sealing_key.py`). A broker sees which records have equal keys,
and nothing else of them.

Source: RFC 5297.
"""

from hashlib import sha256
from typing import NoReturn

from cryptography.hazmat.primitives.ciphers.aead import AESSIV

TOPIC_KEY_BYTES = 64
"""Two keys of AES-256: one for the synthetic nonce, one for the encryption."""


class TopicKey:
    """A key that seals and opens the keys of records.

    Attributes:
        cipher: AES-SIV with it.
        key_id: 8 bytes that say which key it is, and nothing of the key.
    """

    __slots__ = ("cipher", "key_id")

    def __init__(self, key: bytes) -> None:
        """Take the key into use.

        Args:
            key: 64 bytes, which the caller should forget.
        Raises:
            ValueError: the key has another size.
        """
        if len(key) != TOPIC_KEY_BYTES:
            raise ValueError(f"a topic's key has {TOPIC_KEY_BYTES} bytes")
        self.cipher = AESSIV(key)
        self.key_id = sha256(b"bifrost topic key" + key).digest()[:8]

    def __repr__(self) -> str:
        return f"TopicKey({self.key_id.hex()})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a topic's key is not pickled")
