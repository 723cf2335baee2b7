"""Single requests that name very much."""

from collections.abc import Iterator

from bench.frames import CLIENT_ID, record_batch
from bench.hostile.attack import Evidence, attack
from bench.hostile.field import Field
from bench.hostile.shapes import Shape, build, tagged_fields
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.headers import REQUEST_PREFIX
from bifrost.wire.messages import FetchRequest, MetadataRequest, ProduceRequest
from bifrost.wire.schema import request_schema

MIB = 1 << 20


def _flood(field: Field, key: ApiKey, version: int, size: int, shape: Shape = Shape.LISTS) -> Iterator[None]:
    """Send a request of a size, and smaller ones that are a little below the gateway's limits, by turns."""
    schema, sizes = request_schema(key), (size - 8192, 96 * 1024, 20 * 1024)
    frames = [build(schema, version, shape, field.size(one)) for one in sizes if one <= size]
    yield
    field.flood(frames, connections=2)


@attack("FindCoordinator with 1 MiB of keys", is_warmed=True)
def find_coordinator_1_mib(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.FIND_COORDINATOR, 4, MIB)


@attack("FindCoordinator with 4 MiB of keys", is_warmed=True)
def find_coordinator_4_mib(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.FIND_COORDINATOR, 4, 4 * MIB)


@attack("FindCoordinator with 64 KiB of keys, without end", is_warmed=True)
def find_coordinator_64_kib(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.FIND_COORDINATOR, 4, MIB // 16)


@attack("Produce with 12 MiB of distinct topics")
def produce_12_mib_of_names(field: Field) -> Iterator[None]:
    count = field.size(12 * MIB) // 24
    partition = ProduceRequest.PartitionProduceData(index=0, records=b"")
    topics = [
        ProduceRequest.TopicProduceData(name=f"topic{number:09d}", partition_data=[partition])
        for number in range(count)
    ]
    frame = field.frame(ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics), 9)
    yield
    field.flood([frame], connections=1)


@attack("Produce with a record for 10,000 partitions of one topic")
def produce_many_partitions(field: Field) -> Iterator[None]:
    batch, _ = record_batch(200, 20)
    partitions = [
        ProduceRequest.PartitionProduceData(index=number, records=batch)
        for number in range(field.size(10_000))
    ]
    topic = ProduceRequest.TopicProduceData(name=field.target.topic, partition_data=partitions)
    frame = field.frame(ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]), 9)
    yield
    field.flood([frame], connections=2)


@attack("Fetch of 50,000 partitions of one topic")
def fetch_many_partitions(field: Field) -> Iterator[None]:
    partitions = [
        FetchRequest.FetchPartition(partition=number % 8, partition_max_bytes=1)
        for number in range(field.size(50_000))
    ]
    topic = FetchRequest.FetchTopic(topic=field.target.topic, partitions=partitions)
    frame = field.frame(FetchRequest(max_wait_ms=0, session_epoch=-1, topics=[topic]), 12)
    yield
    field.flood([frame], connections=2)


@attack("Metadata of 1 MiB of names, whether they exist or not")
def metadata_1_mib(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.METADATA, 12, MIB)


@attack("Metadata that names its own topic 50,000 times")
def metadata_of_one_topic(field: Field) -> Iterator[None]:
    topic = MetadataRequest.MetadataRequestTopic(name=field.target.topic)
    frame = field.frame(MetadataRequest(topics=[topic] * field.size(50_000)), 9)
    yield
    field.flood([frame], connections=2)


@attack("OffsetFetch with 1 MiB of groups", is_warmed=True)
def offset_fetch_groups(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.OFFSET_FETCH, 8, MIB)


@attack("OffsetFetch with 1 MiB of topics of a group", is_warmed=True)
def offset_fetch_topics(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.OFFSET_FETCH, 8, MIB, Shape.DEEP)


@attack("OffsetCommit with 1 MiB of topics", is_warmed=True)
def offset_commit(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.OFFSET_COMMIT, 8, MIB)


@attack("ListOffsets with 1 MiB of topics", is_warmed=True)
def list_offsets(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.LIST_OFFSETS, 7, MIB)


@attack("DescribeGroups with 1 MiB of groups")
def describe_groups(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.DESCRIBE_GROUPS, 5, MIB)


@attack("DeleteGroups with 1 MiB of groups")
def delete_groups(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.DELETE_GROUPS, 2, MIB)


@attack("DescribeConfigs with 1 MiB of resources")
def describe_configs(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.DESCRIBE_CONFIGS, 4, MIB)


@attack("CreateTopics with 1 MiB of names, only to be validated")
def create_topics(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.CREATE_TOPICS, 7, MIB)


@attack("DeleteTopics with 1 MiB of names")
def delete_topics(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.DELETE_TOPICS, 6, MIB)


@attack("AddPartitionsToTxn with 1 MiB of topics", is_warmed=True)
def add_partitions_to_txn(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.ADD_PARTITIONS_TO_TXN, 3, MIB)


@attack("JoinGroup with 1 MiB of protocols")
def join_group_protocols(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.JOIN_GROUP, 9, MIB)


@attack("ApiVersions with 500 KiB of tagged fields")
def tagged_fields_of_a_body(field: Field) -> Iterator[None]:
    yield from _flood(field, ApiKey.API_VERSIONS, 4, MIB // 2, Shape.TAGS)


@attack("requests with 500 KiB of tagged fields in their headers", evidence=Evidence.CONNECTIONS)
def tagged_fields_of_headers(field: Field) -> Iterator[None]:
    head = REQUEST_PREFIX.pack(ApiKey.API_VERSIONS, 3, 1, len(CLIENT_ID)) + CLIENT_ID
    body = head + tagged_fields(field.size(MIB // 2)) + b"\x02x\x02x\0"
    frame = len(body).to_bytes(4, "big") + body
    yield
    field.flood([frame], connections=2)
