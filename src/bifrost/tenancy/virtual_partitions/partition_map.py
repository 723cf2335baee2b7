"""Which physical partition has the records of a virtual one."""

from typing import NamedTuple, NewType

VirtualPartition = NewType("VirtualPartition", int)
PhysicalPartition = NewType("PhysicalPartition", int)
PartitionGroup = NewType("PartitionGroup", int)
"""The place of a virtual partition among those that share a physical one."""

FIRST_GROUP = PartitionGroup(0)
"""The group whose partitions are called as the brokers call them."""


class PartitionMap(NamedTuple):
    """The partitions of one topic."""

    virtual: int
    """How many clients see."""
    physical: int
    """How many brokers have."""

    @property
    def groups(self) -> int:
        """How many virtual partitions share a physical one, at the most."""
        return -(-self.virtual // self.physical)

    def has(self, partition: int) -> bool:
        """Whether there is such a virtual partition."""
        return 0 <= partition < self.virtual

    def place_of(self, partition: VirtualPartition) -> tuple[PartitionGroup, PhysicalPartition]:
        """Return the group of a virtual partition, and the physical partition that it is a part of."""
        group, physical = divmod(partition, self.physical)
        return PartitionGroup(group), PhysicalPartition(physical)

    def virtual_of(self, group: PartitionGroup, partition: PhysicalPartition) -> VirtualPartition:
        """Return the virtual partition of a group that is a part of a physical one."""
        return VirtualPartition(group * self.physical + partition)
