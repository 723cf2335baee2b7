"""Topics that show clients more partitions than the brokers have, and the index of where these partitions end.

The topics are elements of `virtual_partitions` of a tenant, the index is the section `proxy.partition_index`.
"""

from pydantic import Field, model_validator

from bifrost.config.records.filter_rule import MAX_PATTERNS, TopicPattern
from bifrost.config.section import Section
from bifrost.config.values import Count, Flag, SizeBytes, TopicName

PARTITION_INDEX_TOPIC = "__bifrost_partition_index"
"""The default topic of the index: it belongs to no tenant, whatever the prefixes of the tenants are."""

MAX_RULES = 100
"""Most rules of one tenant: each new topic of a client is compared with all."""

MAX_VIRTUAL, MAX_PHYSICAL = 51_200, 1_000
"""Most partitions of a topic that clients see, and that brokers have. 51,200 are 512 for each of 100: Metadata about
them has 1.5 MB."""

MAX_SHARING = 512
"""Most virtual partitions that share a physical one. A consumer of one reads, and drops, the records of the others, and
a consumer group has its offsets in as many groups at the brokers."""

MAX_KEYED_SHARING = 128
"""Most of a topic that may be compacted: the number of a group is a byte before each key, and 255 begins a claim."""


class VirtualPartitions(Section):
    """Topics with virtual partitions. See [virtual-partitions.md](virtual-partitions.md)."""

    topics: tuple[TopicPattern, ...] = Field(min_length=1, max_length=MAX_PATTERNS, examples=["[orders]"])
    """Names of topics, of which one has to match; `*` in them stands for any characters, also none. A topic of a
    namespace is called `eu:orders` here, as clients of the whole tenant see it. Required."""

    virtual: Count | None = Field(default=None, ge=1, le=MAX_VIRTUAL)
    """How many partitions clients see. It may be raised later, and no record moves. Default: `ratio` stands in its
    place."""

    physical: Count | None = Field(default=None, ge=1, le=MAX_PHYSICAL)
    """How many partitions the brokers have, at most `virtual`; with the same number the topics have no virtual
    partitions, and no later rule is for them. Virtual partition `v` is part of physical partition `v % physical`; at
    most 512 share one, or 128 of a topic that may be compacted. It must not be changed as long as the topic has
    records. Default: `ratio` stands in its place."""

    ratio: Count | None = Field(default=None, ge=1, le=MAX_SHARING)
    """How many partitions clients see for one that the brokers have, in place of `virtual` and `physical`: clients say
    how many a topic has when they create it, and may add some later, each time a multiple of this. Virtual partition
    `v` is part of physical partition `v / ratio`. It must not be changed as long as the topics have records. 1 means
    that the topics have no virtual partitions, and no later rule is for them. Default: the numbers are fixed."""

    compacted: Flag = False
    """Whether the topics may be compacted: `cleanup.policy` may have `compact`, and each virtual partition has keys of
    its own, because at the brokers the keys of records begin with a byte for it. Records need keys, whatever the policy
    of the topic, and batches are unpacked on both ways. For topics that are created with it: it must not be changed as
    long as the topics have records. Default `false`."""

    @model_validator(mode="after")
    def _check_numbers(self) -> "VirtualPartitions":
        if self.ratio is not None:
            if self.virtual is not None or self.physical is not None:
                raise ValueError("ratio stands in place of virtual and physical: remove them, or ratio")
            self._check_compacted(self.ratio)
            return self
        if self.virtual is None or self.physical is None:
            raise ValueError("virtual and physical are missing: add both, or ratio in their place")
        if self.virtual < self.physical:
            raise ValueError(f"virtual {self.virtual} is less than physical {self.physical}: raise it")
        sharing = -(-self.virtual // self.physical)
        if sharing > MAX_SHARING:
            raise ValueError(
                f"{sharing} virtual partitions would share a physical one: at most {MAX_SHARING} do"
            )
        self._check_compacted(sharing)
        return self

    def _check_compacted(self, sharing: int) -> None:
        if self.compacted and sharing == 1:
            raise ValueError("compacted is for virtual partitions that share a physical one: remove it")
        if self.compacted and sharing > MAX_KEYED_SHARING:
            raise ValueError(
                f"{sharing} virtual partitions of a compacted topic would share a physical one: "
                f"at most {MAX_KEYED_SHARING} do"
            )


class PartitionIndex(Section):
    """The index of where virtual partitions end, in a compacted topic on each physical cluster that has some.

    Every key has a default, and without the section all of them are in force. As long as no tenant has virtual
    partitions, no topic is created or read. See [virtual-partitions.md](virtual-partitions.md#the-index). A change
    needs a restart. All gateways of a platform need the same section.
    """

    enabled: Flag = True
    """Whether there is an index. Without it the end of a virtual partition is at the least 8,192 offsets, and less than
    twice as many, before that of its physical one, and consumers that are stopped have a lag up to there. Default
    `true`."""

    topic: TopicName = PARTITION_INDEX_TOPIC
    """Name of the topic. No tenant's prefix may be the start of it. Default `__bifrost_partition_index`."""

    partitions: Count = Field(default=1, ge=1, le=10_000)
    """Partitions of the topic: 1, the default, and nothing else, because the order of one partition decides which
    gateway reads logs for the index."""

    replication_factor: Count = Field(default=-1, ge=-1, le=32767)
    """Replicas of the partition, if the gateway creates the topic. Default -1, the cluster's own
    `default.replication.factor`. If the topic is lost, the index is built anew from the logs."""

    max_scan_bytes_per_second: SizeBytes = Field(default=8_388_608, ge=0, le=2**31 - 1)
    """Most bytes that one of the gateways reads in a second of each physical cluster for the index, where no request
    of a client does. Default 8 MiB; with 0 it reads nothing, and only what requests have read is in the index."""
