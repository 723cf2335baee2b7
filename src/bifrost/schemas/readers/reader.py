"""What every reader of a schema does."""

from typing import Final, Protocol

from bifrost.schemas.wire_format import Payload

MAX_VALUES: Final = 1_000_000
"""Most values within one record, and MAX_RULE_VALUES where they are made as objects: its time and memory are then
bounded whatever its bytes say."""
MAX_RULE_VALUES: Final = 100_000


class SchemaError(Exception):
    """A schema of the registry cannot be used. The text says why, for the operator."""


class Reader(Protocol):
    """Reads payloads under one schema. It is pure, and may be used by several threads."""

    names: frozenset[str]
    """The names of what the schema describes: a record's full name, a title, the messages of a file."""

    def check(self, payload: Payload) -> None:
        """Check that a payload reads.

        Raises:
            Unreadable: it does not.
        """

    def value(self, payload: Payload) -> object:
        """Return what a payload says, as numbers, texts, bytes, lists and dictionaries, for rules.

        Raises:
            Unreadable: it does not read, or has more than MAX_RULE_VALUES values.
        """
