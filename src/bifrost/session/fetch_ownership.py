"""Which fetch sessions the connections of a namespace may use, and what follows from that for the engine's decision."""

from typing import TYPE_CHECKING

from bifrost.filters.fetch import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION
from bifrost.filters.plan import Plan
from bifrost.forwarding.lane import Reason
from bifrost.wire.api_keys import ApiKey

if TYPE_CHECKING:
    from bifrost.session.fetch_sessions import FetchSessions, Proof


class FetchOwnership:
    """The sessions of one namespace at one broker, the same for all its connections."""

    def __init__(self, sessions: "FetchSessions", node_id: int, namespace: str) -> None:
        """Use `sessions` for the sessions that broker `node_id` gave to `namespace`."""
        self._sessions, self._node_id, self._namespace = sessions, node_id, namespace

    def owns(self, session_id: int) -> bool:
        """Whether a client may name this session: it is the namespace's own, or none."""
        return session_id == NO_SESSION or self._sessions.is_owned(self._node_id, session_id, self._namespace)

    def claim(self, session_id: int) -> None:
        """Remember a session that the broker gave to the namespace."""
        if session_id != NO_SESSION:
            self._sessions.claim(self._node_id, session_id, self._namespace)

    def proof(self, session_id: int) -> "Proof | None":
        """Return what shows, from now on, whether a session is the namespace's own; None: it is not."""
        return self._sessions.proof(self._node_id, session_id, self._namespace)

    def judge_request(self, plan: Plan, fields: tuple[int, ...]) -> Reason:
        """Return the reason why a request with these peeked fields may not be sent on as it is, or PASSES."""
        if plan.api_key == ApiKey.PRODUCE:
            return Reason.PASSES if fields[0] != 0 else Reason.UNANSWERED
        replica_id, session_id, session_epoch = fields
        is_own = self.owns(session_id)
        if not is_own and session_epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
            return Reason.LOST_SESSION
        # The filters answer a replica, and remove a session from a request.
        return Reason.PASSES if replica_id < 0 and is_own else Reason.FOR_FILTERS

    def judge_response(self, fields: tuple[int, ...]) -> Reason:
        """Return likewise the reason for a response."""
        return Reason.PASSES if self.owns(fields[0]) else Reason.NEW_SESSION
