"""Memory for unpacked records: see memory.pyx."""

from typing_extensions import Buffer

class MemoryBudget:
    """Bytes that a batch, a request or the process may have at a time.

    What is taken from a budget is taken from its parents too, and given back by the memory itself when it goes.
    """

    bound: str
    """What has this budget: `batch`, `request` or `process`."""
    limit: int
    used: int
    parent: MemoryBudget | None
    is_shared: bool
    """Whether others use it as well, so that waiting can help."""

    def __init__(
        self, bound: str, limit: int, parent: MemoryBudget | None = None, *, is_shared: bool = False
    ) -> None: ...
    def room(self) -> int:
        """Return the bytes that this budget and all its parents have left."""

    def take(self, size: int) -> int:
        """Take bytes for memory that is not a `Memory`.

        Raises:
            TooLarge: there can never be so many.
            NoRoom: others use them now.
        """

    def give_back(self, size: int) -> int:
        """Give back bytes that were taken."""

class Memory(Buffer):
    """Bytes that are not written any more; views keep them alive."""

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
