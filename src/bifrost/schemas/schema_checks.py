"""Rules over the fields of a record, in the Common Expression Language (CEL).

`common-expression-language` binds the CEL of Rust (`cel`): compiled, without side effects, typed as CEL's
specification says, released often, Apache licence. An expression cannot loop but over lists and maps of the record.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import cel

from bifrost.schemas.readers.reader import NO_BOUND, SchemaError, TakesLong
from bifrost.schemas.reading_costs import CEL_CHECK, CEL_TEXT, CEL_VALUE

NAMES = frozenset({"key", "value"})


_LOOPS = re.compile(r"\.(?:all|exists|exists_one|map|filter|matches)\s*\(|\bin\b")
"""What makes a rule look at all values once for each of some: each such word in it may multiply the time."""


_BOUND = re.compile(r"\.(?:all|exists|exists_one|map|filter)\s*\(\s*(\w+)\s*,")
"""Where a loop names the variable that it goes through a list or map with."""


_WITH_PARTS = (str, bytes, dict, list)
"""What may count for more than one value. Readers make no other objects with parts."""


class Check(NamedTuple):
    """A rule."""

    name: str
    program: Any
    loops: int
    """How often the number of values may multiply its time."""


class SchemaChecks:
    """The rules of one filter."""

    def __init__(self, expressions: Sequence[tuple[str, str]]) -> None:
        """Compile expressions, each with its name.

        Raises:
            SchemaError: one is no CEL, or uses another variable than `key` and `value`.
        """
        self._checks = [Check(name, compiled(text), len(_LOOPS.findall(text))) for name, text in expressions]

    def broken(self, values: Mapping[str, object], most_ns: int = NO_BOUND) -> str | None:
        """Return why a record must not pass, in words without its content; None: it may.

        Args:
            values: `key` and `value`, as far as they were read under a schema.
            most_ns: how long it may take by estimate, in nanoseconds.
        Raises:
            TakesLong: it may take longer.
        """
        if most_ns < NO_BOUND:
            self._bound(values, most_ns)
        for name, program, _ in self._checks:
            try:
                found = program.execute(dict(values))
            except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
                return f"rule {name} cannot be applied ({type(error).__name__})"
            if found is not True:
                return f"it breaks the rule {name}"
        return None

    def _bound(self, values: Mapping[str, object], most_ns: int) -> None:
        """Raise TakesLong where the rules may take longer."""
        count = _Counted(most_ns // CEL_VALUE).of(dict(values))
        cost_ns = sum(CEL_CHECK + CEL_VALUE * count ** (1 + one.loops) for one in self._checks)
        if cost_ns > most_ns:
            raise TakesLong


class _Counted:
    """Counts values, and long texts as several, up to a bound."""

    def __init__(self, most: int) -> None:
        self._left = most

    def of(self, value: object) -> int:
        """Return how many there are in a value, with itself.

        Raises:
            TakesLong: they are more than the bound. A list or an object says so before it is looked through.
        """
        return self._below(value, self._take(1))

    def _below(self, value: object, found: int) -> int:
        if isinstance(value, str | bytes):
            return found + self._take(len(value) // CEL_TEXT)
        if isinstance(value, dict | list):
            found += self._take(len(value))
            below = value.values() if isinstance(value, dict) else value
            found += sum(self._below(one, 0) for one in below if isinstance(one, _WITH_PARTS))
        return found

    def _take(self, count: int) -> int:
        self._left -= count
        if self._left < 0:
            raise TakesLong
        return count


def compiled(text: str) -> Any:
    """Return the program of an expression.

    Raises:
        SchemaError: it is none.
    """
    try:
        program = cel.compile(text)
        foreign = sorted(set(program.variables()) - NAMES - set(_BOUND.findall(text)))
    except (ValueError, TypeError, RuntimeError) as error:
        raise SchemaError(f"{text[:80]!r} is no CEL: {str(error).splitlines()[0][:200]}") from None
    if foreign:
        raise SchemaError(f"{text[:80]!r} uses {foreign[0]}: there are key and value")
    return program
