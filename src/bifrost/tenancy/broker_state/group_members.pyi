"""Members of groups, and what they have told the coordinator: see group_members.pyx."""

from collections.abc import Callable

from bifrost.tenancy.broker_state.entry_set import EntrySet

HALF_HOUR_MS: int
"""The longest session that brokers allow a member by default (`group.max.session.timeout.ms`), in milliseconds."""

class GroupMembers:
    """The members of one tenant's groups. `KeptEntries` enters them."""

    most: int
    """How many entries it takes: members, and each 2 KiB of what they tell."""

    usual: EntrySet
    """Those that give a sign of life each half hour."""
    lasting: EntrySet
    """Those that may live for longer without one."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        """Begin without members, and without room.

        Args:
            now_ms: a monotonic clock, in milliseconds.
        """

    def __len__(self) -> int:
        """Return how many entries are remembered."""
