"""What a DEK is for: the KEK's service binds it to that, and gives it back for nothing else."""

from typing import NamedTuple


class DekContext(NamedTuple):
    """The topic whose records a DEK seals."""

    cluster: str
    """As in `Place`."""
    topic: str
    """Its physical name."""

    def as_bytes(self) -> bytes:
        """Return it as the additional data of a wrapped DEK: `cluster`, a line feed, `topic`."""
        return f"{self.cluster}\n{self.topic}".encode()
