"""What the index needs from its running gateway."""

from collections.abc import Callable, Mapping
from typing import Protocol

from bifrost.config.model import Config
from bifrost.gateway.brokers.clusters import Clusters
from bifrost.gateway.peers.alone_peers import AlonePeers
from bifrost.session.shared_state import SharedState


class IndexContext(Protocol):
    """The gateway whose tenants have virtual partitions."""

    config: Config
    clusters: Clusters
    cluster_of: Mapping[str, str]
    now_ms: Callable[[], int]
    """A monotonic clock, in milliseconds."""
    peers: AlonePeers
    shared: SharedState
