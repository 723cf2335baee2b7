"""What the exchange needs from its running gateway."""

from typing import Protocol

from bifrost.config.fields.limits import Limits
from bifrost.config.model import Config
from bifrost.gateway.brokers.clusters import Clusters
from bifrost.gateway.peers.alone_peers import AlonePeers
from bifrost.session.shared_state import SharedState


class ExchangeContext(Protocol):
    """The gateway that takes part."""

    config: Config
    clusters: Clusters
    limits: Limits
    peers: AlonePeers
    shared: SharedState
