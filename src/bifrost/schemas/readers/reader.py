"""What every reader of a schema does."""

from typing import Final, Protocol

from bifrost.schemas.registered_schema import RegisteredSchema
from bifrost.schemas.wire_format import Payload

MAX_VALUES: Final = 1_000_000
"""Most values within one record, and MAX_RULE_VALUES where they are made as objects: its time and memory are then
bounded whatever its bytes say."""
MAX_RULE_VALUES: Final = 100_000

NO_BOUND: Final = 2**62
"""In place of a number of nanoseconds: it may take as long as it takes."""


class SchemaError(Exception):
    """A schema of the registry cannot be used. The text says why, for the operator."""


class TakesLong(Exception):
    """A payload may take longer than its caller wants to wait."""


class Reader(Protocol):
    """Reads payloads under one schema. It is pure, and may be used by several threads.

    How long a payload takes is estimated before it is read, by its size and what its schema demands; the estimates are
    high ones (`reading_costs.py`).
    """

    schema: RegisteredSchema
    """What it was made of."""
    names: frozenset[str]
    """The names of what the schema describes: a record's full name, a title, the messages of a file."""

    def check(self, payload: Payload, most_ns: int = NO_BOUND) -> None:
        """Check that a payload reads.

        Raises:
            Unreadable: it does not.
            TakesLong: it may take more than `most_ns` without a pause.
        """

    def value(self, payload: Payload, most_ns: int = NO_BOUND) -> object:
        """Return what a payload says, as numbers, texts, bytes, lists and dictionaries, for rules.

        Raises:
            Unreadable: it does not read, or has more than MAX_RULE_VALUES values.
            TakesLong: it may take more than `most_ns` without a pause.
        """
