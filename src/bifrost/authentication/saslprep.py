"""SASLprep: makes one form of the different ways to write a user name in Unicode (RFC 4013, a profile of stringprep).

Kafka's own clients send names as they are; others prepare them (RFC 5802, section 5.1). See `Accounts._find`.

Any client may send a name before authentication, so its length is bounded before and after normalization, which can
make 18 characters of one (U+FDFA), and each character is looked at once.
"""

import unicodedata

MAX_NAME_LENGTH = 256
"""Longest user name, in characters, prepared or not: the configuration allows no longer one. A longer name is not
normalized: the cost grows with the length, and canonical ordering of combining marks even with its square."""

_PROHIBITED_CATEGORIES = frozenset({"Zs", "Cc", "Co", "Cs"})
"""Tables C.1.2 (save for the space), C.2, C.3 and C.5 of RFC 3454 by general category."""

_RIGHT_TO_LEFT = frozenset({"R", "AL"})


def saslprep(name: str) -> str | None:
    """Return the name as a client that prepares it sends it; None when it is too long or has prohibited characters."""
    if len(name) > MAX_NAME_LENGTH:
        return None
    if name.isascii() and name.isprintable():
        return name
    # Imported only for such names: the tables stay in memory.
    import stringprep

    mapped = "".join(
        " " if stringprep.in_table_c12(char) else char for char in name if not stringprep.in_table_b1(char)
    )
    prepared = unicodedata.ucd_3_2_0.normalize("NFKC", mapped)
    if len(prepared) > MAX_NAME_LENGTH or any(map(is_prohibited, prepared)):
        return None
    directions = [unicodedata.ucd_3_2_0.bidirectional(char) for char in prepared]
    if not _RIGHT_TO_LEFT.isdisjoint(directions):
        # RFC 3454, section 6: a right-to-left name has no left-to-right character, and begins and ends right-to-left.
        ends = directions[0] in _RIGHT_TO_LEFT and directions[-1] in _RIGHT_TO_LEFT
        if "L" in directions or not ends:
            return None
    return prepared


def is_prohibited(char: str) -> bool:
    """Whether a prepared name must not have this character (RFC 4013, section 2.3)."""
    import stringprep

    if unicodedata.ucd_3_2_0.category(char) in _PROHIBITED_CATEGORIES:
        return char != " "
    code = ord(char)
    return (
        code in stringprep.c22_specials
        or code in stringprep.c6_set
        or code in stringprep.c7_set
        or code in stringprep.c8_set
        or code in stringprep.c9_set
        or 0xFDD0 <= code <= 0xFDEF  # Table C.4, with the two last code points of each plane.
        or code & 0xFFFE == 0xFFFE
    )
