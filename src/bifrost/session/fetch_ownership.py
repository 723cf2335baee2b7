"""Which fetch sessions one connection may use, and which requests and responses that makes everyday's ones."""

from bifrost.filters.fetch import NO_SESSION
from bifrost.filters.plan import Plan
from bifrost.session.fetch_sessions import FetchSessions
from bifrost.wire.api_keys import ApiKey


class FetchOwnership:
    """The sessions of one tenant at one broker."""

    __slots__ = ("_node_id", "_sessions", "_tenant")

    def __init__(self, sessions: FetchSessions, node_id: int, tenant: str) -> None:
        """Look into `sessions` for those that broker `node_id` gave to `tenant`."""
        self._sessions, self._node_id, self._tenant = sessions, node_id, tenant

    def owns(self, session_id: int) -> bool:
        """Whether this may be named: it is the tenant's, or none."""
        return session_id == NO_SESSION or self._sessions.is_owned(self._node_id, session_id, self._tenant)

    def claim(self, session_id: int) -> None:
        """Remember a session that the broker gave to the tenant."""
        if session_id != NO_SESSION:
            self._sessions.claim(self._node_id, session_id, self._tenant)

    def admits_request(self, plan: Plan, fields: tuple[int, ...]) -> bool:
        """Whether a request with these peeked fields is one like most."""
        if plan.api_key == ApiKey.PRODUCE:
            return fields[0] != 0  # One with acks=0 gets no answer.
        replica_id, session_id, _ = fields
        return replica_id < 0 and self.owns(session_id)

    def admits_response(self, fields: tuple[int, ...]) -> bool:
        """Whether a response with these peeked fields is one like most."""
        return self.owns(fields[0])
