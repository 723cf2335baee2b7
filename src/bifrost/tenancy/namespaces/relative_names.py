"""Names as a namespace calls them, and what stands in physical names behind the namespace's prefix. Pure.

    in acme, where eu and eu:de exist    behind the prefix of acme
    orders                               orders
    eu:orders                            --eu.orders
    eu:de:orders                         --eu.--de.orders
    us:orders                            us:orders             no namespace us: a name like any other
    --x                                  --.--x                so that it is not taken for a tier

A name is one of a namespace below exactly when its beginning is the path of a namespace that exists; the longest such
path counts. So a tenant without namespaces keeps every name that it has, also groups with `:`. What another name hides
has no virtual name: a group that was called `us:readers` before the namespace `us` was created. Both directions are
each other's reverse for the same set of namespaces (tests/property).
"""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from bifrost.config.tiers import MARK, decode, encode

_MARK = MARK.encode()
_ITSELF = _MARK + b"."
"""What stands before a name of the namespace itself that begins with the mark. It is no tier's code, for that is not
empty."""


class RelativeNames:
    """The names of one namespace and of those below it."""

    __slots__ = ("_existing", "_separator", "_tiers")

    def __init__(
        self,
        tiers: Sequence[str] = (),
        existing: AbstractSet[tuple[str, ...]] = frozenset(),
        separator: str = ":",
    ) -> None:
        """Take the namespaces.

        Args:
            tiers: the namespace itself, below its tenant.
            existing: the tiers of all namespaces below the tenant, which may change later. One of which a tier above
                is not there does not exist.
            separator: what stands between tiers, and before the name. Where a tier begins or ends with one of its
                characters or contains it, the namespaces below that tier have no names here.
        """
        self._tiers, self._existing, self._separator = tuple(tiers), existing, separator.encode()

    def split(self, name: bytes) -> tuple[tuple[str, ...], bytes]:
        """Return the tiers of the namespace below that a name is of, none for this namespace, and the rest of it."""
        found: tuple[tuple[str, ...], bytes] = ((), name)
        if not self._existing:
            return found
        tiers: tuple[str, ...] = ()
        rest = name
        while True:
            tier, separator, rest = rest.partition(self._separator)
            tiers = (*tiers, tier.decode("latin-1"))
            if not separator or not rest or (*self._tiers, *tiers) not in self._existing:
                return found
            found = (tiers, rest)

    def join(self, tiers: Sequence[str], name: bytes) -> bytes | None:
        """Return what a name of a namespace below is called here; None when it cannot be named here."""
        joined = self._separator.join([*(tier.encode() for tier in tiers), name])
        return joined if self.split(joined) == (tuple(tiers), name) else None

    def physical(self, name: bytes) -> bytes:
        """Return what stands behind the prefix for a name."""
        if not self._existing and not name.startswith(_MARK):
            return name
        return self.code(*self.split(name))

    @staticmethod
    def code(tiers: Sequence[str], name: bytes) -> bytes:
        """Return what stands behind a prefix for a name of the namespace with these tiers below it."""
        return encode(tiers).encode() + RelativeNames.code_here(name)

    @staticmethod
    def code_here(name: bytes) -> bytes:
        """Return what stands behind a prefix for a name of the namespace itself."""
        return _ITSELF + name if name.startswith(_MARK) else name

    def virtual(self, tail: bytes) -> bytes | None:
        """Return the name for what stands behind the prefix; None when there is none."""
        if not self._existing and not tail.startswith(_MARK):
            return tail
        tiers, rest = self._decode(tail)
        if rest.startswith(_ITSELF + _MARK):
            rest = rest[len(_ITSELF) :]
        elif rest.startswith(_MARK):
            return None
        return self.join(tiers, rest)  # None, unless the namespace exists.

    def text(self, code: bytes) -> bytes | None:
        """Return the tiers that a name in a text begins with, and the separator; None when they do not exist.

        Args:
            code: the tiers' code in physical names.
        """
        tiers, _ = self._decode(code)
        if not self.exists((*self._tiers, *tiers)):
            return None
        return b"".join(tier.encode() + self._separator for tier in tiers)

    def exists(self, tiers: tuple[str, ...]) -> bool:
        """Whether a namespace below the tenant exists."""
        return all(tiers[:length] in self._existing for length in range(1, len(tiers) + 1))

    @classmethod
    def tiers_behind(cls, tail: bytes) -> tuple[str, ...]:
        """Return the tiers that a physical name shows behind a prefix, whether they exist or not."""
        return cls._decode(tail)[0]

    @property
    def is_used(self) -> bool:
        """Whether the tenant has namespaces."""
        return bool(self._existing)

    @property
    def has_namespaces(self) -> bool:
        """Whether a namespace exists below this one. It looks at all of the tenant's."""
        depth = len(self._tiers)
        return any(len(one) > depth and one[:depth] == self._tiers for one in self._existing)

    @staticmethod
    def _decode(tail: bytes) -> tuple[tuple[str, ...], bytes]:
        tiers: list[str] = []
        while (found := decode(tail)) is not None:
            tier, tail = found
            tiers.append(tier)
        return tuple(tiers), tail
