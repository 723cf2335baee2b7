"""A bounded set of hashes that forgets what was not used for a day, or another time: see entry_set.pyx."""

from collections.abc import Callable

HALF_DAY_MS: int
"""How long a generation lasts at the least, in milliseconds. Brokers keep a producer for a day after its last use
(`producer.id.expiration.ms`), and offsets and transactional IDs for seven."""

class EntrySet:
    """At most so many entries, 16 to 48 bytes for each."""

    most: int
    """How many entries it takes. When it is lowered, those beyond it stay until they are forgotten."""

    def __init__(self, most: int, now_ms: Callable[[], int], half_ms: int = ...) -> None:
        """Begin without entries.

        Args:
            most: how many it takes.
            now_ms: a monotonic clock, in milliseconds; asked for entries that were not used lately only.
            half_ms: how long a generation lasts at the least, in milliseconds: half a day, if it is not given.
        """

    def enter(self, entry: int) -> bool:
        """Remember that an entry, a hash of 64 bits, is in use; False: it is new, and there is no room for it."""

    def __len__(self) -> int:
        """Return how many entries are remembered."""
