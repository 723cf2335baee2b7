"""What a namespace's requests make brokers keep, and where they name it: see kept_entries.pyx."""

from collections.abc import Sequence

from bifrost.tenancy.broker_state.broker_state import BrokerState
from bifrost.wire.program import Program

class EntryWalk(Program):
    """What one request at one version makes brokers keep."""

    has_offsets: bool
    """Whether its partitions are those of committed offsets."""

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
