"""The source of batches as transforms of the operator's own leave them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from bifrost.gateway.sources.transforming.transform_runner import TransformRunner

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from bifrost.config.records.record_filter import RecordFilter
    from bifrost.gateway.sources.source_names import SourceContext
    from bifrost.transforms.user.python_transform import RunSpec, UserRun


class TransformSource:
    """The transforms of all tenants of this process; see `Source`."""

    def __init__(self, context: SourceContext) -> None:
        """Run nothing yet: a transform starts with its first batch."""
        self._context = context
        self._runners: dict[RunSpec, TransformRunner] = {}

    def cached(self, key: UserRun) -> object | None:
        """Have nothing at hand: a batch is run once."""
        return None

    async def answers(self, keys: Collection[UserRun]) -> Mapping[UserRun, object]:
        """Return the new batches, a `Failure` where there is none."""
        found = await asyncio.gather(*(self._runner(key.spec).run(key) for key in keys))
        return dict(zip(keys, found, strict=True))

    def configure(self, filters: Collection[RecordFilter]) -> None:
        """End the transforms that no filter has any more, or not with these bounds."""
        wanted = {
            (
                one.shown_name,
                config.transform_file,
                config.entry_point,
                config.timeout_ms,
                config.max_memory_bytes,
            )
            for one in filters
            for config in (one.config,)
        }
        for spec in [spec for spec in self._runners if spec[1:] not in wanted]:
            self._runners.pop(spec).close()

    def close(self) -> None:
        """End all transforms."""
        self.configure(())

    def _runner(self, spec: RunSpec) -> TransformRunner:
        found = self._runners.get(spec)
        if found is None:
            found = self._runners[spec] = TransformRunner(spec, self._context.now_ns, self._context.count)
        return found


def make(context: SourceContext) -> TransformSource:
    """Return the source of a process."""
    return TransformSource(context)
