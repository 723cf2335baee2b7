"""A data encryption key (DEK) as it stands in envelopes: wrapped by a key encryption key (KEK).

    kek_version uint32, reference_size uint16, wrapped_size uint16, reference (UTF-8), wrapped

The reference says what can unwrap it, for example `vault:transit/payments`. A reader takes it as a question, not as an
address: it unwraps only by KEKs that its own configuration names.
"""

from struct import Struct
from typing import NamedTuple

from bifrost.encryption.errors import BrokenSeal

_HEAD = Struct(">IHH")

MAX_REFERENCE_BYTES = 512
"""More than the ARN of any AWS KMS key, and than a mount and a key of Vault."""
MAX_WRAPPED_BYTES = 4096
"""More than a ciphertext of 32 bytes has with any provider; AWS KMS has 6,144 at the most, for 4,096 bytes."""


class WrappedDek(NamedTuple):
    """A DEK that only its KEK can unwrap."""

    kek: str
    """The reference of the KEK."""
    kek_version: int
    """The version of the KEK; 0 where its provider shows none."""
    wrapped: bytes

    def __repr__(self) -> str:
        return f"WrappedDek({self.kek!r}, {self.kek_version})"

    def as_bytes(self) -> bytes:
        """Return it as it stands in an envelope.

        Raises:
            ValueError: the reference or the wrapped DEK is too long.
        """
        reference = self.kek.encode()
        if not 0 < len(reference) <= MAX_REFERENCE_BYTES:
            raise ValueError(f"a KEK's reference has 1 to {MAX_REFERENCE_BYTES} bytes")
        if not 0 < len(self.wrapped) <= MAX_WRAPPED_BYTES:
            raise ValueError(f"a wrapped DEK has 1 to {MAX_WRAPPED_BYTES} bytes")
        return _HEAD.pack(self.kek_version, len(reference), len(self.wrapped)) + reference + self.wrapped


def read_wrapped_dek(data: bytes) -> WrappedDek:
    """Return the wrapped DEK of an envelope.

    Raises:
        BrokenSeal: it is none.
    """
    if len(data) < _HEAD.size:
        raise BrokenSeal("the envelope's key is cut off")
    version, reference_size, wrapped_size = _HEAD.unpack_from(data)
    behind = _HEAD.size + reference_size
    if not 0 < reference_size <= MAX_REFERENCE_BYTES or not 0 < wrapped_size <= MAX_WRAPPED_BYTES:
        raise BrokenSeal("the envelope's key has no possible size")
    if len(data) != behind + wrapped_size:
        raise BrokenSeal("the envelope's key has another size than it says")
    try:
        reference = data[_HEAD.size : behind].decode()
    except UnicodeDecodeError:
        raise BrokenSeal("the envelope's reference of a KEK is no text") from None
    return WrappedDek(reference, version, data[behind:])
