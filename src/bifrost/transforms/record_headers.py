"""RecordHeaders: adds, removes and renames headers."""

from bifrost.config.records.filter_configs import FilterConfig
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import Columns
from bifrost.records.codec.memory import MemoryBudget
from bifrost.transforms.header_edit import REMOVED, edit_headers
from bifrost.transforms.record_transform import Direction, Known
from bifrost.transforms.transform_kind import Topic, TransformKind


class RecordHeaders:
    """Changes the headers of each record.

    A header that is removed goes each time it is there; one that is renamed stays at its place; those that are added
    stand behind the others. What is renamed is not removed, and what is added is neither.
    """

    def __init__(self, name: str, config: FilterConfig) -> None:
        """Prepare what `config` says; `name` is what the operator knows the transform by."""
        self._name = name
        self._texts = [one.to.encode() for one in config.rename]
        self._first = len(self._texts)
        self._changes = {one.key.encode(): index for index, one in enumerate(config.rename)}
        for key in config.remove:
            self._changes.setdefault(key.encode(), REMOVED)
        for added in config.add:
            self._texts += [added.key.encode(), added.value.encode()]

    @property
    def name(self) -> str:
        """What the operator knows it by."""
        return self._name

    def transform(
        self,
        batch: ClientBatch,
        columns: Columns,
        direction: Direction,
        known: Known,
        budget: MemoryBudget,
    ) -> Columns:
        """Return the records with other headers; see `RecordTransform`."""
        return edit_headers(columns, self._changes, self._texts, self._first, budget)


def _make(name: str, config: FilterConfig, topic: Topic) -> RecordHeaders:
    return RecordHeaders(name, config)


KIND = TransformKind(frozenset(Direction), _make)
