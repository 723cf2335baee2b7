"""Logs which records do not reach consumers: an answer to a Fetch has no text that says why."""

from collections.abc import Callable

import structlog

from bifrost.filters.records.sources import RefusedRecords

log = structlog.get_logger()

PAUSE_NS = 60_000_000_000
"""Least time between two lines about one partition: consumers ask for the same records again and again."""
MAX_PARTITIONS = 1_000
"""Partitions that are remembered; beyond it that memory is emptied."""


class RefusalLog:
    """The log lines about records that do not reach consumers."""

    def __init__(self, now_ns: Callable[[], int]) -> None:
        """Begin without a line; `now_ns` is a monotonic clock, in nanoseconds."""
        self._now_ns = now_ns
        self._told_ns: dict[tuple[str, str, int], int] = {}

    def tell(self, refused: RefusedRecords) -> None:
        """Write a line, unless there was one about this partition a moment ago."""
        now_ns, key = self._now_ns(), (refused.tenant, refused.topic, refused.partition)
        told_ns = self._told_ns.get(key)
        if told_ns is not None and now_ns - told_ns < PAUSE_NS:
            return
        if len(self._told_ns) >= MAX_PARTITIONS:
            self._told_ns.clear()
        self._told_ns[key] = now_ns
        log.warning(
            "records_refused",
            tenant=refused.tenant,
            topic=refused.topic,
            partition=refused.partition,
            error_code=refused.error_code.name,
            reason=refused.reason,
        )
