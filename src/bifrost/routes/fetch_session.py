"""A client's fetch session (KIP-227) at a single address: what it asks for, and what its next request may be.

Its client's connection alone knows it: a broker, too, may forget a session at any moment, and clients then begin
another. The rules are those of FetchManager.newContext.
"""

from bifrost.wire.error_codes import ErrorCode

NO_SESSION = 0
INITIAL_EPOCH, FINAL_EPOCH = 0, -1
MAX_EPOCH = 0x7FFFFFFF
BY_ID_SINCE = 13
"""The first version of Fetch that names topics by their IDs (KIP-516)."""

MAX_BYTES = 64 << 20
"""Bound of what the last requests of all clients hold, in a process: a thousand partitions take some 250 KiB. Those of
one tenant hold half of it at most (session_memory.py). Kafka has 1,000 sessions at a broker
(`max.incremental.fetch.session.cache.slots`), and no bound for their partitions."""

MAX_BYTES_OF_ONE = 4 << 20
"""The same for one client: some 16,000 partitions."""


class FetchSession:
    """One session; the request that its client awaits, if there is one, has the epoch before `epoch`."""

    __slots__ = ("epoch", "session_id", "version")

    def __init__(self, session_id: int, version: int) -> None:
        """Begin with the answer to a whole Fetch of this version."""
        self.session_id, self.version, self.epoch = session_id, version, 1

    def refusal(self, session_id: int, epoch: int, version: int) -> ErrorCode:
        """Return why a request is no next one of the session, or NONE."""
        if session_id != self.session_id:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if epoch != self.epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if (version >= BY_ID_SINCE) != (self.version >= BY_ID_SINCE):
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        # The partitions are kept in the words of one version.
        return ErrorCode.NONE if version == self.version else ErrorCode.FETCH_SESSION_ID_NOT_FOUND

    def go_on(self) -> None:
        """Take a request: the next one has the next epoch."""
        self.epoch = 1 if self.epoch == MAX_EPOCH else self.epoch + 1
