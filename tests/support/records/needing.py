"""A transform that needs something from outside, and sources of a test's own."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from bifrost.config.fields.limits import Limits
from bifrost.config.records.record_filter import RecordFilter
from bifrost.filters.records.sources import RefusedRecords, Upstream
from bifrost.filters.steps import RecordNeeds
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import BytesColumn, Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.record_transform import Direction, Failure, Key, Known, Needs, Outcome
from bifrost.wire.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class Text:
    """A need: the text of this name."""

    source: ClassVar[str] = "texts"
    name: str


class NeedsText:
    """Replaces each value by the text that it names; the batch is refused where the first has none."""

    name = "texts"

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Outcome:
        """See `RecordTransform`."""
        keys = [Text((value or b"").decode()) for value in columns.values]
        found = [known.get(key) for key in keys]
        missing = frozenset(key for key, text in zip(keys, found, strict=True) if text is None)
        if missing:
            return Needs(missing)
        for text in found:
            if isinstance(text, Failure):
                return text.rejected(direction, ErrorCode.INVALID_RECORD)
        return columns.with_values(BytesColumn.of(text for text in found if isinstance(text, bytes)))


@dataclass
class AtHand:
    """Sources that have these answers at hand, and note what else they are asked."""

    answers: Mapping[Key, object]
    asked: list[RecordNeeds] = field(default_factory=list)

    def cached(self, key: Key) -> object | None:
        """Return the answer."""
        return self.answers.get(key)

    async def meet(self, tenant: str, need: RecordNeeds, upstream: Upstream) -> RecordNeeds:
        """Note the need."""
        self.asked.append(need)
        return need

    def tell_refused(self, refused: RefusedRecords) -> None:
        """Do nothing."""

    def configure(self, filters: Collection[RecordFilter]) -> None:
        """Do nothing."""

    def limit(self, limits: Limits) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""
