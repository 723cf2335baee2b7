"""Members of streams groups on a real Kafka: each virtual task has one at a time, whichever process they speak to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from bifrost.embedded.kafka import EmbeddedKafka
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import JoinGroupRequest, StreamsGroupHeartbeatRequest
from support.clients.group_member import member_of
from support.clients.raw_client import RawClient
from support.clients.streams_member import SUBTOPOLOGY, StreamsMember, settle
from support.committed_offsets import commit, commit_request, offsets_of
from support.gateways.gateway_fixtures import UniqueName
from support.gateways.gateway_process import GLOBEX, GatewayProcess
from support.gateways.reloadable_gateway import Reloadable
from support.virtual_topics import WAIT_S, create, produce

pytestmark = [pytest.mark.needs_api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0), pytest.mark.timeout(120)]

NUMBERS = {"even": PartitionMap(12, 4), "odd": PartitionMap(7, 3)}
MORE = 20


@pytest.fixture(params=NUMBERS)
def topic(
    request: pytest.FixtureRequest, dividing: GatewayProcess, direct: RawClient, unique: UniqueName
) -> str:
    kind = str(request.param)
    return make(dividing, direct, unique(kind))


@pytest.fixture
def partitions(topic: str) -> PartitionMap:
    return NUMBERS[topic.partition("-")[0]]


def make(dividing: GatewayProcess, direct: RawClient, topic: str) -> str:
    numbers = NUMBERS[topic.partition("-")[0]]
    return create(dividing.endpoint("globex"), direct, topic, numbers.virtual, numbers.physical)


def test_a_task_is_given_back_with_the_last_of_its_virtual_ones(
    client: RawClient, topic: str, partitions: PartitionMap, unique: UniqueName
) -> None:
    group = unique("group")
    parts = [set(partitions.all_of(number)) for number in range(partitions.physical)]  # type: ignore[arg-type]
    first, second = (StreamsMember(client, group, topic) for _ in range(2))
    settle([first], partitions.virtual)
    second.beat()
    deadline = time.monotonic() + WAIT_S
    while first.assigned == first.owned:
        first.beat()
        assert time.monotonic() < deadline

    taken = first.owned - first.assigned
    assert taken == set().union(*(one for one in parts if one & taken))
    # The last virtual one of each task is still there.
    first.owned = first.assigned | {max(one) for one in parts if one <= taken}
    for _ in range(3):
        first.beat()
        second.beat()
        assert not second.assigned
    first.owned = set(first.assigned)
    settle([first, second], partitions.virtual)
    assert second.owned == taken
    assert first.leave().error_code == ErrorCode.NONE
    settle([second], partitions.virtual)


def test_who_has_which_partitions_is_told(
    client: RawClient, topic: str, partitions: PartitionMap, unique: UniqueName
) -> None:
    # Kafka answers UNKNOWN_SERVER_ERROR to a member with an endpoint while the group's coordinator has not heard of the
    # topic (EndpointToPartitionsManager).
    group = unique("group")
    first = StreamsMember(client, group, topic)
    settle([first], partitions.virtual)
    first.leave()
    member = StreamsMember(client, group, topic, port=9999)
    settle([member], partitions.virtual)
    request = StreamsGroupHeartbeatRequest(
        group_id=member.group,
        member_id=member.member_id,
        member_epoch=member.epoch,
        endpoint_information_epoch=-1,
    )

    (found,) = client.request(request, 0).partitions_by_user_endpoint
    assert (found.user_endpoint.host, found.user_endpoint.port) == ("localhost", 9999)
    (told,) = found.active_partitions
    assert (told.topic, sorted(told.partitions)) == (topic, list(range(partitions.virtual)))


@pytest.fixture
def other(quick: EmbeddedKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reloadable]:
    """Another gateway before the same brokers."""

    def adjust(config: dict[str, Any]) -> None:
        config["tenants"][0]["virtual_partitions"] = [{"topics": ["even-*"], "virtual": 12, "physical": 4}]

    directory = tmp_path_factory.mktemp("other")
    options: dict[str, Any] = {"tenants": [GLOBEX], "adjust": adjust, "has_admin": True}
    with Reloadable(directory, quick.bootstrap, **options) as process:
        yield process


def test_another_process_knows_how_tasks_are_divided(
    dividing: Reloadable, other: Reloadable, client: RawClient, direct: RawClient, unique: UniqueName
) -> None:
    topic, group = make(dividing, direct, unique("even")), unique("group")
    first, second = (StreamsMember(client, group, topic) for _ in range(2))
    settle([first, second], 12)

    with RawClient.authenticated(other.broker_endpoint("globex")) as elsewhere:
        second.leave()
        settle([first], 12, elsewhere)
        second = StreamsMember(elsewhere, group, topic)
        settle([first, second], 12)
        settle([first, second], 12, elsewhere)
    assert sorted(map(len, (first.owned, second.owned))) == [6, 6]


def test_members_are_told_when_the_number_is_raised(
    dividing: Reloadable, other: Reloadable, direct: RawClient, unique: UniqueName
) -> None:
    topic, group = make(dividing, direct, unique("even")), unique("group")
    with RawClient.authenticated(other.broker_endpoint("globex")) as client:
        members = [StreamsMember(client, group, topic) for _ in range(2)]
        settle(members, 12)

    def raised(config: dict[str, Any]) -> None:
        config["tenants"][0]["virtual_partitions"][0]["virtual"] = MORE

    other.apply(raised)
    with RawClient.authenticated(other.broker_endpoint("globex")) as client:
        settle(members, MORE, client)
    assert sorted(len(one.owned) for one in members) == [MORE // 2] * 2


def test_members_of_the_classic_protocol_stay_out(
    dividing: GatewayProcess, client: RawClient, topic: str, partitions: PartitionMap, unique: UniqueName
) -> None:
    group = unique("group")
    member = StreamsMember(client, group, topic)
    settle([member], partitions.virtual)
    protocol = JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0\0\0\0\0")
    join = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[protocol],
    )

    answer = client.request(join, 5)
    assert answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert not answer.members
    settle([member], partitions.virtual)


def test_a_classic_group_becomes_a_streams_group_when_it_is_empty(
    dividing: GatewayProcess, client: RawClient, topic: str, partitions: PartitionMap, unique: UniqueName
) -> None:
    group, endpoint = unique("group"), dividing.endpoint("globex")
    produce(endpoint, topic, size=partitions.virtual)
    with member_of(endpoint, group, topic):
        refused = StreamsMember(client, group, topic).beat()
        assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    everything = {number: 7 + number for number in range(partitions.virtual)}
    assert commit(client, commit_request(group, topic, everything)) == dict.fromkeys(everything, 0)

    member = StreamsMember(client, group, topic)
    settle([member], partitions.virtual)
    assert offsets_of(client, group, topic) == everything


@pytest.mark.parametrize("field", ["warmup_tasks", "task_offsets", "task_end_offsets"])
def test_brokers_refuse_fields_that_they_do_not_support_yet(
    client: RawClient, topic: str, partitions: PartitionMap, unique: UniqueName, field: str
) -> None:
    """Kafka 4.3 does so: once it does not any more, such heartbeats need tests with Kafka Streams."""
    member = StreamsMember(client, unique("group"), topic)
    settle([member], partitions.virtual)
    new = StreamsGroupHeartbeatRequest
    tasks = new.TaskIds(subtopology_id=SUBTOPOLOGY, partitions=[0])
    offset = new.TaskOffset(subtopology_id=SUBTOPOLOGY, partition=0, offset=7)
    request = new(group_id=member.group, member_id=member.member_id, member_epoch=member.epoch)
    setattr(request, field, [tasks if field == "warmup_tasks" else offset])

    answer = client.request(request, 0)

    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert "not supported yet" in answer.error_message
