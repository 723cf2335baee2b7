"""Records that take long to read under their schemas: a process of their own reads them, not the one with connections.

SchemaValidator ──ReadRecords──▶ source `readings` ──▶ process ──▶ why each is not valid ──▶ SchemaValidator
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bifrost.schemas.record_check import ReadPart

SOURCE = "readings"

AT_ONCE_NS = 1_000_000
"""What may take longer than a millisecond, by a high estimate, is read elsewhere: so long others wait, beside the half
millisecond of work after which there is a pause."""


class ReadSpec(NamedTuple):
    """What reads, and its bounds: one process for each."""

    tenant: str
    filter: str
    """What the operator knows the filter by."""
    max_payload_bytes: int
    checks: tuple[tuple[str, str], ...]
    """The rules: name and expression."""


@dataclass(frozen=True, slots=True)
class LargeRecord:
    """A record that takes long."""

    index: int
    """Of the record in its batch."""
    parts: tuple[ReadPart, ...]


class GivenRecords:
    """What is to be read of a batch, and what is known of its other records. It is let go of when it was read."""

    __slots__ = ("large", "reasons")

    def __init__(self, large: Sequence[LargeRecord], reasons: Mapping[int, str]) -> None:
        self.large: Sequence[LargeRecord] | None = large
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class RecordsToRead:
    """A need: why records of the batch with this digest are not valid; answered by `ReadRecords`."""

    source: ClassVar[str] = SOURCE
    spec: ReadSpec
    topic: str
    digest: bytes
    given: GivenRecords = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ReadRecords:
    """The answer when all records of a batch were read, or as many as the client is told of."""

    reasons: Mapping[int, str]
    """Why records are not valid, by their index."""
