"""Sees to it that what the messages of one connection wait for is met, as far as other connections wait for it too.

    Room         the connection queues for its turn (forwarding/in_flight_limits.py)
    Turn         it queues for a slice (forwarding/turns.py)
    Owed         it queues until a debt of its quota is paid (forwarding/quotas/quota_turns.py)
    IssuerKeys   it is called back when the fetch under way has ended
    PasswordChecked   it is called back when its check has run (gateway/admission/password_checks.py)
    OthersPoll   it is called back when another connection has the broker's answer (poll_wait.py)

What a connection asks brokers or others for by itself (topic IDs, a count of topics, a change of the state, what
filters of records need), `WayToBroker.fetch` brings.
"""

from functools import partial
from typing import TYPE_CHECKING

from bifrost.authentication.address_costs import Cost
from bifrost.filters.steps import Fetched, Need, OthersPoll
from bifrost.forwarding.clock import monotonic_ns
from bifrost.gateway.clients.context import ClientContext
from bifrost.gateway.clients.poll_wait import PollWait
from bifrost.gateway.clients.probation import Probation
from bifrost.session.client_session import ClientSession
from bifrost.session.needs import BrokerAnswer, IssuerKeys, Owed, PasswordChecked, Room, Turn

if TYPE_CHECKING:
    from bifrost.gateway.clients.client_connection import ClientConnection


class Waiting:
    """What one connection waits for."""

    __slots__ = ("_called_back", "_gateway", "_poll", "_probation", "_session")

    def __init__(self, gateway: ClientContext, session: ClientSession, probation: Probation) -> None:
        """Begin without a need."""
        self._gateway, self._session, self._probation = gateway, session, probation
        self._called_back: Need | None = None
        """The need of keys, or of a check, for which the connection is called back."""
        self._poll: PollWait | None = None
        """What it waits for of other connections."""

    @property
    def is_busy(self) -> bool:
        """Whether the gateway works on what the client has asked, or waits for another connection's answer to it."""
        return any(isinstance(need, Turn | OthersPoll) for need in self._session.needs)

    def enrol(self, connection: "ClientConnection") -> None:
        """Queue the connection for what its messages need, where it is not queued yet."""
        tenant, gateway = connection.tenant, self._gateway
        for need in self._session.needs:
            match need:
                case Room() if tenant is not None:
                    gateway.shared.lanes.in_flight_limits.wait(tenant, connection)
                case Owed() if self._session.owes is not None:
                    turn = partial(connection.meet, need)
                    gateway.shared.quotas.turns.wait(self._session.owes, connection, turn)
                case Turn() if tenant is not None:
                    gateway.turns.wait(tenant, connection)
                case IssuerKeys() if need is not self._called_back:
                    self._called_back = need
                    gateway.client_authenticators.call_when_keys_are_fetched(partial(connection.meet, need))
                case PasswordChecked() if need is not self._called_back:
                    self._called_back = need
                    done = partial(self._password_checked, connection, need)
                    gateway.password_checks.add(connection.address, tenant, connection, need.check, done)
                case OthersPoll():
                    if self._poll is None or need is not self._poll.need:
                        self._poll = PollWait(need, monotonic_ns(), partial(connection.meet, need))
                case _:
                    known = isinstance(
                        need, Fetched | Room | Owed | Turn | IssuerKeys | PasswordChecked | BrokerAnswer
                    )
                    assert known, f"nothing meets the need {need}: the connection would wait forever"

    def _password_checked(self, connection: "ClientConnection", need: Need, cost: Cost) -> None:
        self._probation.note(cost)
        connection.meet(need)

    def leave(self, connection: "ClientConnection") -> None:
        """Leave the queues: the connection takes no more requests."""
        tenant = connection.tenant
        self._probation.leave(connection)
        if self._poll is not None:
            self._poll.leave()
            self._poll = None
        if isinstance(self._called_back, PasswordChecked):
            self._gateway.password_checks.leave(connection.address, tenant, connection)
        if tenant is None:
            return
        for need in self._session.needs:
            if isinstance(need, Room):
                self._gateway.shared.lanes.in_flight_limits.forget(tenant, connection)
            elif isinstance(need, Owed):
                self._gateway.shared.quotas.turns.forget(connection)
            elif isinstance(need, Turn):
                self._gateway.turns.forget(tenant, connection)

    @property
    def to_fetch(self) -> Fetched | None:
        """What the connection has to ask for by itself."""
        return next((one for one in self._session.needs if isinstance(one, Fetched)), None)
