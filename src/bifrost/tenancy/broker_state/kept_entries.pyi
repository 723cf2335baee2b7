"""What a namespace's requests make brokers keep, and where they name it: see kept_entries.pyx."""

from collections.abc import Sequence

from bifrost.tenancy.broker_state.broker_state import BrokerState
from bifrost.wire.program import Program

class EntryWalk(Program):
    """What one request at one version makes brokers keep."""

    has_offsets: bool
    """Whether its partitions are those of committed offsets."""

    names_members: bool
    """Whether it names a member of a group."""
    has_joins: bool
    """Whether that joins at an epoch of 0: its number is the epoch."""

    def __init__(
        self,
        ops: Sequence[tuple[int, int, int, int, int]],
        tags: Sequence[tuple[int, int]] = (),
    ) -> None:
        """Take the ops and the tagged fields of a program."""

class KeptEntries:
    """What the requests of one namespace make brokers keep.

    Each method enters something, and says False if it is new and the tenant has no room for it. Names are those that
    the client sends; a topic is its name, or its ID where the version has IDs.
    """

    state: BrokerState
    """The tenant's."""

    def __init__(self, state: BrokerState, seed: str) -> None:
        """Use the sets of the tenant.

        Args:
            state: the tenant's.
            seed: tells the namespace from others of the tenant, where the same name means something else.
        """

    def enter_group(self, group: bytes) -> bool:
        """Enter a group that has members or offsets."""

    def enter_member(self, group: bytes, member: bytes, told_bytes: int, lasts: bool = False) -> bool:
        """Enter a member that joins a group: an entry, and one for each 2 KiB of what it tells.

        Args:
            group: its group.
            member: its static name (`group_instance_id`), else its ID; empty: the broker gives it one.
            told_bytes: how much it tells that the broker keeps.
            lasts: whether it may live without a sign of life for longer than half an hour.
        """

    def enter_beat(self, group: bytes, member: bytes, epoch: int, told_bytes: int) -> bool:
        """Enter a member of a newer group, if it joins (epoch 0) or tells 2 KiB or more.

        One that goes on has given a sign of life, and is never refused; below epoch 0 it leaves.
        """

    def enter_assignments(self, group: bytes, member: bytes, told_bytes: int) -> bool:
        """Enter what a leader assigns to the members of its group, so many bytes: one for each 2 KiB."""

    def keep_member(self, group: bytes, member: bytes) -> None:
        """Remember that a member has given a sign of life."""

    def enter_transactional_id(self, name: bytes) -> bool:
        """Enter a transactional ID."""

    def enter_offset(self, group: bytes, topic: bytes, partition: int, metadata_bytes: int = 0) -> bool:
        """Enter what a group commits for a partition: an entry, and one for each 512 bytes of its metadata."""

    def enter_records(self, topic: bytes, partition: int, records: bytes | memoryview) -> bool:
        """Enter the producers of the record batches for a partition."""

    def enter_client(self, frame: bytes | memoryview) -> bool:
        """Enter the client ID of a request.

        Raises:
            MalformedFrame: the header is not whole.
        """

    def enter_request(self, walk: EntryWalk, frame: bytes | memoryview, start: int) -> bool:
        """Enter all that a request makes brokers keep but its client ID; the body begins at `start`.

        Raises:
            MalformedFrame: the request cannot be read.
        """
