"""The source of records that take long to read under their schemas."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bifrost.gateway.sources.reading.process_room import ProcessRoom
from bifrost.gateway.sources.reading.record_reader import RecordReader
from bifrost.transforms.large_values import SOURCE
from bifrost.transforms.schema_validator import read_spec_of
from bifrost.transforms.transform_kind import kind_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bifrost.config.records.record_filter import RecordFilter
    from bifrost.gateway.sources.source_names import SourceContext
    from bifrost.transforms.large_values import ReadSpec, RecordsToRead


class ReadingSource:
    """The readers of all tenants of this process; see `Source`."""

    def __init__(self, context: SourceContext) -> None:
        """Read nothing yet: a process starts with its first record."""
        self._context = context
        self._room = ProcessRoom()
        self._readers: dict[ReadSpec, RecordReader] = {}

    def cached(self, key: RecordsToRead) -> object | None:
        """Have nothing at hand: a batch is read once."""
        return None

    async def answers(self, keys: Collection[RecordsToRead]) -> Mapping[RecordsToRead, object]:
        """Return why records are not valid, a `Failure` where it cannot be said."""
        found = await asyncio.gather(*(self._reader(key.spec).read(key) for key in keys))
        return dict(zip(keys, found, strict=True))

    def configure(self, filters: Collection[RecordFilter]) -> None:
        """End the processes that no filter has any more, or not with these rules."""
        wanted = {
            read_spec_of("", one.shown_name, one.config)[1:]
            for one in filters
            if SOURCE in kind_of(one.name).sources
        }
        for spec in [spec for spec in self._readers if spec[1:] not in wanted]:
            self._readers.pop(spec).close()

    def close(self) -> None:
        """End all processes."""
        self.configure(())

    def _reader(self, spec: ReadSpec) -> RecordReader:
        found = self._readers.get(spec)
        if found is None:
            context = self._context
            found = self._readers[spec] = RecordReader(spec, context.now_ns, context.count, self._room)
        return found


def make(context: SourceContext) -> ReadingSource:
    """Return the source of a process."""
    return ReadingSource(context)
