r"""Confines a tenant's regular expression, which the broker will evaluate over the names of all tenants, to its own.

A consumer group of KIP-848 may subscribe by a regex that the broker matches against all topics of the cluster.
`confine` turns the tenant's regex R into P, so that P matches a physical name exactly when that name is the
tenant's prefix followed by a non-empty virtual name that R matches. For R = `^orders-[0-9]+$` P is

    __vt_acme_(?P<bifrost_5e6f72646572732d5b302d395d2b24>orders-[0-9]+$)

The tenant's text is never copied: R is parsed as RE2/J parses it, constructs that the parser does not know are refused,
and P is printed from escaped characters and a few constructs, each closed, so no parenthesis, `\Q` or flag of R reaches
beyond its group. The group's name holds R in hexadecimal; `original` reads it back for ConsumerGroupDescribe.

Where the name begins, R sees the start of a text and P sees the prefix. So each part of R is translated twice, for
the start of the name and for behind it (`regex_parts`): `^` is nothing at the start and never matches behind it; `\b`
looks at the character before, which at the start is the prefix's last, so there it becomes `\B` where that is a word
character. A part that may be empty gives both forms: `.*\borders` becomes `.+\borders|\Borders`.

With a list of topics, others may have the prefix that are hidden from the tenant. RE2 has no intersection,
so R is matched here with the names of the list (`regex_matcher`), and P lists those that were found.

RE2/J has no limits: `((a{1000}){1000}){1000}` takes the broker's heap, and `(?i)` before a U+1C80 never returns (RE2/J
1.8, Java 17), in the thread that serves all groups. Hence limits here, and only ASCII under `(?i)`.

Which regexes there are, as read in the classes of Kafka 4.3.1; all are full matches (`Matcher.matches` of RE2/J):

* ConsumerGroupHeartbeat v1+ SubscribedTopicRegex. Null is "unchanged" and empty is "none": neither is for `confine`.
* ListTransactions v2 TransactionalIdPattern (KIP-1152), over transactional IDs, whatever their characters. Null and
  empty mean "all"; who wants the broker to leave the others out confines `(?s).*`.
* StreamsGroupHeartbeat SourceTopicRegex is never evaluated: a broker refuses any. Confined, it is refused all the same.
Kafka answers an invalid regex with INVALID_REGULAR_EXPRESSION and the parser's words. Source: google/re2j 1.8, Parser.
"""

import re
from collections.abc import Callable, Iterable
from functools import reduce
from itertools import repeat
from operator import or_

from bifrost.tenancy.invalid_regex import InvalidRegex
from bifrost.tenancy.regex_characters import ASCII, folded, named, negated, span
from bifrost.tenancy.regex_matcher import Assertion, Node, TooManySteps, matching
from bifrost.tenancy.regex_parts import (
    ALWAYS,
    ATOM,
    NEVER,
    NEWLINE,
    OTHER,
    WORD,
    Part,
    Piece,
    Start,
    alternative,
    atom,
    character,
    listed,
    unfolded,
)
from bifrost.wire.steps import in_steps

__all__ = ["InvalidRegex", "confine", "original", "parsed"]

MAX_REGEX_BYTES = 4096
"""Longest regex of a tenant, in bytes of UTF-8: its copy in the group's name has twice as many."""
MAX_NESTING = 50
"""Groups in groups: the parser here and RE2/J's compiler recurse; people do not nest that deep."""
MAX_REPEAT = 1000
"""The largest count in `{n,m}` that RE2/J takes."""
UNICODE_CLASS_COST = 50
"""What `\\pL` costs, in instructions: it is one with hundreds of ranges; `\\pL|` 1,000 times compiles for 5 s."""

_MARK = "(?P<bifrost_"
_WORD_AT_END = re.compile(r"[0-9A-Za-z_]\Z")
_MAX_ASCII, _MAX_RUNE = 0x7F, 0x10FFFF
_REPETITION = re.compile(r"(?:[*+?]|\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\})\??")
_FLAGS = re.compile(r"\(\?([imsU]*)(?:-([imsU]+))?([:)])")
_NAMED = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_ESCAPE = re.compile(
    r"\\(?:(?P<oct>[1-7][0-7]{1,2}|0[0-7]{0,2})|x(?:(?P<hex>[0-9A-Fa-f]{2})|\{(?P<code>[0-9A-Fa-f]+)\})"
    r"|(?P<control>[afnrtv])|(?P<itself>[^0-9A-Za-z]))",
    re.DOTALL,
)
_CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_ASSERTIONS: dict[str, tuple[int, Assertion]] = {
    "z": (0, "$"),
    "b": (WORD, "b"),
    "B": (OTHER | NEWLINE, "B"),
}
"""What matches between two characters: before which the start of a name is such a place, and the matcher's node."""
_PERL_CLASS = re.compile(r"\\[dDsSwW]")
_POSIX_CLASS = re.compile(
    r"\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]"
)
# Every general category that RE2/J knows; of the scripts those with ASCII characters, which is all a topic's name has.
_UNICODE_CLASS = re.compile(
    r"\\([pP])(?:\{(\^)?(Any|Common|Latin|C[cfos]?|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)\}"
    r"|([CLMNPSZ]))"
)


def confine(
    regex: str,
    prefix: str,
    names: Iterable[str] | None = None,
    *,
    tail_of: Callable[[str], str] = str,
    written: str | None = None,
    begins_with_word: bool = False,
) -> str:
    """Return the regex that matches `prefix + name` for the non-empty names that `regex` matches, and nothing else.

    Args:
        regex: what the tenant sent, in RE2/J's syntax. If it matches no name, neither does the result.
        prefix: what every physical name of the tenant begins with, not empty.
        names: the only names there are, legal ones of topics; None when any name may be. RE2 has no intersection, so
            they are matched here, and the result lists those that were found.
        tail_of: returns what stands behind the prefix for one of `names`; by default the name.
        written: what `original` is to return; None: `regex`.
        begins_with_word: whether only names match that begin with a letter, a digit or `_`.
    Returns:
        Printable ASCII, under 32,767 characters (a Kafka string) with any prefix of a topic.
    Raises:
        InvalidRegex: RE2/J would refuse `regex`, or it is beyond a limit, with `names` of steps as well.
    """
    assert prefix, "an empty prefix confines nothing"
    try:
        encoded = (regex if written is None else written).encode()
    except UnicodeEncodeError as error:
        raise InvalidRegex("a lone surrogate is no character", error.start) from error
    if len(encoded) > MAX_REGEX_BYTES:
        raise InvalidRegex(f"longer than {MAX_REGEX_BYTES} bytes")
    some = parsed(regex, prefix)
    text = unfolded(some).text if names is None else _alternatives(some, names, prefix, tail_of)
    # Between two characters of words there is no boundary.
    bound = (r"\B" if _WORD_AT_END.search(prefix) else r"\b") if begins_with_word else ""
    return f"{_printed(prefix)}{bound}{_MARK}{encoded.hex()}>{text})"


def parsed(regex: str, prefix: str) -> Piece:
    """Return what a regex matches behind a prefix, as text and for the matcher; it raises what `confine` raises."""
    return _Parser(regex, Start(prefix)).parse().some


def _alternatives(some: Piece, names: Iterable[str], prefix: str, tail_of: Callable[[str], str]) -> str:
    """Return a regex for those of the names that `some` matches."""
    try:
        found = matching(some.node, sorted(names), prefix[-1])
    except TooManySteps as error:
        raise InvalidRegex("too much to match with the list of topics: use a simpler pattern") from error
    try:
        return listed(sorted(tail_of(one) for one in in_steps(found))).text
    except InvalidRegex as error:
        reason = f"matches {len(found)} topics, more than can be listed: use a narrower pattern"
        raise InvalidRegex(reason) from error


def original(physical_regex: str, prefix: str) -> str | None:
    """Return the regex of which `confine` made the other, with this prefix or a longer one that begins with it."""
    start = _printed(prefix)
    before, _, after = physical_regex.partition(_MARK)
    code, end, _ = after.partition(">")
    is_confined = before.startswith(start) and physical_regex.endswith(")") and end
    if not is_confined or re.fullmatch("(?:[0-9a-f]{2})*", code) is None:
        return None
    try:
        return bytes.fromhex(code).decode()
    except UnicodeDecodeError:
        return None


def _printed(prefix: str) -> str:
    return "".join(character(ord(char)) for char in prefix)


class _Parser:
    """A reader of RE2/J's syntax that translates as it reads."""

    def __init__(self, text: str, start: Start) -> None:
        self._text = text
        self._at = 0
        self._start = start
        self._flags: frozenset[str] = frozenset()
        self._depth = 0
        self._names: set[str] = set()

    def parse(self) -> Part:
        part = self._alternation()
        if self._at < len(self._text):
            raise InvalidRegex("unbalanced )", self._at)
        return part

    def _alternation(self) -> Part:
        branches: list[Part] = []
        items: list[Part] = []
        is_repeated = False
        for _ in in_steps(repeat(None)):
            if self._at == len(self._text) or self._text[self._at] == ")":
                break
            start = self._at
            if self._text[start] == "|":
                self._at += 1
                branches.append(self._start.sequence(items))
                items, is_repeated = [], False
            elif repetition := _REPETITION.match(self._text, start):
                self._at = repetition.end()
                low, high = _counts(repetition)
                if is_repeated or not items:
                    raise InvalidRegex("nested repetition" if items else "nothing to repeat", start)
                items[-1], is_repeated = self._start.repeated(items[-1], low, high), True
            else:
                items += self._items()
                # A brace that opens no repetition is a character, but RE2/J does not allow it to be repeated.
                is_repeated = self._text[start] == "{"
        branches.append(self._start.sequence(items))
        return reduce(alternative, branches)

    def _items(self) -> list[Part]:
        """Read up to the next place where a repetition may stand; flags are no item, `\\Q..\\E` is many or none."""
        start = self._at
        char = self._text[start]
        if char == "(":
            return self._group()
        if char == "[":
            return [atom(self._class())]
        if char == "\\":
            return self._escape()
        self._at += 1
        match char:
            case "^":
                later = self._piece("(?m:^)", 0) if "m" in self._flags else NEVER
                return [Part(ALWAYS, NEVER, later)]
            case "$" if "m" in self._flags:
                return [Part(NEWLINE, NEVER, self._piece("(?m:$)", "$"))]
            case "$":
                return [Part(0, NEVER, self._piece("$", "$"))]
            case ".":
                return [atom(self._piece("(?s:.)" if "s" in self._flags else ".", ASCII))]
            case _:
                return [self._literal(ord(char), start)]

    def _piece(self, text: str, node: Node, cost: int = 1) -> Piece:
        return Piece(text, ATOM, cost, "i" in self._flags, node)

    def _span(self, low: int, high: int) -> int:
        return folded(span(low, high)) if "i" in self._flags else span(low, high)

    def _literal(self, code: int, start: int) -> Part:
        self._require_foldable(code, code, start)
        return atom(self._piece(character(code), self._span(code, code)))

    def _require_foldable(self, low: int, high: int, start: int) -> None:
        # RE2/J walks the case variants of each, in a circle that for some of them is not one.
        is_everything = low <= ord("A") and high == _MAX_RUNE
        if "i" in self._flags and high > _MAX_ASCII and not is_everything:
            raise InvalidRegex("not ASCII under (?i)", start)

    def _group(self) -> list[Part]:
        start = self._at
        outer = self._flags
        if flags := _FLAGS.match(self._text, start):
            on, off, end = flags.groups(default="")
            self._at = flags.end()
            self._flags = (outer | set(on)) - set(off)
            if end == ")":
                return []
        elif named := _NAMED.match(self._text, start):
            if named[1] in self._names:
                raise InvalidRegex("two groups of one name", start)
            self._names.add(named[1])
            self._at = named.end()
        elif self._text.startswith("(?", start):
            raise InvalidRegex("no such group in RE2", start)
        else:
            self._at += 1
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise InvalidRegex(f"more than {MAX_NESTING} groups in groups", start)
        part = self._alternation()
        if self._at == len(self._text):
            raise InvalidRegex("unclosed (", start)
        self._at += 1
        self._depth -= 1
        self._flags = outer
        return [part]

    def _escape(self) -> list[Part]:
        start = self._at
        if text := self._class_escape():
            return [atom(self._piece(text, named(text, "i" in self._flags), 1 + _cost(text)))]
        code = self._text[start + 1 : start + 2]
        if code not in ("A", "z", "b", "B", "Q"):
            return [self._literal(self._escaped_character(), start)]
        self._at = start + 2
        if code == "Q":
            end = self._text.find(r"\E", self._at)
            quoted = self._text[self._at : end if end >= 0 else None]
            self._at = end + 2 if end >= 0 else len(self._text)
            return [self._literal(ord(char), start) for char in quoted]
        if code == "A":
            return [Part(ALWAYS, NEVER, NEVER)]
        # At the start nothing stands before: a boundary is where a word character follows. \z can't be there.
        zero, node = _ASSERTIONS[code]
        return [Part(zero, NEVER, self._piece(f"\\{code}", node))]

    def _class_escape(self) -> str | None:
        """Read a `\\d` or `\\pN` if one stands here, as well inside as outside of brackets."""
        if perl := _PERL_CLASS.match(self._text, self._at):
            self._at = perl.end()
            return perl[0]
        if not self._text.startswith((r"\p", r"\P"), self._at):
            return None
        unicode_class = _UNICODE_CLASS.match(self._text, self._at)
        if unicode_class is None:
            raise InvalidRegex("not a Unicode category", self._at)
        self._at = unicode_class.end()
        letter, caret, name, initial = unicode_class.groups()
        is_negated = (letter == "P") != bool(caret)
        return f"\\{'P' if is_negated else 'p'}{{{name or initial}}}"

    def _escaped_character(self) -> int:
        start = self._at
        escape = _ESCAPE.match(self._text, start)
        if escape is None:
            is_last = start + 1 == len(self._text)
            raise InvalidRegex("trailing backslash" if is_last else "invalid escape", start)
        self._at = escape.end()
        if escape["itself"]:
            return ord(escape["itself"])
        if escape["control"]:
            return _CONTROLS[escape["control"]]
        code = int(escape["oct"], 8) if escape["oct"] else int(escape["hex"] or escape["code"], 16)
        if code > _MAX_RUNE or 0xD800 <= code < 0xE000:
            raise InvalidRegex("not a Unicode character", start)
        return code

    def _class(self) -> Piece:
        start = self._at
        self._at += 1
        opening = "["
        if self._text.startswith("^", self._at):
            self._at += 1
            opening = "[^"
        items: dict[str, int] = {}  # a set that keeps the order; twice the same only costs the broker time
        for _ in in_steps(repeat(None)):
            if items and self._text.startswith("]", self._at):
                break
            if self._at >= len(self._text):
                raise InvalidRegex("unclosed [", start)
            text, found = self._class_item(start)
            items[text] = found
        self._at += 1
        characters = reduce(or_, items.values())
        if opening == "[^":
            characters = negated(characters)
        return self._piece(f"{opening}{''.join(items)}]", characters, 1 + sum(map(_cost, items)))

    def _class_item(self, start: int) -> tuple[str, int]:
        """Return one item as it is printed, and its characters."""
        at = self._at
        # As in RE2/J, what looks like a POSIX class must be one, however far away its end is.
        if self._text.startswith("[:", at) and self._text.find(":]", at) >= 0:
            posix = _POSIX_CLASS.match(self._text, at)
            if posix is None:
                raise InvalidRegex("not a POSIX class", at)
            self._at = posix.end()
            return posix[0], named(posix[0], "i" in self._flags)
        if text := self._class_escape():
            return text, named(text, "i" in self._flags)
        low = high = self._class_character(start)
        if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
            self._at += 1
            high = self._class_character(start)
        if high < low:
            raise InvalidRegex("a range from high to low", at)
        self._require_foldable(low, high, at)
        ends = (low,) if low == high else (low, high)
        return "-".join(character(code, plain="_") for code in ends), self._span(low, high)

    def _class_character(self, start: int) -> int:
        if self._at >= len(self._text):
            raise InvalidRegex("unclosed [", start)
        if self._text[self._at] == "\\":
            return self._escaped_character()
        self._at += 1
        return ord(self._text[self._at - 1])


def _cost(text: str) -> int:
    return UNICODE_CLASS_COST if text.startswith((r"\p", r"\P")) else 0


def _counts(repetition: re.Match[str]) -> tuple[int, int | None]:
    """Give the bounds of a repetition, None for no upper one."""
    low, comma, high = repetition.groups()
    if low is None:
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[repetition[0][0]]
    least = int(low)
    most = least if not comma else int(high) if high else None
    if least > MAX_REPEAT or (most is not None and not least <= most <= MAX_REPEAT):
        raise InvalidRegex(f"not a count up to {MAX_REPEAT}", repetition.start())
    return least, most
