r"""Regexes in the making, in RE2's syntax, that know where a name begins though a prefix stands before it.

The counterpart of `topic_regex`, whose parser builds these from what a tenant wrote; the whole is explained there.
A `Piece` is text with what must be known to put it together; a `Part` is a parsed part of the regex in two forms, at
the start of the name and after it, of which `Start` joins larger parts:

    ab      at the start:   a, then b's later form;       or, where a may be empty there, b's form at the start
    a{n,m}  at the start:   a, then a's later form, n-1 to m-1 times; or, where a may be empty there, 0 to m-1
    a|b     at the start:   either's form at the start

The form at the start always takes a character: the name is never empty. Captures and laziness have no meaning here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.regex_matcher import Either, Node, Then, Times
from bifrost.wire.steps import in_steps

MAX_CONFINED_LENGTH = 16_384
"""Longest translation, in characters: with the group's name and the prefix it stays under the 32,767 of a string."""

MAX_PROGRAM = 2000
"""RE2/J instructions, counted from above: a topic costs the broker instructions times characters, at worst 25 ms for
one topic, and with 18,000 its matcher overflows the stack [measured, Java 17]. A hundred names of 20 characters fit."""


MAX_LISTED_DEPTH = 20
"""Groups in groups in a list of names: RE2/J's compiler recurses."""


ALTERNATION, SEQUENCE, REPEATED, ATOM = range(4)
"""How strongly a text binds."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Regex text and how to use it.

    Raises:
        InvalidRegex: it is beyond a limit.
    """

    text: str
    level: int = ATOM
    cost: int = 1
    """RE2/J instructions, or more."""
    fold: bool = False
    """Whether the text is meant under `(?i)`; the flag is written late, so seldom."""
    node: Node = field(default=None, compare=False, repr=False)
    """The same for the matcher, of ASCII texts in one line."""

    def __post_init__(self) -> None:
        if self.cost > MAX_PROGRAM or len(self.text) > MAX_CONFINED_LENGTH:
            raise InvalidRegex("too large: use fewer or smaller repetitions and alternatives")

    def wrapped(self, level: int) -> str:
        """Return the text, in a group if it binds less than `level`."""
        return self.text if self.level >= level else f"(?:{self.text})"

    @property
    def is_empty(self) -> bool:
        """Whether it matches the empty string and nothing else, anywhere."""
        return not self.text

    @property
    def is_never(self) -> bool:
        """Whether it is known to match nothing."""
        return self.text == NEVER.text


EMPTY = Piece("")
NEVER = Piece(r"[^\x{0}-\x{10ffff}]", node=0)


def character(code: int, plain: str = "-_") -> str:
    """Print one character so that it means itself; inside a class, `plain` must not have the `-`."""
    char = chr(code)
    if char.isascii() and (char.isalnum() or char in plain):
        return char
    return f"\\{char}" if " " <= char <= "~" else f"\\x{{{code:x}}}"


def unfolded(piece: Piece) -> Piece:
    """Return the piece with its `(?i)` written out."""
    return Piece(f"(?i:{piece.text})", ATOM, piece.cost, node=piece.node) if piece.fold else piece


def _alike(one: Piece, other: Piece) -> tuple[Piece, Piece]:
    return (one, other) if one.fold == other.fold else (unfolded(one), unfolded(other))


def either(one: Piece, other: Piece) -> Piece:
    """Return `one|other`, shorter where possible."""
    if one.is_never or one == other:
        return other
    if other.is_never:
        return one
    if one.is_empty or other.is_empty:
        return times(other if one.is_empty else one, 0, 1)
    one, other = _alike(one, other)
    node = Either(one.node, other.node)
    return Piece(f"{one.text}|{other.text}", ALTERNATION, one.cost + other.cost + 1, one.fold, node)


def both(one: Piece, other: Piece) -> Piece:
    """Return `one` followed by `other`, shorter where possible."""
    if one.is_never or other.is_never:
        return NEVER
    if one.is_empty or other.is_empty:
        return other if one.is_empty else one
    one, other = _alike(one, other)
    text = one.wrapped(SEQUENCE) + other.wrapped(SEQUENCE)
    return Piece(text, SEQUENCE, one.cost + other.cost, one.fold, Then(one.node, other.node))


def times(piece: Piece, low: int, high: int | None) -> Piece:
    """Return `piece{low,high}`, shorter where possible; None is no upper bound."""
    if high == 0 or (low == 0 and piece.is_never):
        return EMPTY
    if piece.is_empty or piece.is_never or (low, high) == (1, 1):
        return piece
    # RE2/J writes repetitions out: n copies, then a loop or further copies that may be left out.
    if high is None:
        operator = {0: "*", 1: "+"}.get(low, f"{{{low},}}")
        cost = max(low, 1) * piece.cost + 2
    else:
        operator = "?" if (low, high) == (0, 1) else f"{{{low}}}" if low == high else f"{{{low},{high}}}"
        cost = low * piece.cost + (high - low) * (piece.cost + 1)
    return Piece(piece.wrapped(ATOM) + operator, REPEATED, cost, piece.fold, Times(piece.node, low, high))


def listed(names: Sequence[str]) -> Piece:
    """Return the piece for exactly these names, sorted, different and legal; what begins alike is written once."""
    if not names:
        return NEVER
    return Piece(_listed(list(names), 0), ALTERNATION)


def _listed(names: list[str], depth: int) -> str:
    """Return the text for sorted names; the empty one stands first."""
    if len(names) == 1:
        return _quoted(names[0])
    branches: list[str] = []
    for begin, end in in_steps(_runs(names)):
        run = names[begin:end]
        shared = _shared_length(run[0], run[-1])
        if len(run) == 1 or not shared or depth == MAX_LISTED_DEPTH:
            branches += map(_quoted, run)
        else:
            rest = _listed([name[shared:] for name in run], depth + 1)
            branches.append(f"{_quoted(run[0][:shared])}(?:{rest})")
    return "|".join(branches)


def _runs(names: list[str]) -> Iterator[tuple[int, int]]:
    """Yield begin and end of the names that begin with the same character."""
    begin = 0
    for end in range(1, len(names) + 1):
        if end == len(names) or names[end][:1] != names[begin][:1]:
            yield begin, end
            begin = end


def _shared_length(one: str, other: str) -> int:
    """Return how many characters of two names are the same, from the first on."""
    same = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return sum(1 for _ in same)


def _quoted(name: str) -> str:
    return "".join(character(ord(char)) for char in name)


# Whether a part matches the empty string at the start of a name depends on nothing but the first character.
WORD, OTHER, NEWLINE = 1, 2, 4
ALWAYS = WORD | OTHER | NEWLINE


@dataclass(frozen=True, slots=True)
class Part:
    """A parsed part of a regex, as it matches at the start of a name and after it."""

    zero: int
    """The kinds of first character before which it matches the empty string at the start, a set of bits."""
    some: Piece
    """Matches what the part matches at the start, if that is not empty."""
    later: Piece
    """Matches what the part matches behind the first character."""
    plain: bool = False
    """Whether there is no difference, so that `later` is right at the start too; then `zero` is all or none."""


NOTHING = Part(ALWAYS, NEVER, EMPTY, plain=True)
"""The empty regex."""


def atom(piece: Piece) -> Part:
    """Return the part of a piece that takes at least a character and looks at nothing else."""
    return Part(0, piece, piece, plain=True)


def alternative(one: Part, other: Part) -> Part:
    """Return the part for `one|other`."""
    zero = one.zero | other.zero
    plain = one.plain and other.plain
    later = either(one.later, other.later)
    some = later if plain and not zero else either(one.some, other.some)
    return Part(zero, some, later, plain)


class Start:
    """What joins parts, given the prefix that stands before the start of every name."""

    def __init__(self, prefix: str) -> None:
        # At the start of the name a boundary is where a word character follows. What the broker looks at there is
        # the prefix's last character: if that is one of a word too, it sees a boundary exactly where there is none.
        # (RE2/J's word characters are ASCII.)
        word, other = Piece(r"\b", node="b"), Piece(r"\B", node="B")
        if re.search(r"[0-9A-Za-z_]\Z", prefix) is not None:
            word, other = other, word
        end = Piece("(?m:$)", node="$")
        word_or_end = Piece(f"(?:{word.text}|{end.text})", cost=3, node=Either(word.node, end.node))
        self._gates = {
            0: NEVER,
            ALWAYS: EMPTY,
            WORD: word,
            OTHER | NEWLINE: other,
            NEWLINE: end,
            WORD | NEWLINE: word_or_end,
        }

    def sequence(self, items: Sequence[Part]) -> Part:
        """Return the part for `items` one after the other."""
        runs: list[Part] = []
        for item in in_steps(items):
            if runs and _is_run(runs[-1]) and _is_run(item) and runs[-1].some.fold == item.some.fold:
                runs[-1] = atom(both(runs[-1].some, item.some))  # so that `(?i)` is written once
            else:
                runs.append(item)
        whole = NOTHING
        for run in in_steps(reversed(runs)):
            whole = self._joined(run, whole)
        return whole

    def repeated(self, part: Part, low: int, high: int | None) -> Part:
        """Return the part for `part{low,high}`; None is no upper bound."""
        if high == 0:
            return NOTHING
        zero = part.zero if low else ALWAYS
        later = times(part.later, low, high)
        if _is_run(part):
            return Part(zero, times(part.later, max(low, 1), high), later, plain=True)
        # Before the first turn that takes a character, turns may be used up that take none. Where that is always
        # possible, none has to follow; else only if the condition holds.
        more = None if high is None else high - 1
        least = 0 if part.zero == ALWAYS else max(low - 1, 0)
        some = both(part.some, times(part.later, least, more))
        if least:
            some = either(some, self._gated(part.zero, both(part.some, times(part.later, 0, more))))
        return Part(zero, some, later, part.plain)

    def _joined(self, first: Part, rest: Part) -> Part:
        zero = first.zero & rest.zero
        later = both(first.later, rest.later)
        plain = first.plain and (not first.zero or rest.plain)
        if plain and not zero:
            return Part(zero, later, later, plain)
        some = either(both(first.some, rest.later), self._gated(first.zero, rest.some))
        return Part(zero, some, later, plain)

    def _gated(self, kinds: int, piece: Piece) -> Piece:
        """Let `piece` match at the start only before these kinds of character."""
        return both(replace(self._gates[kinds], fold=piece.fold), piece)


def _is_run(part: Part) -> bool:
    """Whether the part is like an atom: one piece for both places."""
    return part.plain and not part.zero
