"""Virtual partitions in streams groups (KIP-1071), whose coordinator makes tasks of the partitions of a topology.

The coordinator knows the physical partitions alone. A member is shown the tasks of all virtual partitions of each task
that it is assigned, and has that one as long as it has any of them. For that all topics of a part of the topology are
divided alike (tenancy/virtual_partitions/task_maps.py).
"""
