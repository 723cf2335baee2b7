"""A new cluster that has what the first groups and transactions create."""

from bifrost.embedded.kafka import EmbeddedKafka
from support.clients.endpoint import Endpoint
from support.clients.raw_operations import warm_up
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import HOST


def warmed(cluster: EmbeddedKafka) -> EmbeddedKafka:
    """Wait until a cluster gives producer IDs at once, which gateways ask for with the first records; return it."""
    with RoutedClient(Endpoint(HOST, cluster.broker_port(1))) as client:
        warm_up(client)
    return cluster
