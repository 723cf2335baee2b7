"""Says of an offset in an offset group when it was committed, and whether by a transaction.

A broker tells neither, and what becomes of the offset depends on both (kept_offsets.py). So the gateway writes it
before the client's own metadata, which is stored with each offset, and takes it away when a client asks for that:

    bifrost:t6929a3c0:what the client gave

`t`: by a transaction, `p`: by a plain OffsetCommit; then the second since 1970, as eight hexadecimal digits.
"""

import re
from typing import NamedTuple

_STAMP = re.compile(r"bifrost:([pt])([0-9a-f]{8}):")
_LAST_S = 0xFFFF_FFFF

STAMP_LENGTH = len("bifrost:t00000000:")
"""Characters by which metadata is longer at the brokers, which compare it with `offset.metadata.max.bytes` (4096)."""


class CommitStamp(NamedTuple):
    """What a stamp says."""

    committed_s: int
    """When, in seconds since 1970, by the clock of the gateway."""
    is_transactional: bool


def stamped(metadata: str | None, stamp: CommitStamp) -> str:
    """Return a client's metadata with a stamp before it."""
    kind = "t" if stamp.is_transactional else "p"
    return f"bifrost:{kind}{min(stamp.committed_s, _LAST_S):08x}:{metadata or ''}"


def read_stamp(metadata: str | None) -> CommitStamp | None:
    """Return the stamp before some metadata; None: there is none."""
    found = _STAMP.match(metadata or "")
    return None if found is None else CommitStamp(int(found[2], 16), found[1] == "t")


def without_stamp(metadata: str | None) -> str | None:
    """Return the client's own metadata."""
    found = _STAMP.match(metadata or "")
    return metadata if found is None or metadata is None else metadata[found.end() :]
