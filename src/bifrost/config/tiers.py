"""The tiers of a namespace below a tenant (KIP-37), and how a physical name shows them.

    namespace          name      physical name (behind the tenant's prefix)
    (the tenant's own) orders    orders
    eu                 orders    --eu.orders
    analytics:eu       orders    --analytics.--eu.orders
    team-a.b_c         orders    --team--a-db-uc.orders

Each tier is the mark `--`, the tier's code and a dot. In the code `-`, `.` and `_` of the tier are `--`, `-d` and `-u`;
so the first dot ends it, and it has no `_`. That makes the names of two namespaces different for Kafka too, which takes
`.` and `_` for the same in names of topics (see `name_template.fold`); and the names of a namespace and of all below it
have a prefix that no other name has. The price: no name of a namespace's own begins with `--`.
"""

import re
from collections.abc import Sequence

SEPARATOR = ":"
"""What stands between tiers where they are read and written; no topic's name has it (KIP-37)."""

MARK = "--"
"""The start of what shows a tier. Tools take a topic that begins so for an option, so no topic is called that."""

MAX_TIERS_LENGTH = 64
"""The longest tiers with `:` between them, in characters. With the longest prefix of a tenant, and if each character
takes two in physical names, 48 of a topic's 249 characters remain for its own name."""

MAX_NAMESPACES = 10_000
"""Most namespaces of one tenant: each takes memory in every worker, and a tree that large is still read at once."""

_TIER = re.compile(r"(?!\.{1,2}$)[a-zA-Z0-9._-]+")
_ESCAPES = str.maketrans({"-": "--", ".": "-d", "_": "-u"})
_CODE = re.compile(rb"--((?:[a-zA-Z0-9]|-[-du])+)\.")
CODES = re.compile(rb"(?:--(?:[a-zA-Z0-9]|-[-du])+\.)+")
"""The codes of one or more tiers, as `encode` makes them."""
_ESCAPE = re.compile(rb"-([-du])")
_ESCAPED = {b"-": b"-", b"d": b".", b"u": b"_"}


def misfit(tiers: Sequence[str]) -> str | None:
    """Return why these cannot be tiers; None: they can."""
    shown = SEPARATOR.join(tiers)
    if any(_TIER.fullmatch(tier) is None for tier in tiers):
        return (
            f"{shown[:100]!r} is no namespace: write its tiers with : between, each of a-z, A-Z, 0-9, '.', '_' and "
            "'-', but not '.' or '..'"
        )
    if len(shown) > MAX_TIERS_LENGTH:
        return f"namespace {shown[:100]!r} has {len(shown)} characters, and may have {MAX_TIERS_LENGTH}"
    return None


def encode(tiers: Sequence[str]) -> str:
    """Return what stands between the tenant's prefix and the names of a namespace."""
    return "".join([f"{MARK}{tier.translate(_ESCAPES)}." for tier in tiers])


def decode(name: bytes) -> tuple[str, bytes] | None:
    """Return the first tier that a physical name shows behind a prefix, and what follows it.

    None: it shows none; then it is a name of the namespace itself, unless it begins with the mark: then it is no
    namespace's.
    """
    found = _CODE.match(name)
    if found is None:
        return None
    code = found[1]
    tier = (_ESCAPE.sub(lambda escape: _ESCAPED[escape[1]], code) if b"-" in code else code).decode()
    return (tier, name[found.end() :]) if misfit([tier]) is None else None
