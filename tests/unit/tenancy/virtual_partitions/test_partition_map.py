from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap, VirtualPartition


@st.composite
def maps(draw: st.DrawFn) -> PartitionMap:
    physical = draw(st.integers(1, 200))
    return PartitionMap(draw(st.integers(physical + 1, physical * 20)), physical)


@given(maps())
def test_every_virtual_partition_has_a_place_of_its_own(partitions: PartitionMap) -> None:
    places = [partitions.place_of(VirtualPartition(one)) for one in range(partitions.virtual)]

    assert len(set(places)) == partitions.virtual
    assert {physical for _, physical in places} == set(range(partitions.physical))
    assert {group for group, _ in places} == set(range(partitions.groups))
    assert [partitions.virtual_of(*place) for place in places] == list(range(partitions.virtual))


@given(maps(), st.integers(1, 100))
def test_more_virtual_partitions_move_none(partitions: PartitionMap, more: int) -> None:
    grown = partitions._replace(virtual=partitions.virtual + more)

    assert all(
        grown.place_of(VirtualPartition(one)) == partitions.place_of(VirtualPartition(one))
        for one in range(partitions.virtual)
    )


def test_a_group_need_not_be_full() -> None:
    seven_on_three = PartitionMap(7, 3)

    assert [seven_on_three.place_of(VirtualPartition(one)) for one in (0, 2, 3, 6)] == [
        (0, 0),
        (0, 2),
        (1, 0),
        (2, 0),
    ]
    assert [one for one in range(-2, 10) if seven_on_three.has(one)] == list(range(7))
    assert seven_on_three.groups == 3
