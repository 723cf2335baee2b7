"""What all searches in the log of a physical partition have in common: each says what it needs next."""

from abc import ABC, abstractmethod


class LogSearch(ABC):
    """A search that reads parts of a log until it knows enough."""

    @property
    @abstractmethod
    def offset(self) -> int | None:
        """Where to read next; None: nothing."""

    @property
    def time_ms(self) -> int | None:
        """The time for which the broker is to be asked; None: it need not be."""
        return None

    @abstractmethod
    def take(self, records: bytes | memoryview) -> bool:
        """Take what was read from `offset` on; return whether it goes on.

        Raises:
            UnfitBatch: it does not say whose it is.
        """

    def take_first(self, offset: int) -> None:
        """Take the first offset that the broker has for `time_ms`; -1: there is none."""
        raise NotImplementedError
