"""What a ClientSession is given when a connection begins."""

from collections.abc import Mapping
from dataclasses import dataclass

from bifrost.config.verifiers import Mechanism
from bifrost.filters.api_versions import OfferedVersions
from bifrost.filters.plan import Plans
from bifrost.session.fetch_sessions import FetchSessions
from bifrost.session.lanes import Lanes
from bifrost.session.sasl_server import SaslSettings
from bifrost.tenancy.brokers import BrokerPorts
from bifrost.tenancy.namespace import Namespace


@dataclass(frozen=True, slots=True)
class SharedState:
    """What all sessions of a gateway have in common."""

    plans: Plans
    lanes: Lanes
    sasl: SaslSettings
    namespaces: Mapping[str, Namespace]
    fetch_sessions: FetchSessions
    max_in_flight_requests: int


@dataclass(frozen=True, slots=True)
class Route:
    """The broker a connection stands for."""

    node_id: int
    offered: OfferedVersions
    ports: BrokerPorts
    mechanisms: tuple[Mechanism, ...]
    """How its clients may authenticate."""
