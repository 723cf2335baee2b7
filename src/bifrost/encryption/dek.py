"""Data encryption keys (DEKs) in use: one that opens, and one that seals within its limits.

Every message that a DEK seals has another nonce: 8 random bytes that belong to the DEK in this process, and a counter
of 4 bytes. Only one process seals with a DEK, so the counter alone would do; with the random bytes a mistake in that
would still not repeat a nonce.

The key itself stays in the cipher object of `cryptography`; nothing here shows, pickles or returns it.

Source: NIST SP 800-38D, 8.2.1 (deterministic construction of nonces) and 8.3.
"""

from dataclasses import dataclass
from typing import NoReturn

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from bifrost.encryption.errors import DekUsedUp
from bifrost.encryption.wrapped_dek import WrappedDek

DEK_BYTES = 32
"""Of a DEK: AES-256."""
NONCE_PREFIX_BYTES = 8
COUNTERS = 1 << 32
"""Different counters of a nonce."""


@dataclass(frozen=True, slots=True)
class DekLimits:
    """How long a DEK seals; it ends with whichever comes first. It opens as long as its KEK unwraps it.

    With B blocks of 16 bytes under one key, an attacker tells AES-GCM from random bytes with a probability of about
    B^2 / 2^129: at 64 GiB that is 2^-65, where 2^-32 is held to be enough (NIST SP 800-38D, RFC 8446 section 5.5).
    """

    max_messages: int = 1 << 28
    """Messages: a sixteenth of the counters that there are."""
    max_bytes: int = 64 << 30
    """Bytes of plaintext: 2^32 blocks."""
    max_age_ms: int = 600_000
    """Milliseconds from when it was made: within this time a rotated KEK is in use, and a deleted one no longer."""


class Dek:
    """A DEK that opens what was sealed with it.

    Attributes:
        wrapped: the DEK as it stands in envelopes.
        cipher: AES-256-GCM with it.
    """

    __slots__ = ("cipher", "wrapped")

    def __init__(self, key: bytes, wrapped: WrappedDek) -> None:
        """Take the key into use.

        Args:
            key: 32 bytes, which the caller should forget.
            wrapped: the same key, wrapped.
        Raises:
            ValueError: the key has another size.
        """
        if len(key) != DEK_BYTES:
            raise ValueError(f"a DEK has {DEK_BYTES} bytes")
        self.cipher = AESGCM(key)
        self.wrapped = wrapped

    def __repr__(self) -> str:
        return f"Dek({self.wrapped!r})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a DEK is not pickled")


class WritingDek:
    """A DEK that seals within its limits, in one process.

    Attributes:
        dek: the key.
        header: the wrapped DEK as every envelope has it.
        nonce_prefix: the beginning of its nonces.
        expires_ms: from when on it seals no more, by the clock of its maker.
    """

    __slots__ = ("_bytes", "_limits", "_messages", "dek", "expires_ms", "header", "nonce_prefix")

    def __init__(self, dek: Dek, nonce_prefix: bytes, limits: DekLimits, now_ms: int) -> None:
        """Begin to seal with a DEK that nothing was sealed with.

        Args:
            dek: the new key.
            nonce_prefix: 8 random bytes.
            limits: when it ends.
            now_ms: the time, by any clock that goes on.
        Raises:
            ValueError: the prefix has another size, or the limits allow more messages than there are counters.
        """
        if len(nonce_prefix) != NONCE_PREFIX_BYTES:
            raise ValueError(f"a nonce's prefix has {NONCE_PREFIX_BYTES} bytes")
        if not 0 < limits.max_messages <= COUNTERS:
            raise ValueError(f"a DEK seals at most {COUNTERS} messages")
        self.dek = dek
        self.header = dek.wrapped.as_bytes()
        self.nonce_prefix = nonce_prefix
        self.expires_ms = now_ms + limits.max_age_ms
        self._limits = limits
        self._messages = self._bytes = 0

    def __repr__(self) -> str:
        return f"WritingDek({self.dek.wrapped!r}, {self._messages} messages, {self._bytes} bytes)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a DEK is not pickled")

    def take(self, messages: int, size: int) -> int:
        """Return the first of as many counters as there are messages; none of them is given again.

        Args:
            messages: how many will be sealed.
            size: their bytes of plaintext in all.
        Raises:
            DekUsedUp: the DEK may not seal so much any more.
        """
        if (
            messages > self._limits.max_messages - self._messages
            or size > self._limits.max_bytes - self._bytes
        ):
            raise DekUsedUp("the DEK has sealed as much as it may")
        first = self._messages
        self._messages += messages
        self._bytes += size
        return first

    def has_room(self, messages: int, size: int) -> bool:
        """Whether so much can still be sealed with it."""
        return (
            messages <= self._limits.max_messages - self._messages
            and size <= self._limits.max_bytes - self._bytes
        )
