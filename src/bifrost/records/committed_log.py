"""The committed transactions of one partition, from what Fetch answers with isolation level read_committed.

    Fetch ──▶ batches ──▶ aborted ones are dropped ──▶ records wait for their commit marker ──▶ transaction

A broker answers only up to the last stable offset, but an answer may end in the middle of a transaction. So records
wait here until the marker of their transaction was read, and then come all at once. Compaction may have removed the
marker: where the last stable offset is reached every transaction before it has ended, and what still waits is
committed.

Source: KIP-98; CompletedFetch of Kafka's consumer.
"""

from collections.abc import Iterable

from bifrost.records.batch_reader import LogRecord, read_batches


class CommittedLog:
    """What was read of a partition, up to `next_offset`."""

    def __init__(self) -> None:
        """Begin at the start of the log."""
        self.next_offset = 0
        """The offset to fetch from."""
        self._open: dict[int, list[LogRecord]] = {}
        """By producer ID: records whose commit marker was not read yet."""

    def read(
        self, data: bytes | memoryview, aborted: Iterable[tuple[int, int]], last_stable_offset: int
    ) -> list[list[LogRecord]]:
        """Read the records of one answer; return the records of each committed transaction, in their order.

        Args:
            data: the batches, the first of which contains `next_offset` or comes behind it.
            aborted: the answer's aborted transactions, as producer ID and first offset.
            last_stable_offset: of the answer.
        Raises:
            UnreadableBatch: a batch cannot be read; `next_offset` is that of the batch.
        """
        waiting = sorted(aborted, key=lambda one: one[1], reverse=True)
        dropped: set[int] = set()
        found: list[list[LogRecord]] = []
        for batch in read_batches(data):
            while waiting and waiting[-1][1] <= batch.last_offset:
                dropped.add(waiting.pop()[0])
            records = [one for one in batch.records if one.offset >= self.next_offset]
            if batch.is_abort:
                dropped.discard(batch.producer_id)
                self._open.pop(batch.producer_id, None)
            elif batch.is_commit:
                found.append(self._open.pop(batch.producer_id, []))
            elif not batch.is_transactional:
                found.append(records)
            elif batch.producer_id not in dropped:
                self._open.setdefault(batch.producer_id, []).extend(records)
            self.next_offset = max(self.next_offset, batch.last_offset + 1)
        if self.next_offset >= last_stable_offset:
            found += sorted(self._open.values(), key=lambda records: records[:1])
            self._open.clear()
        return [records for records in found if records]
