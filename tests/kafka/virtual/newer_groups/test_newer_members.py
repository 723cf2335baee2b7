"""Members of groups of the newer protocol on a real Kafka: each virtual partition has one at a time."""

from __future__ import annotations

from contextlib import closing

import pytest
from confluent_kafka import Consumer, KafkaError

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from support.clients.endpoint import Endpoint
from support.clients.group_member import member_of
from support.clients.newer_member import NewerMember, settle
from support.clients.raw_client import RawClient
from support.clients.raw_operations import topic_id_of
from support.gateways.gateway_fixtures import UniqueName
from support.java.java_clients import JavaClients, JavaError
from support.virtual_topics import EACH, RATIO, WAIT_S, expected, produce, read

pytestmark = pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0)

LEAVES_FOR_NOW = -2


def parts_of(topic: str, size: int, physical: int) -> list[set[int]]:
    """Return the virtual partitions of each physical one."""
    is_ratio = topic.startswith("ratio")
    partitions = PartitionMap(size, physical, RATIO if is_ratio else 0)
    return [set(partitions.all_of(number)) for number in range(physical)]  # type: ignore[arg-type]


def test_a_physical_partition_is_given_back_with_the_last_of_its_virtual_ones(
    client: RawClient, topic: str, size: int, physical: int, unique: UniqueName
) -> None:
    group, topic_id, parts = unique("group"), topic_id_of(client, topic), parts_of(topic, size, physical)
    first, second = (NewerMember(client, group, topic, topic_id) for _ in range(2))
    settle([first], size)
    second.beat()
    while first.assigned == first.owned:
        first.beat()

    taken = first.owned - first.assigned
    assert taken == set().union(*(one for one in parts if one & taken))
    # The last virtual partition of each physical one is still owned.
    first.owned = first.assigned | {max(one) for one in parts if one <= taken}
    for _ in range(3):
        first.beat()
        second.beat()
        assert not second.assigned
    first.owned = set(first.assigned)
    settle([first, second], size)
    assert second.owned == taken


def test_members_join_and_leave(
    client: RawClient, topic: str, size: int, physical: int, unique: UniqueName
) -> None:
    group, topic_id, parts = unique("group"), topic_id_of(client, topic), parts_of(topic, size, physical)
    members = [NewerMember(client, group, topic, topic_id) for _ in range(physical)]
    for count in range(1, physical + 1):
        settle(members[:count], size)
    assert sorted(map(sorted, (one.owned for one in members))) == sorted(map(sorted, parts))

    # There is no physical partition for one more.
    members.append(NewerMember(client, group, topic, topic_id))
    settle(members, size, idle=1)
    leaving = next(one for one in members if one.owned)
    members.remove(leaving)
    assert leaving.leave().error_code == ErrorCode.NONE
    settle(members, size)


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
def test_a_fenced_member_has_nothing_until_it_joins_again(
    client: RawClient, topic: str, size: int, unique: UniqueName
) -> None:
    group, topic_id = unique("group"), topic_id_of(client, topic)
    first, second = (NewerMember(client, group, topic, topic_id) for _ in range(2))
    settle([first], size)
    second.obey()
    settle([first, second], size)
    first.epoch += 7

    assert first.beat().error_code == ErrorCode.FENCED_MEMBER_EPOCH
    # Coordinators before 4.3 do not let a member that they still have join.
    assert first.leave().error_code == ErrorCode.NONE
    settle([first, second], size)


def test_a_static_member_comes_back_to_its_partitions(
    client: RawClient, topic: str, size: int, unique: UniqueName
) -> None:
    group, topic_id = unique("group"), topic_id_of(client, topic)
    static = NewerMember(client, group, topic, topic_id, instance_id="one")
    other = NewerMember(client, group, topic, topic_id)
    static.obey()
    other.obey()
    settle([static, other], size)
    before, rest = static.owned, other.owned

    assert static.leave(LEAVES_FOR_NOW).error_code == ErrorCode.NONE
    other.obey()
    assert other.owned == rest
    again = NewerMember(client, group, topic, topic_id, instance_id="one")
    again.obey()
    assert again.owned == before


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
def test_brokers_patterns_find_topics_with_virtual_partitions(
    client: RawClient, topic: str, size: int, unique: UniqueName
) -> None:
    topic_id = topic_id_of(client, topic)
    member = NewerMember(client, unique("group"), topic, topic_id, regex=f"{topic[:-1]}[{topic[-1]}]")

    settle([member], size)
    assert member.owned == set(range(size))


def test_a_member_does_not_join_one_of_the_classic_protocol(
    client: RawClient, endpoint: Endpoint, topic: str, size: int, unique: UniqueName
) -> None:
    group, topic_id = unique("group"), topic_id_of(client, topic)
    produce(endpoint, topic, size=size)
    with member_of(endpoint, group, topic):
        refused = NewerMember(client, group, topic, topic_id).beat()

    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "group.protocol=classic" in refused.error_message
    # When these are gone it may.
    settle([NewerMember(client, group, topic, topic_id)], size)


def test_one_of_the_classic_protocol_does_not_join_it(
    client: RawClient, endpoint: Endpoint, topic: str, size: int, unique: UniqueName
) -> None:
    group, topic_id = unique("group"), topic_id_of(client, topic)
    produce(endpoint, topic, size=size)
    member = NewerMember(client, group, topic, topic_id)
    settle([member], size)
    settings = endpoint.for_confluent | {"group.id": group}
    with closing(Consumer(settings)) as consumer:
        consumer.subscribe([topic])
        message = consumer.poll(WAIT_S)
        assert message is not None
        error = message.error()
        assert error is not None
        assert error.code() == KafkaError.INCONSISTENT_GROUP_PROTOCOL
    settle([member], size)

    member.leave()
    assert read(endpoint, topic, group, EACH * size) == expected(topic, size=size)


@pytest.mark.needs_api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1)
@pytest.mark.parametrize("java", ["4.3.1"], indirect=True)
def test_java_says_why_it_does_not_join_members_of_the_classic_protocol(
    java: JavaClients, endpoint: Endpoint, topic: str, size: int, unique: UniqueName
) -> None:
    group = unique("group")
    produce(endpoint, topic, size=size)
    with member_of(endpoint, group, topic):
        consumer = java.consumer(endpoint, group, group_protocol="consumer")
        java("subscribe", consumer, topic)
        with pytest.raises(JavaError, match=r"group\.protocol=classic"):
            java.poll_until(consumer, 1)
        java("close", consumer)
