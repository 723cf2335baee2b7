"""What the journal of a running gateway asks of it."""

from typing import Protocol

from bifrost.config.fields.limits import Limits
from bifrost.config.model import Config
from bifrost.gateway.brokers.clusters import Clusters
from bifrost.gateway.peers.alone_peers import AlonePeers
from bifrost.session.shared_state import SharedState


class JournalContext(Protocol):
    """The gateway whose doings are written down."""

    config: Config
    clusters: Clusters
    limits: Limits
    shared: SharedState
    whole: AlonePeers
