"""The digest of a batch: by it a need that is about a batch is known again when its message is decided anew."""

from hashlib import sha256

from bifrost.wire.steps import in_steps

_PIECE_BYTES, _PIECE_ROUNDS = 65_536, 100
"""A digest of so many bytes takes as long as so many rounds of a loop."""


def digest_of(data: memoryview) -> bytes:
    """Return the SHA-256 of a batch, made in steps."""
    found = sha256()
    for at in in_steps(range(0, len(data), _PIECE_BYTES), _PIECE_ROUNDS):
        found.update(data[at : at + _PIECE_BYTES])
    return found.digest()
