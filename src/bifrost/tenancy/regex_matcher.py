"""Matches topic names with a regex in the gateway as a broker would, and counts the steps.

The parser (topic_regex.py) builds a tree of nodes beside the text that it prints. A `Matcher` makes a program of the
tree and follows all ways through it at once (Thompson's construction), as RE2/J does. What follows from a set of places
and a character is remembered, so a list of names costs little more than a look-up for each character.

Only for legal names of topics: they are ASCII and have no line breaks, so `$` and `(?m:$)` are the same, and `(?m:^)`
matches nowhere behind a prefix.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from bifrost.tenancy.regex_characters import WORD
from bifrost.wire.steps import in_steps

MAX_STEPS = 50_000
"""Steps that matching one list may take: characters read, and places of the program visited for what is not remembered.
About 10 ms at most on a fast machine, 34 on a slow one, with pauses. A usual pattern needs 2,000 for 100 names of 20
characters."""
_ROUNDS_OF_A_NAME = 8
"""A name of 249 characters takes some 15 us where all that follows is remembered."""

Assertion = Literal["$", "b", "B"]
"""The end, a boundary of a word, and a place that is not a boundary."""


@dataclass(frozen=True, slots=True)
class Then:
    """One node after the other."""

    first: "Node"
    rest: "Node"


@dataclass(frozen=True, slots=True)
class Either:
    """One of two nodes."""

    one: "Node"
    other: "Node"


@dataclass(frozen=True, slots=True)
class Times:
    """A node several times; None is no upper bound."""

    node: "Node"
    low: int
    high: int | None


Node = int | Assertion | Then | Either | Times | None
"""A set of characters (see regex_characters.py), what stands between two, or nodes put together. None is the empty
regex."""


class TooManySteps(Exception):
    """Matching a list would take longer than it may."""


def matching(node: Node, names: Iterable[str], before: str) -> list[str]:
    """Return the names that a regex matches wholly, in their order.

    Args:
        node: the regex.
        names: legal names of topics.
        before: the character that stands before each name at the broker, the last of the prefix.
    Raises:
        TooManySteps: it takes more than MAX_STEPS.
    """
    matcher = Matcher(node, before)
    return [name for name in in_steps(names, _ROUNDS_OF_A_NAME) if matcher.matches(name)]


_ACCEPT = 0
"""The place at which the regex has matched."""

_Op = tuple[int | Assertion, int] | tuple[None, tuple[int, ...]]
"""A set of characters or an assertion and the place behind it; or places that all follow."""


class Matcher:
    """One regex, with the remembered results of its matching."""

    def __init__(self, node: Node, before: str, max_steps: int = MAX_STEPS) -> None:
        self._program = _compiled(node)
        self._steps, self._max_steps = 0, max_steps
        self._states: dict[tuple[frozenset[int], bool], int] = {}
        self._places: list[tuple[frozenset[int], bool]] = []
        self._transitions: dict[int, int] = {}
        self._accepting: dict[int, bool] = {}
        self._start = self._state(frozenset([1]), _is_word(before))

    def matches(self, name: str) -> bool:
        """Whether the regex matches all of the name.

        Raises:
            TooManySteps: this name and those before it take more than `max_steps`.
        """
        state = self._start
        self._count(len(name))
        for char in name:
            key = state << 7 | ord(char)
            known = self._transitions.get(key)
            if known is None:
                known = self._transitions[key] = self._after(state, char)
            state = known
        if state not in self._accepting:
            self._accepting[state] = _ACCEPT in self._reached(state, "")
        return self._accepting[state]

    def _after(self, state: int, char: str) -> int:
        bit = 1 << ord(char)
        places = set()
        for place in in_steps(self._reached(state, char)):
            what, following = self._program[place]
            if isinstance(what, int) and isinstance(following, int) and what & bit:
                places.add(following)
        return self._state(frozenset(places), _is_word(char))

    def _reached(self, state: int, char: str) -> set[int]:
        """Return all places that are reached before the next character, which is empty at the end of the name."""
        places, is_word = self._places[state]
        is_boundary = is_word != _is_word(char)
        holds = {"$": not char, "b": is_boundary, "B": not is_boundary}
        reached, waiting = set(places), list(places)
        for at in in_steps(waiting):
            what, following = self._program[at]
            if what is None or (isinstance(what, str) and holds[what]):
                for place in following if isinstance(following, tuple) else (following,):
                    if place not in reached:
                        reached.add(place)
                        waiting.append(place)
        self._count(len(reached))
        return reached

    def _state(self, places: frozenset[int], is_word: bool) -> int:
        state = self._states.setdefault((places, is_word), len(self._places))
        if state == len(self._places):
            self._places.append((places, is_word))
        return state

    def _count(self, steps: int) -> None:
        self._steps += steps
        if self._steps > self._max_steps:
            raise TooManySteps


def _is_word(char: str) -> bool:
    return bool(char) and bool(WORD >> ord(char) & 1)


def _compiled(node: Node) -> list[_Op]:
    """Return the program of a regex: it begins at place 1 and has matched at place 0."""
    program: list[_Op] = [(None, ()), (None, ())]

    def new() -> int:
        program.append((None, ()))
        return len(program) - 1

    # Trees are as deep as a pattern is long, so no recursion: what is still to be written, from where, to where.
    waiting: list[tuple[Node, int, int]] = [(node, 1, _ACCEPT)]
    for node, start, following in in_steps(_taken(waiting)):
        place = start
        match node:
            case Then(first, rest):
                middle = new()
                waiting += [(first, place, middle), (rest, middle, following)]
            case Either(one, other):
                ways = new(), new()
                program[place] = None, ways
                waiting += [(one, ways[0], following), (other, ways[1], following)]
            case Times(repeated, low, high):
                for _ in in_steps(range(low)):
                    behind = new()
                    waiting.append((repeated, place, behind))
                    place = behind
                for _ in in_steps(range((high or low) - low)):
                    body, behind = new(), new()
                    program[place] = None, (body, following)
                    waiting.append((repeated, body, behind))
                    place = behind
                if high is None:
                    body = new()
                    program[place] = None, (body, following)
                    waiting.append((repeated, body, place))
                else:
                    program[place] = None, (following,)
            case None:
                program[place] = None, (following,)
            case int() | "$" | "b" | "B":
                program[place] = node, following
    return program


def _taken(waiting: list[tuple[Node, int, int]]) -> Iterator[tuple[Node, int, int]]:
    """Take what is last in a list, until nothing is."""
    while waiting:
        yield waiting.pop()
