"""Error texts of a broker as a tenant reads them: with its own names, and none of another tenant's."""

import re
from collections.abc import Iterable
from functools import lru_cache

from bifrost.config.tiers import CODES, MARK
from bifrost.tenancy.namespaces.relative_names import RelativeNames

_NOT_ALLOWED = {b"": b"the empty string", b".": b"'.'", b"..": b"'..'"}
_ILLEGAL_CHARACTERS = b"'%b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
"""Topic.validate's text about a denied form; its text about the names in `_NOT_ALLOWED` is that they are not
allowed."""
_NO_NAMESPACE = re.compile(
    rb"'(?:[^']*/)?([^'/]*):[^':]*' contains one or more characters other than ASCII alphanumerics, '\.', '_' and '-'"
)
_NO_SUCH = rb"InvalidNamespace: namespace \1 does not exist"
"""That text where the name begins with the path of a namespace, and what the tenant reads instead (KIP-37)."""


class ErrorTexts:
    """The texts for one namespace."""

    __slots__ = ("_foreign_marks", "_illegal", "_own_prefixes", "_relative")

    def __init__(
        self, denied_prefix: bytes, own_prefixes: Iterable[bytes], relative: RelativeNames | None
    ) -> None:
        """Begin without foreign marks.

        Args:
            denied_prefix: what stands before a name in its denied form.
            own_prefixes: of the namespace's physical names.
            relative: the names of namespaces below; None: tiers are dotted.
        """
        self._relative = relative
        self._foreign_marks: tuple[bytes, ...] = ()
        self._illegal = [
            (_ILLEGAL_CHARACTERS % (denied_prefix + name), shown + b" is not allowed")
            for name, shown in _NOT_ALLOWED.items()
        ]
        # Longest first: a prefix that is the start of another must not be removed from it.
        shared = set(own_prefixes)
        escaped = {one + MARK.encode() + b"." for one in shared} if relative is not None else set()
        self._own_prefixes = sorted({denied_prefix, *escaped, *shared}, key=len, reverse=True)

    def mark(self, foreign_marks: Iterable[str]) -> None:
        """Take what a text about another tenant would contain."""
        self._foreign_marks = _encode_once(frozenset(foreign_marks))

    def virtual(self, text: bytes) -> bytes:
        """Return an error text of the broker without the tenant's prefixes, so that its names are virtual ones.

        Every occurrence is removed, at any position: a name may be quoted, in a list or followed by a partition. A text
        that may still contain another tenant's prefix is dropped as a whole.
        """
        own = text
        for illegal, allowed in self._illegal:
            own = own.replace(illegal, allowed)
        if self._relative is not None and self._relative.is_used:
            codes = _codes_behind(tuple(self._own_prefixes))
            own = _NO_NAMESPACE.sub(_NO_SUCH, codes.sub(self._shown_codes, own))
        for prefix in self._own_prefixes:
            own = own.replace(prefix, b"")
        # No text is better than one that may name another tenant's entity.
        return b"" if any(mark in own for mark in self._foreign_marks) else own

    def _shown_codes(self, found: re.Match[bytes]) -> bytes:
        """Return the prefix of a namespace below, in a text, as it is shown here."""
        assert self._relative is not None
        shown = self._relative.text(found[2])
        return found[0] if shown is None else shown


@lru_cache(maxsize=4)
def _encode_once(marks: frozenset[str]) -> tuple[bytes, ...]:
    """Return the marks as they stand in a text: one tuple for all tenants that have the same."""
    return tuple(sorted(mark.encode() for mark in marks if mark))


@lru_cache(maxsize=64)
def _codes_behind(prefixes: tuple[bytes, ...]) -> re.Pattern[bytes]:
    """Return a pattern for one of the prefixes and the codes of tiers behind it. To compile it takes 0.2 ms."""
    return re.compile(b"(%b)(%b)" % (b"|".join(map(re.escape, prefixes)), CODES.pattern))
