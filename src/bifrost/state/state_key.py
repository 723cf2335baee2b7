"""The key of a record of the state: its kind and its name, in the topic as `kind:name` in UTF-8."""

import re
from functools import lru_cache
from typing import NamedTuple, Self

MAX_NAME_BYTES = 1024
"""More than the longest name of a topic (249), so that a name may be made of several."""

_KIND = re.compile(r"[a-z][a-z0-9-]{0,63}")


@lru_cache(maxsize=256)  # far more kinds than there are
def _kind(text: str) -> str | None:
    """Return the kind, one object for all keys that have it; None: it is no kind."""
    return text if _KIND.fullmatch(text) is not None else None


class _Key(NamedTuple):
    """A tuple, because keys are looked up by the hundred thousand."""

    kind: str
    """What sort of thing: `namespace`, `alias`, ..."""

    name: str
    """Which one of them."""


class StateKey(_Key):
    """What a record is about.

    Raises:
        ValueError: the kind is not lower case letters, digits and `-`, or the name is empty or too long.
    """

    __slots__ = ()

    def __new__(cls, kind: str, name: str) -> Self:
        """Check both."""
        known = _kind(kind)
        if known is None:
            raise ValueError(f"{kind[:70]!r} is no kind of state: lower case letters, digits and -")
        size = len(name) if name.isascii() else len(name.encode())
        if not 1 <= size <= MAX_NAME_BYTES:
            raise ValueError(f"a name in the state has 1 to {MAX_NAME_BYTES} bytes, and this one {size}")
        return tuple.__new__(cls, (known, name))

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"

    @property
    def owner(self) -> str:
        """The tenant that it belongs to: what its name begins with, up to the first `:` or `/`."""
        return self.name.partition(":")[0].partition("/")[0]

    def to_bytes(self) -> bytes:
        """Return the key as it is in the topic."""
        return str(self).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> "StateKey":
        """Return the key that these bytes are.

        Raises:
            ValueError: they are none.
        """
        kind, colon, name = data.decode().partition(":")
        if not colon:
            raise ValueError("a key of the state is kind:name, and this one has no colon")
        if (known := _kind(kind)) is not None and name and len(data) <= MAX_NAME_BYTES:
            return tuple.__new__(
                cls, (known, name)
            )  # What `__new__` would make, for the most part of a large state.
        return cls(kind, name)


FLOOR = StateKey("state", "floor")
"""The key of the record with the highest version that a purge has removed, of any key."""
