"""Where transforms get what they need from outside: a source for each kind of `Key`, made when a filter first needs it.

What a source has at hand (`cached`) a transform gets at once. For anything else its message waits (`RecordNeeds`), and
the program, which alone does I/O, asks the source. The sources themselves are in the gateway (gateway/sources/).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from bifrost.config.fields.limits import Limits
    from bifrost.config.records.record_filter import RecordFilter
    from bifrost.filters.steps import RecordNeeds
    from bifrost.transforms.record_transform import Key
    from bifrost.wire.error_codes import ErrorCode


class RefusedRecords(NamedTuple):
    """Records of a partition that do not reach a consumer."""

    tenant: str
    topic: str
    """As the client calls it."""
    partition: int
    error_code: ErrorCode
    reason: str
    """With the offset, and what is wrong."""


class TopicWriter(Protocol):
    """Writes to one topic of a physical cluster; see gateway/producing/batch_writer.py."""

    async def write(self, batch: bytes, partition: int) -> None:
        """Write a batch."""

    async def close(self) -> None:
        """Close the connections."""


class Upstream(NamedTuple):
    """A physical cluster, as sources see it that write there."""

    cluster: object
    """The program's own; another object after it was replaced."""
    open: Callable[[Any, str, str], TopicWriter]
    """Returns what writes to a topic: of the cluster, the topic's name, and the key of the configuration with it."""


class Source(Protocol):
    """Answers the keys of one kind."""

    def cached(self, key: Any) -> object | None:
        """Return the answer to a key if it is at hand, else None; it may be a `Failure`. Called for each batch."""

    async def answers(self, keys: Collection[Any]) -> Mapping[Any, object]:
        """Return the answers to keys, a `Failure` where there is none; it raises for none of them.

        It bounds how many it works on at a time. It may be cancelled when the message has waited long enough; what it
        has found by then it should have in its cache.
        """

    def configure(self, filters: Collection[RecordFilter]) -> None:
        """Take the filters that use it, of all tenants: when it is made, and after each reload."""

    def close(self) -> None:
        """Give back what it has; it is asked nothing any more."""


class Sources(Protocol):
    """The sources of a process, and what else it does for filters of records that is I/O."""

    def cached(self, key: Key) -> object | None:
        """Return the answer to a key if its source has it at hand, else None."""

    async def meet(self, tenant: str, need: RecordNeeds, upstream: Upstream) -> RecordNeeds:
        """Return a need with the answers to all of its keys, within the time that a message may wait.

        Args:
            tenant: of the message.
            need: what it waits for.
            upstream: the tenant's physical cluster, for sources that write there.
        """

    def tell_refused(self, refused: RefusedRecords) -> None:
        """Log that records do not reach a consumer, whose client may not show why."""

    def configure(self, filters: Collection[RecordFilter]) -> None:
        """Take the filters of all tenants; make the sources that they use, and close those that they use no more."""

    def limit(self, limits: Limits) -> None:
        """Use other limits from now on."""

    def close(self) -> None:
        """Close all sources: the process ends."""


class NoSources:
    """The sources of a process whose filters need nothing from outside."""

    def cached(self, key: Key) -> object | None:
        """Know no key."""
        raise AssertionError(f"no source is called {key.source}")

    async def meet(self, tenant: str, need: RecordNeeds, upstream: Upstream) -> RecordNeeds:
        """Answer nothing."""
        raise AssertionError("nothing answers what filters of records need")

    def tell_refused(self, refused: RefusedRecords) -> None:
        """Log nothing."""

    def configure(self, filters: Collection[RecordFilter]) -> None:
        """Need nothing."""

    def limit(self, limits: Limits) -> None:
        """Limit nothing."""

    def close(self) -> None:
        """Close nothing."""


class KnownAnswers(Mapping["Key", object]):
    """What is known for one message: what it has waited for, and what the sources have at hand."""

    __slots__ = ("_answers", "_sources")

    def __init__(self, sources: Sources, answers: Mapping[Key, object]) -> None:
        """Know `answers`, and what `sources` have at hand."""
        self._sources, self._answers = sources, answers

    def get(self, key: Key, default: Any = None) -> Any:
        """Return the answer to a key, or `default`."""
        found = self._answers.get(key)
        if found is None:
            found = self._sources.cached(key)
        return default if found is None else found

    def __getitem__(self, key: Key) -> object:
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key: object) -> bool:
        return key in self._answers

    def __iter__(self) -> Iterator[Key]:
        return iter(self._answers)

    def __len__(self) -> int:
        return len(self._answers)
