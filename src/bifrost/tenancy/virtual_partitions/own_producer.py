"""The producer in whose name the gateway writes batches of clients that are no idempotent producers.

The group of a batch is marked in its producer ID, so each batch needs one. Every batch is the first of an epoch of its
own: the broker then expects sequence 0 and nothing else, so a batch that was refused does not make it refuse the next,
and no repetition is taken for one. That is what the client asked for: each batch is written as often as it is sent.

Source: ProducerAppendInfo.checkSequence, which compares sequences within an epoch only.
"""

LAST_EPOCH = 32_766
"""A broker takes no epoch of 32,767 of a producer (`Short.MAX_VALUE` is exhausted)."""


class OwnProducer:
    """The producer of one connection: its batches reach a broker in order, so their epochs do."""

    __slots__ = ("_next_epoch", "producer_id")

    def __init__(self) -> None:
        """Have no producer ID yet."""
        self.producer_id = -1
        self._next_epoch = 0

    def has_epochs(self, batches: int) -> bool:
        """Whether so many batches can be written; otherwise it needs a new producer ID."""
        return self.producer_id >= 0 and self._next_epoch + batches - 1 <= LAST_EPOCH

    def begin(self, producer_id: int) -> None:
        """Use a new producer ID."""
        self.producer_id, self._next_epoch = producer_id, 0

    @property
    def next_epoch(self) -> int:
        """The epoch of the next batch."""
        return self._next_epoch

    def take_epoch(self) -> int:
        """Return the epoch of the next batch."""
        return self.take_epochs(1)

    def take_epochs(self, batches: int) -> int:
        """Return the epoch of the next batch; so many follow each other."""
        self._next_epoch += batches
        return self._next_epoch - batches
