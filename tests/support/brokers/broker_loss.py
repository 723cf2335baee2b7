"""The loss of a broker: killed as by a power cut, missed by the others, started again, and everything as before.

Between `kill` and `restore` the cluster has settled without the broker: it is in no list of brokers, and leads nothing.
After `restore` every partition has all its replicas again, by default led by the first of them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.routes.one_broker import NODE_ID
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import ElectLeadersRequest, InitProducerIdRequest, MetadataRequest
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import warm_up
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import HOST, IS_SINGLE_ADDRESS

_log = logging.getLogger(__name__)

SETTLED_S = 90.0
"""A broker is missed after 6 s (bifrost.embedded.properties), and starts in 3 to 10 s, or more on a busy machine."""
PREFERRED = 0
Reach = Callable[[], Sequence[Endpoint]]


class BrokerLoss:
    """Takes brokers away from a cluster of several, one at a time."""

    def __init__(
        self, kafka: EmbeddedKafka, seen_by: Reach = lambda: (), *, elects_first: bool = True
    ) -> None:
        """Describe what is to be settled.

        Args:
            kafka: the cluster.
            seen_by: gives endpoints through a gateway that must see the same brokers as the cluster itself.
            elects_first: whether the first replicas lead again when a broker is back. Not while librdkafka writes: a
                leader that resigns answers NOT_LEADER_OR_FOLLOWER for what it has stored, librdkafka sends it again in
                larger batches, and these are out of sequence.
        """
        self._kafka = kafka
        self._seen_by = seen_by
        self._elects_first = elects_first
        self._away: int | None = None
        self.count = 0
        """Brokers lost so far."""

    @property
    def away(self) -> int | None:
        """The broker that is away."""
        return self._away

    def kill(self, node_id: int) -> None:
        """Kill a broker, and wait until the cluster goes on without it."""
        assert self._away is None
        self._kafka.kill_broker(node_id)
        self._away = node_id
        self.count += 1
        self._await(self._has_settled)
        self._await(self._has_coordinators)
        _log.info("broker %s is away", node_id)

    def restore(self) -> None:
        """Start the broker that is away, and wait until the cluster is whole."""
        if self._away is None:
            return
        node_id, self._away = self._away, None
        self._kafka.start_broker(node_id)
        _log.info("broker %s is back", node_id)
        self._await(self._is_whole)
        if self._elects_first:
            self._await(self._is_led_as_before)
        self._await(self._has_coordinators)

    @contextmanager
    def without(self, node_id: int) -> Iterator[None]:
        """Do something while a broker is away."""
        try:
            self.kill(node_id)
            yield
        finally:
            self.restore()

    def _await(self, condition: Callable[[], str]) -> None:
        """Wait until nothing is missing any more, as the condition says."""
        deadline = time.monotonic() + SETTLED_S
        while missing := self._try(condition):
            assert time.monotonic() < deadline, missing
            time.sleep(0.1)

    @staticmethod
    def _try(condition: Callable[[], str]) -> str:
        try:
            return condition()
        except (OSError, EOFError, AssertionError) as error:
            return f"no answer: {error!r}"

    def _alive(self) -> set[int]:
        return set(self._kafka.node_ids) - {self._away}

    def _direct(self) -> Iterator[Endpoint]:
        for node_id in self._alive():
            yield Endpoint(HOST, self._kafka.broker_port(node_id))

    def _has_settled(self) -> str:
        """Say what is not settled: a way in names other brokers, or a partition that could have a leader has none."""
        seen = {NODE_ID} if IS_SINGLE_ADDRESS else self._alive()
        ways = [(one, self._alive()) for one in self._direct()] + [(one, seen) for one in self._seen_by()]
        for endpoint, expected in ways:
            metadata = _metadata(endpoint)
            brokers = {broker.node_id for broker in metadata.brokers}
            if brokers != expected:
                return f"{endpoint.port} names the brokers {brokers}"
            # A partition whose replicas are all away has one there as well: the brokers themselves were asked.
            is_one = IS_SINGLE_ADDRESS and endpoint.username is not None
            for topic, partition in () if is_one else _partitions(metadata):
                if partition.leader_id not in brokers and brokers & set(partition.replica_nodes):
                    return f"{endpoint.port} names {partition.leader_id} as the leader of {topic.name}"
        return ""

    def _has_coordinators(self) -> str:
        """Ask every coordinator of groups and transactions something: who has just become one loads what there is."""
        with RoutedClient(next(self._direct())) as client:
            warm_up(client)
        for endpoint in self._direct():
            # A broker that was started asks the controller for producer IDs when a client asks it for the first one.
            with RawClient(endpoint) as client:
                request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
                if (answer := client.request(request, 4)).error_code != ErrorCode.NONE:
                    return f"{endpoint.port} has no producer IDs: {answer}"
        return ""

    def _is_whole(self) -> str:
        for endpoint in self._direct():
            for topic, partition in _partitions(_metadata(endpoint)):
                if set(partition.isr_nodes) != set(partition.replica_nodes):
                    return f"{topic.name}-{partition.partition_index}: in sync {partition.isr_nodes}"
        return self._has_settled()

    def _is_led_as_before(self) -> str:
        """Ask for the first replicas as leaders until they are."""
        with RawClient(next(self._direct())) as client:
            request = ElectLeadersRequest(election_type=PREFERRED, topic_partitions=None, timeout_ms=10_000)
            elected = client.request(request, client.at_most(ElectLeadersRequest.SCHEMA.api_key, 2))
            assert elected.error_code == ErrorCode.NONE, elected
        for endpoint in (*self._direct(), *self._seen_by()):
            for topic, partition in _partitions(_metadata(endpoint)):
                if partition.leader_id != partition.replica_nodes[0]:
                    return f"{topic.name}-{partition.partition_index} is led by {partition.leader_id}"
        return self._has_settled()


def _metadata(endpoint: Endpoint) -> Any:
    with RawClient.authenticated(endpoint) as client:
        return client.request(MetadataRequest(topics=None), 5)


def _partitions(metadata: Any) -> Iterator[tuple[Any, Any]]:
    for topic in metadata.topics:
        for partition in topic.partitions:
            yield topic, partition
