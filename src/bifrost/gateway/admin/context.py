"""What the metrics and probes of one process need from its gateway."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from bifrost.config.fields.limits import Limits
from bifrost.gateway.brokers.clusters import Clusters
from bifrost.gateway.clients.open_tenants import OpenTenants
from bifrost.gateway.loop.loop_guard import InternalErrors
from bifrost.gateway.loop.loop_stalls import LoopStalls
from bifrost.gateway.loop.pauses import Pauses
from bifrost.gateway.reload.reloader import Reloader
from bifrost.gateway.sockets.listener_watch import ListenerWatch
from bifrost.session.close_reason import CloseReason
from bifrost.session.shared_state import SharedState

if TYPE_CHECKING:
    from bifrost.gateway.exchange.gateway_exchange import GatewayExchange
    from bifrost.gateway.journaling.journaling import Journaling
    from bifrost.gateway.state.gateway_state import GatewayState


class AdminContext(Protocol):
    """The gateway whose counters are shown."""

    broker_connections: Counter[str]
    """How many connections of clients to brokers are open, by physical cluster."""
    clusters: Clusters
    exchange: "GatewayExchange | None"
    ends: Counter[CloseReason]
    """How many connections ended, by reason."""
    internal_errors: InternalErrors
    is_ready: bool
    journaling: "Journaling | None"
    limits: Limits
    limits_hit: Counter[tuple[str, str]]
    listener_watch: ListenerWatch
    pauses: Pauses
    reloader: Reloader | None
    shared: SharedState
    stalls: LoopStalls
    state: "GatewayState | None"
    tenants: OpenTenants

    def count_connections(self) -> Mapping[str, int]:
        """Return how many connections are open, by tenant."""
