"""What client connections need from their gateway: a Gateway, or in tests an object with the same attributes."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from bifrost.authentication.failed_authentications import FailedAuthentications
from bifrost.config.fields.limits import Limits
from bifrost.config.model import Config
from bifrost.filters.steps import StateChange
from bifrost.forwarding.turns import Turns
from bifrost.gateway.admission.address_turns import AddressTurns
from bifrost.gateway.admission.password_checks import PasswordChecks
from bifrost.gateway.brokers.clusters import Clusters
from bifrost.gateway.clients.newcomers import Newcomers, Refusal
from bifrost.gateway.clients.open_tenants import OpenTenants
from bifrost.gateway.loop.paced_calls import PacedCalls
from bifrost.gateway.loop.pauses import Pauses
from bifrost.gateway.peers.alone_peers import AlonePeers
from bifrost.session.close_reason import CloseReason
from bifrost.session.shared_state import SharedState

if TYPE_CHECKING:
    from bifrost.gateway.clients.client_connection import ClientConnection
    from bifrost.gateway.clients.client_handshake import ClientHandshake


class FetchesKeys(Protocol):
    """Fetches the keys of issuers of tokens."""

    def call_when_keys_are_fetched(self, callback: Callable[[], object]) -> None:
        """Call back when the fetch that is under way has ended; soon, if there is none."""


class ChangesState(Protocol):
    """Changes the dynamic state."""

    async def change(self, tenant: str, need: StateChange) -> StateChange:
        """Write a change that a request of a tenant asks for; return it with its outcome."""


class ClientContext(Protocol):
    """The gateway of a connection."""

    address_turns: AddressTurns
    arrivals: PacedCalls
    config: Config
    clusters: Clusters
    cluster_of: Mapping[str, str]
    broker_connections: Counter[str]
    connects: PacedCalls
    departures: PacedCalls
    handshakes: PacedCalls
    failed_authentications: FailedAuthentications
    limits: Limits
    newcomers: Newcomers
    password_checks: PasswordChecks
    pauses: Pauses
    shared: SharedState
    tenants: OpenTenants
    turns: Turns
    peers: AlonePeers

    @property
    def state(self) -> ChangesState | None:
        """The dynamic state; None: the configuration has none."""

    @property
    def client_authenticators(self) -> FetchesKeys:
        """The object that knows the issuers of tokens."""

    def admit(
        self,
        connection: "ClientConnection | ClientHandshake",
        address: str | None,
        *,
        is_newcomer: bool = True,
    ) -> Refusal | None:
        """Count a new connection; return why it is refused, if there are too many."""

    def let_in(self, tenant: str, connection: "ClientConnection") -> bool:
        """Count an authenticated connection for its tenant; return False if the tenant has too many."""

    def forget(self, connection: "ClientConnection | ClientHandshake") -> None:
        """Stop counting a connection."""

    def count_end(
        self,
        reason: CloseReason,
        tenant: str | None,
        peer: str = "?",
        detail: str = "",
        mechanism: str | None = None,
    ) -> None:
        """Note why a connection ended."""
