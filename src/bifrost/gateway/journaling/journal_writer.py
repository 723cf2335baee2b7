"""Writes the journal's records to its topic, piece by piece.

    RecordBuffer ──take──▶ piece ──▶ RecordProducer ──▶ the topic
         ▲                                │
         └─────── written, or dropped ◀───┘

A piece is finished before the next one is taken, so the buffer's size includes the records that are being sent. While
the brokers accept nothing, the producer tries again and the buffer fills.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence

import structlog

from bifrost.gateway.producing.record_producer import RecordProducer
from bifrost.gateway.producing.upstream_topic import UpstreamTopic
from bifrost.journal.record_buffer import DropReason, Pending, RecordBuffer
from bifrost.wire.error_codes import ErrorCode

log = structlog.get_logger()

PIECE_BYTES = 512 * 1024
"""Records taken at once: half of a broker's `message.max.bytes` even if they all go to one partition and do not
compress."""

_WRITTEN = "records"


class JournalWriter:
    """The journal's writer of one gateway process."""

    def __init__(
        self,
        topic: UpstreamTopic,
        buffer: RecordBuffer,
        timeout_ms: int,
        counts: "Counter[str] | None" = None,
    ) -> None:
        """Write nothing yet.

        Args:
            topic: where it writes.
            buffer: what it writes.
            timeout_ms: time limit for a broker to write a batch.
            counts: counts the written records; None: the writer counts by itself.
        """
        self._buffer = buffer
        self._producer: RecordProducer[Pending] = RecordProducer(topic, self, timeout_ms)
        self._wake = asyncio.Event()
        self._last_error = ""
        self._is_finishing = False
        self._counts = Counter() if counts is None else counts
        self._counts[_WRITTEN] = 0
        self.is_failing = False
        """Whether the last attempt to write failed."""

    @property
    def written(self) -> int:
        """Number of records that the brokers have accepted."""
        return self._counts[_WRITTEN]

    def wake(self) -> None:
        """Have `run` check whether there is something to write."""
        self._wake.set()

    def finish(self) -> None:
        """Let `run` return when everything is written."""
        self._is_finishing = True
        self._wake.set()

    async def run(self) -> None:
        """Write until cancelled, or until everything is written after `finish`."""
        while not self._is_finishing or len(self._buffer):
            await self._wake.wait()
            self._wake.clear()
            await self.write_all()

    async def write_all(self) -> None:
        """Write all records in the buffer, however long it takes."""
        while True:
            self._buffer.tell_drops()
            piece = self._buffer.take(PIECE_BYTES)
            if not piece:
                return
            try:
                await self._producer.produce(piece)
            except Exception:
                self._give_up(piece)
                raise
            self._buffer.written(piece)

    async def close(self) -> None:
        """Close the connections."""
        await self._producer.close()

    # -- what the producer tells

    def topic_created(self, topic: str, partitions: int) -> None:
        """Log that the topic was missing."""
        log.info("journal_topic_created", topic=topic, partitions=partitions)

    def idempotence_denied(self, error: ErrorCode) -> None:
        """Log that a record may be in the topic twice; its sequence number shows it."""
        log.warning("journal_not_idempotent", error=error.name)

    def records_accepted(self, records: Sequence[Pending]) -> None:
        """Count the written records."""
        self._counts[_WRITTEN] += len(records)

    def records_refused(self, records: Sequence[Pending], error: ErrorCode) -> None:
        """Drop the records that the brokers will never take."""
        self._drop(records)
        log.warning("journal_records_refused", error=error.name, records=len(records))

    def attempt_ended(self, problem: str) -> None:
        """Log when writing begins to fail, when the reason changes, and when it works again."""
        if problem and problem != self._last_error:
            log.warning("journal_not_written", error=problem, waiting=len(self._buffer))
        if not problem and self._last_error:
            log.info("journal_written_again", waiting=len(self._buffer))
        self._last_error, self.is_failing = problem, bool(problem)

    # -- what is not written

    def _give_up(self, piece: Sequence[Pending]) -> None:
        """Drop records that an error of the gateway's own prevents from being written, so that later ones are."""
        self._drop(piece)
        self._buffer.written(piece)
        self._producer.begin_anew()
        self._wake.set()

    def _drop(self, records: Sequence[Pending]) -> None:
        for one in records:
            self._buffer.drop(
                one.kind, one.tenant, DropReason.REFUSED, size=len(one.value), sequence=one.sequence
            )
