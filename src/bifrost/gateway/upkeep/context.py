"""What the upkeep of offsets needs from its running gateway."""

from collections import Counter
from collections.abc import Mapping
from typing import Protocol

from bifrost.config.model import Config
from bifrost.gateway.brokers.clusters import Clusters
from bifrost.gateway.peers.alone_peers import AlonePeers
from bifrost.session.shared_state import SharedState


class UpkeepContext(Protocol):
    """The gateway whose tenants have virtual partitions."""

    config: Config
    clusters: Clusters
    cluster_of: Mapping[str, str]
    limits_hit: Counter[tuple[str, str]]
    peers: AlonePeers
    shared: SharedState
