r"""Confine a tenant's regular expression, which the broker will evaluate over everybody's names, to its own names.

A consumer group of KIP-848 may subscribe by a regex that the broker matches against all topics of the cluster.
`confine` turns the tenant's regex R into P, so that P matches a physical name exactly when that name is the
tenant's prefix followed by a non-empty virtual name that R matches. For R = `^orders-[0-9]+$` P is

    __vt_acme_(?P<bifrost_5e6f72646572732d5b302d395d2b24>orders-[0-9]+$)

Nothing of the tenant's text is copied: R is parsed as RE2/J parses it, what is not understood is refused, and P is
printed anew from escaped characters and a few constructs, each closed, so no parenthesis, `\Q` or flag of R reaches
beyond its group. Captures and laziness, which no match depends on, are left out. The group's name holds R in
hexadecimal and costs the broker nothing; `original` reads it back for ConsumerGroupDescribe.

Where the name begins, R sees the start of the text and P sees the prefix. Each part of R is therefore translated twice:
`some`, what it matches at the start of the name with one character or more, and `later`, what it matches further on.
`^` is nothing at the start and can't match later; `\b` looks at the character before, which at the start is the
prefix's last, so there it is `\B` when that is a word character. What may be empty gives an alternative for each case:
`.*\borders` becomes `.+\borders|\Borders`.

RE2/J has no limit of its own: `((a{1000}){1000}){1000}` takes a broker's heap, and `(?i)` before U+1C80 never returns
(RE2/J 1.8 on Java 17), in the thread that serves all groups. Hence the limits below, and ASCII only under `(?i)`.

Which regexes (read in the classes of Kafka 4.3.1; all full matches, `com.google.re2j.Matcher.matches`):

* ConsumerGroupHeartbeat v1+ SubscribedTopicRegex: null is "unchanged" and empty is "none", not for this module.
* ListTransactions v2 TransactionalIdPattern (KIP-1152), over transactional IDs: null and empty mean "all", so the
  caller confines `(?s).*` instead.
* StreamsGroupHeartbeat SourceTopicRegex: never evaluated, a broker refuses any; confined, it still is refused.

Kafka answers a bad regex with INVALID_REGULAR_EXPRESSION and repeats it in the error text; so should who catches
`InvalidRegex`. Source: google/re2j 1.8, Parser, Simplify, Compiler and Machine.
"""

import re
from dataclasses import dataclass, replace
from functools import reduce

MAX_REGEX_BYTES = 4096
"""Longest regex of a tenant, in bytes of UTF-8: its copy in the group's name has twice as many."""
MAX_CONFINED_LENGTH = 16_384
"""Longest translation, in characters: with the group's name and the prefix it stays under the 32,767 of a string."""
MAX_PROGRAM = 4000
"""RE2/J instructions, counted from above: a name costs the broker instructions times characters (10 ms for the
longest, warm), and from 18,000 on its matcher overflows the stack [measured, Java 17]."""
MAX_NESTING = 50
"""Groups in groups: the parser here and RE2/J's compiler recurse; nobody nests that deep by hand."""
MAX_REPEAT = 1000
"""The largest count in `{n,m}` that RE2/J takes."""

_UNICODE_CLASS_COST = 50
"""A Unicode class is one instruction of hundreds of ranges: 1,000 of them in an alternation compile for 5 s."""
_MARK = "(?P<bifrost_"
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
_PERL_CLASS = re.compile(r"\\[dDsSwW]")
_POSIX_CLASS = re.compile(
    r"\[:\^?(?:alnum|alpha|ascii|blank|cntrl|digit|graph|lower|print|punct|space|upper|word|xdigit):\]"
)
_UNICODE_CLASS = re.compile(r"\\([pP])(?:\{(\^?)(\w+)\}|(\w))")
# Of the scripts only these have ASCII characters, which is all that a topic name is made of.
_UNICODE_NAMES = frozenset(
    [
        "Any",
        "Common",
        "Latin",
        "C",
        "Cc",
        "Cf",
        "Co",
        "Cs",
        "L",
        "Ll",
        "Lm",
        "Lo",
        "Lt",
        "Lu",
        "M",
        "Mc",
        "Me",
        "Mn",
        "N",
        "Nd",
        "Nl",
        "No",
        "P",
        "Pc",
        "Pd",
        "Pe",
        "Pf",
        "Pi",
        "Po",
        "Ps",
        "S",
        "Sc",
        "Sk",
        "Sm",
        "So",
        "Z",
        "Zl",
        "Zp",
        "Zs",
    ]
)


def confine(regex: str, prefix: str) -> str:
    """Return the physical regex that matches `prefix + name` for the non-empty names that `regex` matches, and
    nothing else.

    Args:
        regex: what the tenant sent, in RE2/J's syntax; may match nothing, then so does the result.
        prefix: what every physical name of the tenant begins with, not empty.
    Returns:
        Printable ASCII, under 32,767 characters with any prefix of a topic; equal for equal arguments.
    Raises:
        InvalidRegex: RE2/J would refuse `regex`, or it is beyond a limit of this module.
    """
    assert prefix
    try:
        encoded = regex.encode()
    except UnicodeEncodeError as error:
        raise InvalidRegex("a surrogate is no character", error.start) from error
    if len(encoded) > MAX_REGEX_BYTES:
        raise InvalidRegex(f"the regular expression is longer than {MAX_REGEX_BYTES} bytes")
    part = _Parser(regex, prefix).parse()
    return f"{_head(prefix)}{encoded.hex()}>{_unfolded(part.some).text})"


def original(physical_regex: str, prefix: str) -> str | None:
    """Return the regex of which `confine` made `physical_regex`, None when it was not made with this prefix."""
    head = _head(prefix)
    code = physical_regex[len(head) :].partition(">")[0]
    if not physical_regex.startswith(head) or not re.fullmatch("(?:[0-9a-f]{2})*", code):
        return None
    try:
        return bytes.fromhex(code).decode()
    except UnicodeDecodeError:
        return None


def _head(prefix: str) -> str:
    return "".join(_character(ord(char)) for char in prefix) + _MARK


class _Parser:
    """A reader of RE2/J's syntax that translates as it reads."""

    def __init__(self, text: str, prefix: str) -> None:
        self._text = text
        self._at = 0
        self._flags: frozenset[str] = frozenset()
        self._depth = 0
        self._names: set[str] = set()
        # RE2/J's word characters are ASCII.
        after_word = re.search("[0-9A-Za-z_]$", prefix) is not None
        word, other = (r"\B", r"\b") if after_word else (r"\b", r"\B")
        self._gates = {
            0: _NEVER,
            _ALWAYS: _EMPTY,
            _WORD: _Piece(word),
            _OTHER | _NEWLINE: _Piece(other),
            _NEWLINE: _Piece("(?m:$)"),
            _WORD | _NEWLINE: _Piece(f"(?:{word}|(?m:$))", cost=3),
        }

    def parse(self) -> _Part:
        part = self._alternation()
        if self._at < len(self._text):
            raise InvalidRegex("unbalanced )", self._at)
        return part

    def _gated(self, kinds: int, piece: _Piece) -> _Piece:
        """Let `piece` match at the start only before these kinds of character."""
        return _both(replace(self._gates[kinds], fold=piece.fold), piece)

    def _joined(self, rest: _Part, first: _Part) -> _Part:
        zero = first.zero & rest.zero
        later = _both(first.later, rest.later)
        plain = first.plain and (not first.zero or rest.plain)
        if plain and not zero:
            return _Part(zero, later, later, plain)
        some = _either(_both(first.some, rest.later), self._gated(first.zero, rest.some))
        return _Part(zero, some, later, plain)

    def _repeated(self, part: _Part, low: int, high: int | None) -> _Part:
        if high == 0:
            return _NOTHING
        zero = part.zero if low else _ALWAYS
        later = _times(part.later, low, high)
        if part.plain and not part.zero:
            return _Part(zero, _times(part.later, max(low, 1), high), later, plain=True)
        # The first turn that matches a character is the first of all, or, where a turn may match nothing at the
        # start, any of the `low` that must be; later turns are no longer at the start.
        more = None if high is None else high - 1
        least = 0 if part.zero == _ALWAYS else max(low - 1, 0)
        some = _both(part.some, _times(part.later, least, more))
        if least and part.zero:
            fewer = _both(part.some, _times(part.later, 0, None if more is None else more - 1))
            some = _either(some, self._gated(part.zero, fewer))
        return _Part(zero, some, later, part.plain)

    def _alternation(self) -> _Part:
        branches: list[_Part] = []
        items: list[_Part] = []
        is_repeated = False
        while self._at < len(self._text) and self._text[self._at] != ")":
            start = self._at
            if self._text[start] == "|":
                self._at += 1
                branches.append(reduce(self._joined, reversed(items), _NOTHING))
                items, is_repeated = [], False
            elif repetition := _REPETITION.match(self._text, start):
                self._at = repetition.end()
                low, high = _counts(repetition)
                if is_repeated or not items:
                    raise InvalidRegex("nested repetition" if items else "nothing to repeat", start)
                items[-1], is_repeated = self._repeated(items[-1], low, high), True
            else:
                items += self._items()
                is_repeated = False
        branches.append(reduce(self._joined, reversed(items), _NOTHING))
        return reduce(_alternative, branches)

    def _items(self) -> list[_Part]:
        """Read what follows up to a place where a repetition may stand; a `\\Q..\\E` or flags may be no item."""
        start = self._at
        char = self._text[start]
        if char == "(":
            return self._group()
        if char == "[":
            return [_atom(self._class())]
        if char == "\\":
            return self._escape()
        self._at += 1
        match char:
            case "^":
                later = self._piece("(?m:^)") if "m" in self._flags else _NEVER
                return [_Part(_ALWAYS, _NEVER, later)]
            case "$" if "m" in self._flags:
                return [_Part(_NEWLINE, _NEVER, self._piece("(?m:$)"))]
            case "$":
                return [_Part(0, _NEVER, self._piece("$"))]
            case ".":
                return [_atom(self._piece("(?s:.)" if "s" in self._flags else "."))]
            case _:
                return [self._literal(ord(char), start)]

    def _piece(self, text: str, cost: int = 1) -> _Piece:
        return _Piece(text, _ATOM, cost, fold="i" in self._flags)

    def _literal(self, code: int, start: int) -> _Part:
        self._require_foldable(code, code, start)
        return _atom(self._piece(_character(code)))

    def _require_foldable(self, low: int, high: int, start: int) -> None:
        # RE2/J walks the case variants of each, in a circle that for some of them is not one.
        is_everything = low <= ord("A") and high == _MAX_RUNE
        if "i" in self._flags and high > _MAX_ASCII and not is_everything:
            raise InvalidRegex("(?i) is for ASCII only", start)

    def _group(self) -> list[_Part]:
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
                raise InvalidRegex("the name of a group stands twice", start)
            self._names.add(named[1])
            self._at = named.end()
        elif self._text.startswith("(?", start):
            raise InvalidRegex("not RE2 syntax: a group (?", start)
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

    def _escape(self) -> list[_Part]:
        start = self._at
        if text := self._class_escape():
            return [_atom(self._piece(text, _cost(text)))]
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
            return [_Part(_ALWAYS, _NEVER, _NEVER)]
        # At the start nothing stands before: a boundary is where a word character follows. \z can't be there.
        zero = {"z": 0, "b": _WORD, "B": _OTHER | _NEWLINE}[code]
        return [_Part(zero, _NEVER, self._piece(f"\\{code}"))]

    def _class_escape(self) -> str | None:
        """Read a `\\d` or `\\pN` if one stands here, as well inside as outside of brackets."""
        if perl := _PERL_CLASS.match(self._text, self._at):
            self._at = perl.end()
            return perl[0]
        if not self._text.startswith((r"\p", r"\P"), self._at):
            return None
        unicode_class = _UNICODE_CLASS.match(self._text, self._at)
        if unicode_class is None or (unicode_class[3] or unicode_class[4]) not in _UNICODE_NAMES:
            raise InvalidRegex("not a Unicode category", self._at)
        self._at = unicode_class.end()
        is_negated = (unicode_class[1] == "P") != bool(unicode_class[2])
        return f"\\{'P' if is_negated else 'p'}{{{unicode_class[3] or unicode_class[4]}}}"

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

    def _class(self) -> _Piece:
        start = self._at
        self._at += 1
        opening = "["
        if self._text.startswith("^", self._at):
            self._at += 1
            opening = "[^"
        items: dict[str, None] = {}  # a set that keeps the order; twice the same only costs the broker time
        while not items or not self._text.startswith("]", self._at):
            if self._at >= len(self._text):
                raise InvalidRegex("unclosed [", start)
            items[self._class_item(start)] = None
        self._at += 1
        return self._piece(f"{opening}{''.join(items)}]", sum(map(_cost, items)) or 1)

    def _class_item(self, start: int) -> str:
        at = self._at
        # As in RE2/J, what looks like a POSIX class must be one, however far away its end is.
        if self._text.startswith("[:", at) and self._text.find(":]", at) >= 0:
            posix = _POSIX_CLASS.match(self._text, at)
            if posix is None:
                raise InvalidRegex("not a POSIX class", at)
            self._at = posix.end()
            return posix[0]
        if text := self._class_escape():
            return text
        low = high = self._class_character(start)
        if self._text.startswith("-", self._at) and not self._text.startswith("-]", self._at):
            self._at += 1
            high = self._class_character(start)
        if high < low:
            raise InvalidRegex("a range from high to low", at)
        self._require_foldable(low, high, at)
        ends = (low,) if low == high else (low, high)
        return "-".join(_character(code, plain="_") for code in ends)

    def _class_character(self, start: int) -> int:
        if self._at >= len(self._text):
            raise InvalidRegex("unclosed [", start)
        if self._text[self._at] == "\\":
            return self._escaped_character()
        self._at += 1
        return ord(self._text[self._at - 1])


def _cost(text: str) -> int:
    return _UNICODE_CLASS_COST if text.startswith((r"\p", r"\P")) else 1


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
