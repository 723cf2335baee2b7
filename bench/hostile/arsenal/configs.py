"""What a tenant may ask the brokers to do with its topics."""

import contextlib
from collections.abc import Iterator

from bench.frames import produce, record_batch
from bench.hostile.attack import attack
from bench.hostile.field import Field
from bifrost.wire.messages import CreateTopicsRequest, DeleteTopicsRequest, MetadataRequest

COSTLY = {
    "internal.segment.bytes": "100",
    "segment.bytes": "14",
    "flush.messages": "1",
    "preallocate": "true",
    "index.interval.bytes": "0",
}


def _delete(field: Field, names: list[str]) -> None:
    client = field.client()
    with contextlib.closing(client):
        topics = [DeleteTopicsRequest.DeleteTopicState(name=one) for one in names]
        client.request(DeleteTopicsRequest(topics=topics, timeout_ms=30_000), 6)


@attack("topics whose configs make every record a file, or a write to the disk", is_warmed=True)
def costly_configs(field: Field) -> Iterator[None]:
    batch, _ = record_batch(300, 200)
    yield
    client, made = field.client(), []
    for number, (key, value) in enumerate(COSTLY.items()):
        config = CreateTopicsRequest.CreatableTopicConfig(name=key, value=value)
        topic = CreateTopicsRequest.CreatableTopic(
            name=f"costly{number}", num_partitions=1, replication_factor=-1, configs=[config]
        )
        answer = client.request(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 6)
        field.sent.frames += 1
        if answer.topics[0].error_code == 0:
            made.append(f"costly{number}")
    client.close()
    field.note(f"made with {len(made)} of {len(COSTLY)} configs")
    frames = [field.frame(produce(name, b"", 9, 0, batch), 9) for name in made]
    field.flood(frames or [field.frame(MetadataRequest(topics=[]), 12)], connections=4)
    if made:
        _delete(field, made)


@attack("topics of 200 partitions, made as fast as they come", seconds=4, is_warmed=True)
def many_partitions(field: Field) -> Iterator[None]:
    yield
    client, made = field.client(), []
    while field.goes_on() and len(made) < 5:
        name = f"wide{len(made)}"
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=200, replication_factor=-1)
        field.sent.frames += 1
        if client.request(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 6).topics[0].error_code:
            break
        made.append(name)
    field.note(f"{len(made)} made")
    client.close()
    field.hold([])
    if made:
        _delete(field, made)


@attack("topics that are made by asking for them, a new one each time", seconds=4, is_warmed=True)
def automatic_topics(field: Field) -> Iterator[None]:
    names = [f"automatic{number}" for number in range(150)]
    topics = [MetadataRequest.MetadataRequestTopic(name=one) for one in names]
    frames = [field.frame(MetadataRequest(topics=[one]), 12) for one in topics]
    yield
    field.flood(frames, connections=2, is_endless=False)
    _delete(field, names)
