"""Remembers what a registry said about schemas, bounded in number and time."""

from collections import OrderedDict

from bifrost.schemas.schema_key import SchemaAnswer, SchemaKey

MAX_STALE_MS = 3_600_000
"""How long an answer still serves after its time when the registry is away: what a schema says never changes, only
whose it is."""


class SchemaCache:
    """Answers about schemas: those that let records pass apart from the others, so that these push none of them out."""

    def __init__(self, max_answers: int) -> None:
        """Begin without any; `max_answers` is how many of each are kept."""
        self._max = max_answers
        self._good: OrderedDict[SchemaKey, tuple[int, object]] = OrderedDict()
        self._bad: OrderedDict[SchemaKey, tuple[int, object]] = OrderedDict()

    def get(self, key: SchemaKey, now_ms: int) -> object | None:
        """Return the answer to a key, if there is one that serves."""
        for kept in (self._good, self._bad):
            found = kept.get(key)
            if found is not None and now_ms < found[0]:
                kept.move_to_end(key)
                return found[1]
        return None

    def stale(self, key: SchemaKey, now_ms: int) -> object | None:
        """Return the answer that let records pass and may serve again while the registry is away."""
        found = self._good.get(key)
        return None if found is None or now_ms >= found[0] + MAX_STALE_MS else found[1]

    def put(self, key: SchemaKey, answer: object, until_ms: int) -> None:
        """Keep an answer until then; it takes the place of the one before."""
        is_good = isinstance(answer, SchemaAnswer) and answer.reason is None
        if isinstance(answer, SchemaAnswer) and not is_good:
            self._good.pop(key, None)
        kept = self._good if is_good else self._bad
        self._bad.pop(key, None)
        kept[key] = (until_ms, answer)
        kept.move_to_end(key)
        while len(kept) > self._max:
            kept.popitem(last=False)

    def __len__(self) -> int:
        return len(self._good) + len(self._bad)
