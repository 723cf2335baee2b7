"""What topics with virtual partitions show and refuse, on a real Kafka."""

from __future__ import annotations

import json
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from bifrost.wire.api_keys import ApiKey
from bifrost.wire.error_codes import ErrorCode
from bifrost.wire.messages import (
    CreateTopicsRequest,
    DescribeLogDirsRequest,
    DescribeProducersRequest,
    DescribeTopicPartitionsRequest,
    IncrementalAlterConfigsRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from support.brokers.kafka_cluster import LOG_DIRS
from support.brokers.tool_shell import ToolShell
from support.clients.endpoint import Endpoint
from support.clients.raw_client import RawClient
from support.clients.raw_operations import (
    FETCH_BY_NAME,
    PRODUCE_BY_NAME,
    await_topic,
    fetch_request,
    metadata_of,
    produce_request,
    recreate_topic,
    topic_id_of,
)
from support.clients.record_batches import build_batch
from support.gateways.gateway_fixtures import UniqueName
from support.physical_names import physical_name
from support.virtual_topics import EACH, PHYSICAL, SIZES, WAIT_S, expected, produce, read, size_of


def physical_size(topic: str) -> int:
    return PHYSICAL[topic.partition("-")[0]]


def test_brokers_have_the_physical_partitions_and_clients_see_the_virtual_ones(
    client: RawClient, direct: RawClient, topic: str
) -> None:
    await_topic(direct, physical_name("globex", topic), physical_size(topic))
    (shown,) = metadata_of(client, topic)
    (stored,) = metadata_of(direct, physical_name("globex", topic))
    described = client.request(
        DescribeTopicPartitionsRequest(
            topics=[DescribeTopicPartitionsRequest.TopicRequest(name=topic)], response_partition_limit=1
        ),
        0,
    )

    assert len(stored.partitions) == physical_size(topic)
    assert [one.partition_index for one in shown.partitions] == list(range(size_of(topic)))
    (one,) = described.topics
    assert [found.partition_index for found in one.partitions] == list(range(size_of(topic)))


def test_topics_have_the_number_of_partitions_of_the_configuration(
    endpoint: Endpoint, unique: UniqueName
) -> None:
    admin, name = AdminClient(endpoint.for_confluent), unique("even")
    with pytest.raises(KafkaException, match="12 virtual partitions"):
        admin.create_topics([NewTopic(name, 4, 1)])[name].result(WAIT_S)
    with pytest.raises(KafkaException, match="cannot be compacted"):
        admin.create_topics([NewTopic(name, 12, 1, config={"cleanup.policy": "compact,delete"})])[
            name
        ].result(WAIT_S)
    admin.create_topics([NewTopic(name, -1, 1)])[name].result(WAIT_S)

    with pytest.raises(KafkaException, match="12 virtual partitions"):
        admin.create_partitions([NewPartitions(name, 24)])[name].result(WAIT_S)
    assert len(admin.list_topics(name, timeout=WAIT_S).topics[name].partitions) == 12


def test_topics_are_never_compacted(client: RawClient, topic: str) -> None:
    new = IncrementalAlterConfigsRequest
    config = new.AlterableConfig(name="cleanup.policy", config_operation=0, value="compact")
    resource = new.AlterConfigsResource(resource_type=2, resource_name=topic, configs=[config])
    (answer,) = client.request(new(resources=[resource]), 1).responses

    assert (answer.resource_name, answer.error_code) == (topic, ErrorCode.INVALID_CONFIG)


def test_a_topic_with_another_number_of_partitions_is_refused(
    client: RawClient, direct: RawClient, unique: UniqueName
) -> None:
    name = unique("even")
    recreate_topic(direct, physical_name("globex", name), 5)
    (shown,) = metadata_of(client, name)

    assert (shown.error_code, shown.partitions) == (ErrorCode.INVALID_PARTITIONS, [])


def test_no_broker_creates_such_a_topic_by_itself(
    client: RawClient, direct: RawClient, unique: UniqueName
) -> None:
    name = unique("even")
    (shown,) = metadata_of(client, name)

    assert shown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    (stored,) = metadata_of(direct, physical_name("globex", name))
    assert stored.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def offsets(answer: Any) -> dict[int, int]:
    """Return the offsets at which batches were written, by virtual partition."""
    return {one.index: one.base_offset for topic in answer.responses for one in topic.partition_responses}


def batches(topic: str, partitions: list[int], topic_id: bytes = bytes(16), **fields: Any) -> ProduceRequest:
    """Return a request with a batch for each partition, whose value is its number."""
    new = ProduceRequest
    data = [
        new.PartitionProduceData(index=one, records=build_batch([b"%d" % one], **fields))
        for one in partitions
    ]
    named = new.TopicProduceData(name="" if any(topic_id) else topic, topic_id=topic_id, partition_data=data)
    return new(acks=-1, timeout_ms=10_000, topic_data=[named])


@pytest.mark.parametrize("producer_id", [-1, 7])
@pytest.mark.parametrize("is_by_id", [True, False])
def test_virtual_partitions_of_one_request_stay_apart(
    client: RawClient, topic: str, producer_id: int, is_by_id: bool
) -> None:
    version = client.at_most(ApiKey.PRODUCE, 13 if is_by_id else PRODUCE_BY_NAME)
    if is_by_id and version < 13:
        pytest.skip("the broker knows no topic IDs in Produce")
    topic_id = topic_id_of(client, topic) if is_by_id else bytes(16)
    fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0} if producer_id >= 0 else {}
    everything = [*range(size_of(topic)), size_of(topic), -1, 2**31 - 1]
    answer = client.request(batches(topic, everything, topic_id, **fields), version)

    assert len(answer.responses) == 1
    codes = {one.index: one.error_code for one in answer.responses[0].partition_responses}
    unknown = dict.fromkeys(everything[size_of(topic) :], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert codes == dict.fromkeys(range(size_of(topic)), 0) | unknown
    if producer_id >= 0:
        # A repetition is recognised: the offsets are those of before.
        again = client.request(batches(topic, everything, topic_id, **fields), version)
        assert offsets(again) == offsets(answer)


def test_records_without_an_answer_are_stored(
    client: RawClient, endpoint: Endpoint, unique: UniqueName
) -> None:
    name = unique("odd")
    admin = AdminClient(endpoint.for_confluent)
    admin.create_topics([NewTopic(name, SIZES["odd"], 1)])[name].result(WAIT_S)
    produce(endpoint, name, "a")
    request = batches(name, list(range(7)))
    request.acks = 0
    client.send(request, PRODUCE_BY_NAME)

    found = read(endpoint, name, unique("group"), 7 * EACH + 7)
    assert found == {one: [*values, str(one)] for one, values in expected(name, "a").items()}


def test_epochs_and_producers_are_those_of_the_physical_partitions(
    client: RawClient, endpoint: Endpoint, topic: str
) -> None:
    size = size_of(topic)
    produce(endpoint, topic, **{"enable.idempotence": True})
    partitions = list(range(size))

    sharing = {one: len(range(one % physical_size(topic), size, physical_size(topic))) for one in partitions}
    ends = {one: EACH * sharing[one] for one in partitions}
    epochs = OffsetForLeaderEpochRequest
    asked = [epochs.OffsetForLeaderPartition(partition=one, leader_epoch=0) for one in partitions]
    request = epochs(topics=[epochs.OffsetForLeaderTopic(topic=topic, partitions=asked)])
    (told,) = client.request(request, 3).topics
    assert {one.partition: one.end_offset for one in told.partitions} == ends

    described = DescribeProducersRequest.TopicRequest(name=topic, partition_indexes=partitions)
    (shown,) = client.request(DescribeProducersRequest(topics=[described]), 0).topics
    known = {
        one.partition_index: [producer.producer_id for producer in one.active_producers]
        for one in shown.partitions
    }
    assert known.keys() == set(partitions)
    assert len({tuple(ids) for ids in known.values()}) == 1
    assert all(len(ids) == 1 and ids[0] < 2**40 for ids in known.values())


def log_sizes(client: RawClient, topic: str, *partitions: int) -> dict[int, int]:
    """Return the sizes of the replicas of some partitions, each of which is answered once."""
    asked = DescribeLogDirsRequest.DescribableLogDirTopic(topic=topic, partitions=list(partitions))
    answer = client.request(DescribeLogDirsRequest(topics=[asked]), 4)
    found = [
        (one.partition_index, one.partition_size, one.offset_lag, one.is_future_key)
        for directory in answer.results
        for named in directory.topics
        for one in named.partitions
    ]
    assert {one[2:] for one in found} == {(0, False)}
    sizes = {number: size for number, size, _, _ in found}
    assert len(sizes) == len(found)
    return sizes


def test_virtual_partitions_share_the_size_of_their_physical_one(
    client: RawClient, direct: RawClient, endpoint: Endpoint, topic: str, shell: ToolShell
) -> None:
    produce(endpoint, topic)
    size, physical = size_of(topic), physical_size(topic)
    stored = log_sizes(direct, physical_name("globex", topic), *range(physical))
    shown = log_sizes(client, topic, *range(size + 3))
    some = log_sizes(client, topic, size - 1, 4, 3)
    told = json.loads(next(one for one in shell.lines(LOG_DIRS, "--describe") if one.startswith("{")))

    assert len(stored) == physical
    assert sorted(shown) == list(range(size))
    for number, whole in stored.items():
        shares = [shown[one] for one in range(number, size, physical)]
        assert (sum(shares), max(shares) - min(shares) <= 1) == (whole, True)
    assert some == {one: shown[one] for one in (size - 1, 4, 3)}
    by_name = {
        one["partition"]: one["size"]
        for broker in told["brokers"]
        for directory in broker["logDirs"]
        for one in directory["partitions"]
    }
    assert {one: by_name[f"{topic}-{one}"] for one in range(size)} == shown


def test_fetches_of_a_client_without_sense_cost_no_more_than_their_answer(
    client: RawClient, topic: str
) -> None:
    request = fetch_request(topic)
    new = type(request.topics[0].partitions[0])
    request.topics[0].partitions = [
        new(partition=one, fetch_offset=0, partition_max_bytes=1 << 20)
        for one in (-1, 2**31 - 1, size_of(topic), 0)
    ]
    answer = client.request(request, FETCH_BY_NAME)

    codes = {one.partition_index: one.error_code for one in answer.responses[0].partitions}
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {-1: unknown, 2**31 - 1: unknown, size_of(topic): unknown, 0: 0}


def test_fetch_sessions_are_not_begun_for_virtual_partitions(client: RawClient, topic: str) -> None:
    begun = client.request(fetch_request(topic, session_epoch=0), FETCH_BY_NAME)
    going_on = client.request(fetch_request(topic, session_id=7, session_epoch=3), FETCH_BY_NAME)

    assert (begun.error_code, begun.session_id) == (0, 0)
    assert going_on.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_spoilt_batches_are_not_made_right(client: RawClient, topic: str) -> None:
    records = bytearray(build_batch([b"value"]))
    records[-1] ^= 1
    for partition in (0, size_of(topic) - 1):
        request = produce_request(topic, bytes(records), partition=partition)
        answer = client.request(request, PRODUCE_BY_NAME)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.CORRUPT_MESSAGE


def test_creation_of_several_topics_is_answered_for_each(client: RawClient, unique: UniqueName) -> None:
    new, names = CreateTopicsRequest, [unique("even"), unique("odd"), unique("plain")]
    topics = [new.CreatableTopic(name=one, num_partitions=7, replication_factor=1) for one in names]
    answer = client.request(new(topics=topics, timeout_ms=10_000), 5)

    assert {one.name: (one.error_code, one.num_partitions) for one in answer.topics} == {
        names[0]: (ErrorCode.INVALID_PARTITIONS, -1),
        names[1]: (0, 7),
        names[2]: (0, 7),
    }
