"""Rules over the fields of a record, in the Common Expression Language (CEL).

`common-expression-language` binds the CEL of Rust (`cel`): compiled, without side effects, typed as CEL's
specification says, released often, Apache licence. An expression cannot loop but over lists and maps of the record.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import cel

from bifrost.schemas.readers.reader import SchemaError

NAMES = frozenset({"key", "value"})


class Check(NamedTuple):
    """A rule."""

    name: str
    program: Any


class SchemaChecks:
    """The rules of one filter."""

    def __init__(self, expressions: Sequence[tuple[str, str]]) -> None:
        """Compile expressions, each with its name.

        Raises:
            SchemaError: one is no CEL, or uses another variable than `key` and `value`.
        """
        self._checks = [Check(name, compiled(text)) for name, text in expressions]

    def broken(self, values: Mapping[str, object]) -> str | None:
        """Return why a record must not pass, in words without its content; None: it may.

        Args:
            values: `key` and `value`, as far as they were read under a schema.
        """
        for name, program in self._checks:
            try:
                found = program.execute(dict(values))
            except (KeyError, TypeError, ValueError, RuntimeError, OverflowError) as error:
                return f"rule {name} cannot be applied ({type(error).__name__})"
            if found is not True:
                return f"it breaks the rule {name}"
        return None


def compiled(text: str) -> Any:
    """Return the program of an expression.

    Raises:
        SchemaError: it is none.
    """
    try:
        program = cel.compile(text)
        foreign = sorted(set(program.variables()) - NAMES)
    except (ValueError, TypeError, RuntimeError) as error:
        raise SchemaError(f"{text[:80]!r} is no CEL: {str(error).splitlines()[0][:200]}") from None
    if foreign:
        raise SchemaError(f"{text[:80]!r} uses {foreign[0]}: there are key and value")
    return program
