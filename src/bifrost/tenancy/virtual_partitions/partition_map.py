"""Which physical partition has the records of a virtual one.

fixed numbers   physical = v % P, group = v // P            V may be raised: P stays, and no place changes
a ratio R       physical = v // R, group = v % R, V = R * P   P may be raised, V follows, and no place changes
"""

from typing import NamedTuple, NewType

VirtualPartition = NewType("VirtualPartition", int)
PhysicalPartition = NewType("PhysicalPartition", int)
PartitionGroup = NewType("PartitionGroup", int)
"""The place of a virtual partition among those that share a physical one."""

FIRST_GROUP = PartitionGroup(0)
"""The group of what was written before a topic had virtual partitions."""

MAX_VIRTUAL, MAX_PHYSICAL = 51_200, 1_000
"""Most partitions of a topic that clients see, and that brokers have, as in the configuration."""


class PartitionMap(NamedTuple):
    """The partitions of one topic."""

    virtual: int
    """How many clients see; with a ratio, at the most."""
    physical: int
    """How many brokers have; with a ratio, at the most."""
    ratio: int = 0
    """How many virtual partitions, which follow each other, are those of a physical one; 0: the numbers are fixed."""
    is_keyed: bool = False
    """Whether the topic may be compacted: at the brokers the keys of its records begin with their group."""

    @classmethod
    def of_ratio(cls, ratio: int, *, is_keyed: bool = False) -> "PartitionMap":
        """Return the partitions of topics that have as many as their clients ask for."""
        physical = min(MAX_PHYSICAL, MAX_VIRTUAL // ratio)
        return cls(physical * ratio, physical, ratio, is_keyed)

    def at(self, physical: int) -> "PartitionMap | None":
        """Return the partitions of a topic of which brokers have so many; None: it must not have so many."""
        if not self.ratio:
            return self if physical == self.physical else None
        if not 0 < physical <= self.physical:
            return None
        return self._replace(virtual=physical * self.ratio, physical=physical)

    @property
    def groups(self) -> int:
        """How many virtual partitions share a physical one, at the most."""
        return self.ratio or -(-self.virtual // self.physical)

    def has(self, partition: int) -> bool:
        """Whether there is such a virtual partition; with a ratio, whether there may be: the brokers know."""
        return 0 <= partition < self.virtual

    def place_of(self, partition: VirtualPartition) -> tuple[PartitionGroup, PhysicalPartition]:
        """Return the group of a virtual partition, and the physical partition that it is a part of."""
        if self.ratio:
            physical, group = divmod(partition, self.ratio)
        else:
            group, physical = divmod(partition, self.physical)
        return PartitionGroup(group), PhysicalPartition(physical)

    def virtual_of(self, group: PartitionGroup, partition: PhysicalPartition) -> VirtualPartition:
        """Return the virtual partition of a group that is a part of a physical one."""
        if self.ratio:
            return VirtualPartition(partition * self.ratio + group)
        return VirtualPartition(group * self.physical + partition)

    def all_of(self, partition: PhysicalPartition) -> range:
        """Return the virtual partitions that are parts of a physical one."""
        if self.ratio:
            return range(partition * self.ratio, (partition + 1) * self.ratio)
        return range(partition, self.virtual, self.physical)

    def at_brokers(self, virtual: int) -> int:
        """Return how many partitions brokers have for so many virtual ones; a number that cannot be is rounded up."""
        return -(-virtual // self.ratio) if self.ratio else self.physical


def partitions_of(
    virtual: int | None, physical: int | None, ratio: int | None, *, is_keyed: bool = False
) -> PartitionMap:
    """Return the partitions that a rule of the configuration gives: two numbers, or a ratio alone."""
    if ratio is not None:
        return PartitionMap.of_ratio(ratio, is_keyed=is_keyed)
    assert virtual is not None, "the configuration was checked"
    assert physical is not None, "the configuration was checked"
    return PartitionMap(virtual, physical, is_keyed=is_keyed)
