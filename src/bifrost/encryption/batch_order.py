"""Sees sealed batches of one partition that stand in another order than they were produced in.

The sequence numbers of an idempotent producer are bound to its sealed batches, and a broker appends them in their
order: within an epoch they only grow, and epochs only grow. Batches without sequences have no order to be seen.

Source: KIP-98; Kafka's ProducerAppendInfo, DefaultRecordBatch.incrementSequence (behind 2^31 - 1 comes 0).
"""

from bifrost.encryption.errors import OutOfOrder
from bifrost.records.codec.client_batch import ClientBatch

SEQUENCES = 1 << 31
MAX_PRODUCERS = 1_000
"""Producers of a partition that are remembered, the latest; a broker itself forgets those of yesterday."""


class BatchOrder:
    """What was read of one partition, from one offset on without a gap."""

    def __init__(self, max_producers: int = MAX_PRODUCERS) -> None:
        """Begin with nothing read; of more producers those that were seen longest ago are forgotten."""
        self._latest: dict[int, tuple[int, int]] = {}
        self._max_producers = max_producers

    def __len__(self) -> int:
        return len(self._latest)

    def copy(self) -> "BatchOrder":
        """Return the same order, for a reader that goes on by itself."""
        made = BatchOrder(self._max_producers)
        made._latest = self._latest.copy()
        return made

    def check(self, batch: ClientBatch) -> None:
        """Note that a batch is the next one.

        Args:
            batch: as its opener proved it to be.
        Raises:
            OutOfOrder: one that stood before it was produced after it.
        """
        if batch.base_sequence < 0 or batch.is_control:
            return
        if not self.follows(batch.producer_id, batch.producer_epoch, batch.base_sequence, batch.record_count):
            raise OutOfOrder(
                f"the batch at offset {batch.base_offset} was produced before one that stands before it"
            )

    def follows(self, producer_id: int, epoch: int, sequence: int, count: int) -> bool:
        """Note likewise a batch with sequences, and return whether it may be the next one."""
        before, last = self._latest.get(producer_id, (-1, -1))
        if epoch < before or (epoch == before and not _is_behind(last, sequence)):
            return False
        self._latest.pop(producer_id, None)
        if len(self._latest) >= self._max_producers:
            del self._latest[next(iter(self._latest))]
        self._latest[producer_id] = (epoch, (sequence + count - 1) % SEQUENCES)
        return True


def _is_behind(last: int, sequence: int) -> bool:
    """Whether a sequence comes after another one; they go round."""
    return 0 < (sequence - last) % SEQUENCES < SEQUENCES // 2
