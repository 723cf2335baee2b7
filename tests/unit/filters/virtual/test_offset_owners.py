from bifrost.filters.filter import Exchange
from bifrost.filters.virtual.offset_owners import owner_of
from bifrost.tenancy.virtual_partitions.java_hash import java_hash
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from support.physical_names import physical_name
from support.stage.stage import Stage


def test_offset_groups_have_the_coordinator_of_the_physical_group(stage: Stage) -> None:
    exchange = Exchange(8, 7, stage.play().session._scope)
    owner = owner_of(exchange, "app", PartitionGroup(2))

    assert owner.startswith("app-v2-")
    assert java_hash(physical_name("acme", owner)) == java_hash(physical_name("acme", "app"))
