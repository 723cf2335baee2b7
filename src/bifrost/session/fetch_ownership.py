"""Which fetch sessions the connections of a namespace may use, and which messages the engine may pass on therefore."""

from typing import TYPE_CHECKING

from bifrost.filters.fetch import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION
from bifrost.filters.plan import Plan
from bifrost.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from bifrost.session.fetch_sessions import FetchSessions


class FetchOwnership:
    """The sessions of one namespace at one broker, the same for all its connections."""

    def __init__(self, sessions: "FetchSessions", node_id: int, namespace: str) -> None:
        """Use `sessions` for the sessions that broker `node_id` gave to `namespace`."""
        self._sessions, self._node_id, self._namespace = sessions, node_id, namespace
        self.on_request, self.on_response = self.admits_request, self.admits_response
        """The two methods below, bound once: the engine calls them with every message."""

    def owns(self, session_id: int) -> bool:
        """Whether a client may name this session: it is the namespace's own, or none."""
        return session_id == NO_SESSION or self._sessions.is_owned(self._node_id, session_id, self._namespace)

    def claim(self, session_id: int) -> None:
        """Remember a session that the broker gave to the namespace."""
        if session_id != NO_SESSION:
            self._sessions.claim(self._node_id, session_id, self._namespace)

    def admits_request(self, plan: Plan, fields: tuple[int, ...]) -> bool:
        """Whether the engine may pass on a request with these peeked fields without a further look."""
        if plan.api_key == ApiKey.PRODUCE:
            return fields[0] != 0  # A request with acks=0 gets no answer.
        replica_id, session_id, _ = fields
        return replica_id < 0 and self.owns(session_id)

    def is_lost(self, plan: Plan, fields: tuple[int, ...]) -> bool:
        """Whether a Fetch with these peeked fields goes on with a session that is not the namespace's own."""
        if plan.api_key == ApiKey.PRODUCE:
            return False
        _, session_id, session_epoch = fields
        return session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH) and not self.owns(session_id)

    def admits_response(self, fields: tuple[int, ...]) -> bool:
        """Whether the engine may pass on a response with these peeked fields without a further look."""
        return self.owns(fields[0])
