"""Reads the log of a physical partition forwards, from where the index ends.

    begin ......... | last batch | ──read──▶ ............ until
                    is it still the same?

The first thing that is read is the batch by which the entry ends. Only if it is the one that the entry names, what the
entry says counts, and grows by what follows.
"""

from bifrost.tenancy.virtual_partitions.index.index_entry import NO_TOPIC_ID, IndexEntry
from bifrost.tenancy.virtual_partitions.index.log_piece import read_piece


class ForwardScan:
    """The scan of one log."""

    def __init__(
        self,
        entry: IndexEntry | None,
        until: int,
        *,
        start: int = 0,
        topic_id: bytes = NO_TOPIC_ID,
        is_keyed: bool = False,
    ) -> None:
        """Begin.

        Args:
            entry: what is known; None: nothing.
            until: how far to read at the least.
            start: where the log begins, if nothing is known.
            topic_id: of the topic, likewise.
            is_keyed: whether the topic is compacted.
        """
        self.entry = entry
        """What is known by now; it counts if it is trusted."""
        self.is_trusted = entry is None
        """Whether the log was found to be the one that the entry is about."""
        self.is_distrusted = False
        """Whether it is another one."""
        self._until, self._topic_id, self._is_keyed = until, topic_id, is_keyed
        self._at = start if entry is None else entry.end - 1

    @property
    def offset(self) -> int | None:
        """Where to read next; None: nothing more."""
        return None if self.is_distrusted or self.is_done else self._at

    @property
    def is_done(self) -> bool:
        """Whether all is known up to where it was to be read."""
        return self.is_trusted and self.entry is not None and self.entry.end >= self._until

    @property
    def is_to_check(self) -> bool:
        """Whether one batch is enough for the next answer."""
        return not self.is_trusted and self.entry is not None and self.entry.end >= self._until

    def take(self, records: bytes | memoryview) -> bool:
        """Take what was read from `offset` on; return whether more is known than before.

        Raises:
            UnfitBatch: a batch does not say whose it is.
        """
        piece = read_piece(records, is_keyed=self._is_keyed)
        if piece is None:
            return False
        entry, is_proved = self.entry, self.is_trusted
        if not is_proved:
            assert entry is not None, "what is not trusted is an entry"
            if piece.first != entry.last_batch:
                self.is_distrusted = True
                return False
            self.is_trusted = True
        if entry is None:
            self.entry = IndexEntry(self._topic_id, self._at, piece.end, piece.last, piece.ends)
        elif piece.end > entry.end:
            self.entry = entry.extended(piece)
        elif is_proved:
            return False
        self._at = piece.end
        return True
