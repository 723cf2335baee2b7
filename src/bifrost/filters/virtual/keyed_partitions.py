"""Produce to compacted topics: the keys of a batch get the group of their virtual partition.

The batch is unpacked for it and packed again, in the memory of the request, which has a bound for all of its batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bifrost.records.codec.errors import RecordsError, TooLarge
from bifrost.records.codec.memory import MemoryBudget
from bifrost.tenancy.virtual_partitions.compacted.keyed_batches import keyed_batch
from bifrost.tenancy.virtual_partitions.tagged_batches import MAX_UNPACKED, NullKeys
from bifrost.tenancy.virtual_partitions.transaction_numbers import SEND_AGAIN
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ProduceResponse

if TYPE_CHECKING:
    from bifrost.filters.virtual.division import TopicKey
    from bifrost.filters.virtual.virtual_topics import VirtualTopics
    from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
    from bifrost.wire.message import Struct

MAX_UNPACKED_OF_REQUEST = MAX_UNPACKED
"""Most bytes of the batches of a request for compacted topics, unpacked. Those beyond have to be sent again: there is
always room for the first one."""
LIMIT = "virtual_compacted_bytes"
"""What the metrics call it."""


class KeyedPartitions:
    """Those of one request."""

    def __init__(self, virtual: VirtualTopics) -> None:
        """Begin with all of its memory."""
        self._virtual = virtual
        self._budget = MemoryBudget("request", MAX_UNPACKED_OF_REQUEST)

    def has(self, key: TopicKey) -> bool:
        """Whether a topic is one of them."""
        partitions = self._virtual.map_of_either(*key)
        return partitions is not None and partitions.is_keyed

    def batch(self, index: int, group: PartitionGroup, records: bytes | memoryview) -> bytes | int | Struct:
        """Return a batch with its group before its keys; else the error, or the answer, with which it is refused.

        Args:
            index: of its virtual partition.
            group: of that.
            records: one whole batch with a right checksum.
        """
        try:
            return keyed_batch(records, group, self._budget)
        except NullKeys as error:
            return without_keys(index, error)
        except TooLarge as error:
            self._virtual.hit(LIMIT)
            return SEND_AGAIN if error.bound == "request" else int(error.error_code)
        except RecordsError as error:
            return int(error.error_code)


def without_keys(index: int, error: NullKeys) -> Struct:
    """Return the answer for a virtual partition whose records have no keys, as Kafka's LogValidator gives it."""
    told = [
        ProduceResponse.BatchIndexAndErrorMessage(batch_index=row, batch_index_error_message=str(error))
        for row in error.rows
    ]
    return ProduceResponse.PartitionProduceResponse(
        index=index,
        error_code=int(ErrorCode.INVALID_RECORD),
        base_offset=-1,
        log_append_time_ms=-1,
        log_start_offset=-1,
        record_errors=told,
        error_message=str(error),
    )
