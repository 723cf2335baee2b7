"""The way of a topic's records through the steps of its transforms: see topic_way.pyx."""

from collections.abc import Sequence

from bifrost.filters.records.record_topics import TopicChain
from bifrost.filters.records.tenant_records import TenantRecords
from bifrost.transforms.record_transform import BatchTransform, Direction, RecordTransform
from bifrost.wire.rewriting import RecordWay

class TopicWay(RecordWay):
    """The way of the records of one topic.

    Args:
        name: what the topic is called on the other side, or its ID.
        records: of the tenant.
        chain: the topic's; all of its transforms have steps.
        direction: of the messages.
    """

    def __init__(
        self, name: bytes, records: TenantRecords, chain: TopicChain, direction: Direction
    ) -> None: ...

def has_steps(transforms: Sequence[RecordTransform | BatchTransform], direction: Direction) -> bool:
    """Whether each of these transforms has a step, so that their topic may have a way."""
