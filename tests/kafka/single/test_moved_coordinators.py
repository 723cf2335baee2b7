"""Coordinators move while no broker is away: who asks at a single address has the answer of the new ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    ConsumerGroupDescribeRequest,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    DescribeTransactionsRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from support.brokers.moved_leaders import move_leaders
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import create_topic
from support.clients.routed_client import RoutedClient
from support.gateways.gateway_process import GatewayProcess
from support.physical_names import physical_name

WAIT_S = 40.0
TOPIC = "moved-coordinators"
NAMES = [f"moved-{number}" for number in range(6)]
"""As groups and as transactional IDs; four partitions hold them, which three brokers lead."""
NOT_YET = {
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
}


@pytest.fixture(scope="module")
def client(gateway: GatewayProcess) -> Iterator[RawClient]:
    with RawClient.authenticated(gateway.endpoint("initech")) as made:
        create_topic(made, TOPIC)
        yield made


def _until_done(ask: Callable[[], int]) -> None:
    deadline = time.monotonic() + WAIT_S
    while (code := ask()) != ErrorCode.NONE:
        assert code in NOT_YET, ErrorCode(code).name
        assert time.monotonic() < deadline, ErrorCode(code).name
        time.sleep(0.05)


def commit_offsets(client: RawClient) -> None:
    """Let each group have an offset."""
    request = OffsetCommitRequest
    topic = request.OffsetCommitRequestTopic(
        name=TOPIC,
        partitions=[request.OffsetCommitRequestPartition(partition_index=0, committed_offset=7)],
    )
    for name in NAMES:
        message = request(group_id=name, generation_id_or_member_epoch=-1, topics=[topic])
        _until_done(lambda m=message: client.request(m, 7).topics[0].partitions[0].error_code)  # type: ignore[misc]


def begin_transactional_ids(client: RawClient) -> None:
    """Let each transactional ID be known."""
    for name in NAMES:
        message = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        _until_done(lambda m=message: client.request(m, 4).error_code)  # type: ignore[misc]


def _offsets(version: int) -> Message:
    if version < 8:
        return OffsetFetchRequest(group_id=NAMES[0], topics=None)
    group = OffsetFetchRequest.OffsetFetchRequestGroup
    return OffsetFetchRequest(groups=[group(group_id=name, topics=None) for name in NAMES])


def _groups(response: Any) -> list[tuple[str, int]]:
    return [(one.group_id, one.error_code) for one in response.groups]


def _settle(kafka: EmbeddedKafka) -> None:
    """Wait until the new coordinators have loaded what there is: until then they say so, to any client."""
    with RoutedClient(Endpoint("127.0.0.1", kafka.broker_port(kafka.node_ids[0]))) as direct:
        for name in NAMES:
            physical = physical_name("initech", name)
            groups, transactions = (
                DescribeGroupsRequest(groups=[physical]),
                DescribeTransactionsRequest(transactional_ids=[physical]),
            )
            _until_done(lambda m=groups: direct.request(m, 5).groups[0].error_code)  # type: ignore[misc]
            _until_done(lambda m=transactions: direct.request(m, 0).transaction_states[0].error_code)  # type: ignore[misc]


def _leave(client: RawClient, name: str) -> int:
    """Leave a group as an unknown member, once its coordinator can write.

    Until the replicas of its partition have what it has loaded, a coordinator keeps the answer back, and after 5 s
    it says COORDINATOR_NOT_AVAILABLE (GroupCoordinatorService.handleOperationException).
    """
    deadline = time.monotonic() + WAIT_S
    while True:
        code: int = client.request(LeaveGroupRequest(group_id=name, member_id="no-member"), 2).error_code
        if code not in NOT_YET - {ErrorCode.NOT_COORDINATOR} or time.monotonic() > deadline:
            return code
        time.sleep(0.05)


ASKED: dict[str, tuple[Message, int, str, Callable[[Any], Any], Any]] = {
    "DescribeGroups": (
        DescribeGroupsRequest(groups=NAMES),
        5,
        "__consumer_offsets",
        _groups,
        [(name, ErrorCode.NONE) for name in NAMES],
    ),
    "OffsetFetch of one": (
        _offsets(7),
        7,
        "__consumer_offsets",
        lambda response: (response.error_code, response.topics[0].partitions[0].committed_offset),
        (ErrorCode.NONE, 7),
    ),
    "OffsetFetch of several": (
        _offsets(8),
        8,
        "__consumer_offsets",
        lambda response: [
            (one.group_id, one.topics[0].partitions[0].committed_offset) for one in response.groups
        ],
        [(name, 7) for name in NAMES],
    ),
    "ConsumerGroupDescribe": (
        # They are groups of the older protocol, which the coordinator says.
        ConsumerGroupDescribeRequest(group_ids=NAMES),
        0,
        "__consumer_offsets",
        # Kafka 3.9 names a group once for each partition of __consumer_offsets that was asked.
        lambda response: sorted(set(_groups(response))),
        [(name, ErrorCode.GROUP_ID_NOT_FOUND) for name in NAMES],
    ),
    "DeleteGroups": (
        DeleteGroupsRequest(groups_names=NAMES),
        2,
        "__consumer_offsets",
        lambda response: sorted((one.group_id, one.error_code) for one in response.results),
        [(name, ErrorCode.NONE) for name in NAMES],
    ),
    "InitProducerId": (
        InitProducerIdRequest(transactional_id=NAMES[0], transaction_timeout_ms=60_000),
        4,
        "__transaction_state",
        lambda response: response.error_code,
        ErrorCode.NONE,
    ),
    "DescribeTransactions": (
        DescribeTransactionsRequest(transactional_ids=NAMES),
        0,
        "__transaction_state",
        lambda response: [(one.transactional_id, one.error_code) for one in response.transaction_states],
        [(name, ErrorCode.NONE) for name in NAMES],
    ),
}


@pytest.mark.parametrize("name", ASKED)
def test_what_a_coordinator_refuses_that_has_moved_is_asked_at_the_new_one(
    name: str, client: RawClient, kafka_cluster: EmbeddedKafka
) -> None:
    request, version, topic, shown, expected = ASKED[name]
    commit_offsets(client)
    begin_transactional_ids(client)
    move_leaders(kafka_cluster, topic)
    _settle(kafka_cluster)

    answer = shown(client.request(request, version))

    assert answer == expected


@pytest.mark.parametrize("version", [2, 4])
def test_who_has_asked_for_the_new_coordinator_is_served_by_it(
    version: int, client: RawClient, kafka_cluster: EmbeddedKafka
) -> None:
    commit_offsets(client)
    begin_transactional_ids(client)
    move_leaders(kafka_cluster, "__consumer_offsets")
    _settle(kafka_cluster)
    codes = set[int]()

    for name in NAMES:
        keys = {"coordinator_keys": [name]} if version >= 4 else {"key": name}
        client.request(FindCoordinatorRequest(key_type=0, **keys), version)
        codes.add(_leave(client, name))

    assert codes == {ErrorCode.UNKNOWN_MEMBER_ID}
