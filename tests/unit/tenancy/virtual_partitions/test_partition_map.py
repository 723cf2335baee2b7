import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.partition_map import (
    PartitionMap,
    PhysicalPartition,
    VirtualPartition,
    partitions_of,
)


@st.composite
def fixed(draw: st.DrawFn) -> PartitionMap:
    physical = draw(st.integers(1, 200))
    return PartitionMap(draw(st.integers(physical + 1, physical * 20)), physical)


@st.composite
def of_ratio(draw: st.DrawFn) -> PartitionMap:
    found = PartitionMap.of_ratio(draw(st.integers(2, 512))).at(draw(st.integers(1, 20)))
    assert found is not None
    return found


def maps() -> st.SearchStrategy[PartitionMap]:
    return st.one_of(fixed(), of_ratio())


@given(maps())
def test_every_virtual_partition_has_a_place_of_its_own(partitions: PartitionMap) -> None:
    places = [partitions.place_of(VirtualPartition(one)) for one in range(partitions.virtual)]

    assert len(set(places)) == partitions.virtual
    assert {physical for _, physical in places} == set(range(partitions.physical))
    assert {group for group, _ in places} == set(range(partitions.groups))
    assert [partitions.virtual_of(*place) for place in places] == list(range(partitions.virtual))
    for physical in map(PhysicalPartition, range(partitions.physical)):
        assert {places[one][1] for one in partitions.all_of(physical)} == {physical}
    assert sum(len(partitions.all_of(PhysicalPartition(one))) for one in range(partitions.physical)) == len(
        places
    )


@given(of_ratio(), st.integers(1, 8))
def test_more_physical_partitions_of_a_ratio_move_none(partitions: PartitionMap, more: int) -> None:
    whole = PartitionMap.of_ratio(partitions.ratio)
    grown = whole.at(partitions.physical + more)

    assert grown is not None
    assert grown.virtual == partitions.virtual + more * partitions.ratio
    for one in range(partitions.virtual):
        place = partitions.place_of(VirtualPartition(one))
        assert grown.place_of(VirtualPartition(one)) == whole.place_of(VirtualPartition(one)) == place


@given(fixed(), st.integers(1, 100))
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


def test_a_ratio_bounds_both_numbers() -> None:
    assert PartitionMap.of_ratio(3)[:3] == (3_000, 1_000, 3)
    assert PartitionMap.of_ratio(128)[:3] == (51_200, 400, 128)


@pytest.mark.parametrize(
    ("partitions", "physical", "expected"),
    [
        (PartitionMap(7, 3), 3, (7, 3, 0)),
        (PartitionMap(7, 3), 4, None),
        (PartitionMap.of_ratio(3), 4, (12, 4, 3)),
        (PartitionMap.of_ratio(3), 0, None),
        (PartitionMap.of_ratio(128), 401, None),
    ],
)
def test_brokers_may_have_any_number_only_with_a_ratio(
    partitions: PartitionMap, physical: int, expected: tuple[int, int, int] | None
) -> None:
    found = partitions.at(physical)
    assert (None if found is None else found[:3]) == expected


def test_brokers_have_what_virtual_partitions_need() -> None:
    assert [PartitionMap(7, 3).at_brokers(one) for one in (1, 7, 9)] == [3, 3, 3]
    assert [PartitionMap.of_ratio(3).at_brokers(one) for one in (1, 3, 4, 12)] == [1, 1, 2, 4]


def test_rules_give_two_numbers_or_a_ratio() -> None:
    assert partitions_of(7, 3, None) == PartitionMap(7, 3)
    assert partitions_of(None, None, 3) == PartitionMap.of_ratio(3)
