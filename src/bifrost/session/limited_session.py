"""What a request of an authenticated client waits for before it is looked at: the debts of its quotas, and room.

A client's quota is looked up by its first request, because its client ID comes with that, and again by the first one
that has another client ID, or after quotas have changed.
"""

from collections.abc import Callable

from bifrost.filters.filter import Exchange
from bifrost.filters.steps import AtBroker, Need
from bifrost.forwarding.clock import monotonic_ns
from bifrost.forwarding.lane import Lane, Reason
from bifrost.forwarding.quotas.budget import Budget
from bifrost.forwarding.quotas.mutations import Mutations, has_permissive_quota
from bifrost.session.decoded_request import max_items
from bifrost.session.held_frames import HeldFrames, Step
from bifrost.session.identified_session import IdentifiedSession
from bifrost.session.in_flight import Buffer
from bifrost.session.needs import OWED, ROOM, TURN, Owed, Room
from bifrost.session.session_lanes import OWN_APIS
from bifrost.wire.errors import WireError
from bifrost.wire.headers import REQUEST_PREFIX, RequestHeader

OTHER_CLIENTS = b"other-clients"
"""The client ID that brokers see of all clients whose own is one too many."""


class LimitedSession(IdentifiedSession):
    """A session whose requests wait while limits are reached."""

    owes: Budget | None = None
    """The budget for which the first held request waits, as `OWED` says."""
    _is_counted = False
    """Whether the connection was charged to the quota of new connections."""

    def _limit_of(self, header: RequestHeader, lane: Lane | None, frame: Buffer) -> Need | None:
        """Return what a request has to wait for; None: it need not."""
        if self._quota is None or self._quota.is_on:
            self.owes = self._debt_of(header, frame)
            if self.owes is not None:
                return OWED
        if lane is None or header.api_key in OWN_APIS:
            return None
        is_full = self.judge_request(lane, frame) == Reason.NO_ROOM and not self._requests.use(Room)
        return ROOM if is_full else None

    def _most_items(self, api_key: int) -> int:
        """Return how many items a request of the client may have."""
        bounds = self._namespace.bounds
        if bounds is None or self._scope.virtual is not None:
            # Of virtual partitions a tenant may have more than brokers have partitions for it.
            return max_items(api_key, is_single=self.needs_whole)
        return max_items(api_key, bounds.max_partitions, is_single=self.needs_whole)

    def _other_client_id(self, lane: Lane, frame: Buffer) -> bytes | None:
        """Return what brokers see in place of a request's client ID, without prefix; None: that one.

        Where the tenant has used as many as it may (`max_client_ids`), further ones share one.
        """
        if lane.kept is None or lane.kept.enter_client(frame):
            return None
        lane.kept.state.count("max_client_ids")
        return OTHER_CLIENTS

    def _debt_of(self, header: RequestHeader, frame: Buffer) -> Budget | None:
        """Return the budget for which a request has to wait; None: it need not."""
        is_its_turn = self._requests.use(Owed)
        at, length = REQUEST_PREFIX.size, header.client_id_length
        client_id = None if length < 0 else bytes(frame[at : at + length])
        if self._quota is None or not self._quota.is_client(client_id):
            assert self.account is not None
            user = self.account.username
            self._quota = self._shared.quotas.quota(self._namespace.path, user, client_id)
        if not self._is_counted:
            now_ns = monotonic_ns()
            for budget in self._quota.connected:
                if budget.debt_ns(now_ns) > 0 or (budget.waiting and not is_its_turn):
                    return budget
            for budget in self._quota.connected:
                budget.charge(1, now_ns)
            self._is_counted = True
        if header.api_key in OWN_APIS:
            return None
        owes = self._quota.waits_for(header.api_key, is_its_turn)
        if owes is None and has_permissive_quota(header.api_key, header.api_version):
            owes = next((one for one in self._quota.mutated if one.debt_ns(monotonic_ns()) > 0), None)
        return owes

    def _passes_when_paid(self, held: HeldFrames) -> bool:
        """Let the engine send the first held request on, or let it wait for its quota; False: neither can be.

        A client that is over its quota has each of its requests held, so none of them is decided about for that alone.
        """
        if self._quota is None or not (self._quota.is_on and self._is_counted and held.is_undecided):
            return False
        frame, has_turn, began_ns = held.frames[0], Owed in held.met, monotonic_ns()
        try:
            reason = self.forward_held(frame, held.came_ns, has_turn)
        except WireError:
            return False  # It had no effect, and fails again where errors are explained.
        self.charge_work(began_ns)
        if reason == Reason.PASSES:
            if has_turn:  # Else it belongs to bytes at hand, whose time is noted as a whole.
                self._note_kept(held)
            held.pass_first()
            return True
        if reason != Reason.OVER_QUOTA:
            return False
        self.owes = self._quota.waits_for(int.from_bytes(frame[:2], "big"), has_turn)
        if self.owes is not None:
            held.need = OWED
        return self.owes is not None

    def _decide(self, held: HeldFrames, run: Callable[[Buffer], Step]) -> Step:
        """Work on the first held frame, if there is time."""
        until_ns, began_ns = self._until_ns(), monotonic_ns()
        if began_ns < until_ns:
            step = held.decide(run, self._namespace, until_ns)
            self.charge_work(began_ns)
            return step
        held.need = TURN
        return TURN

    def _for_filters(self, exchange: Exchange) -> Exchange:
        """Return the exchange of the first held request with what filters may ask of the session."""
        exchange.met, exchange.offered = self._requests.met, self._route.offered
        if self._asked is not None and self._asked.met is not None:
            exchange.met = {**exchange.met, AtBroker: self._asked.met}
        if self._quota is not None and self._quota.mutated:
            exchange.mutations = Mutations(self._quota)
        return exchange
