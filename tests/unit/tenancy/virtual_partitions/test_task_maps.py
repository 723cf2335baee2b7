import pytest

from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.task_maps import (
    OtherMap,
    map_of_all,
    physical_task,
    physical_tasks,
    virtual_tasks,
)

ON_TWO, OF_RATIO = PartitionMap(5, 2), PartitionMap.of_ratio(3)
KEYED = PartitionMap(5, 2, is_keyed=True)


@pytest.mark.parametrize(
    ("maps", "expected"),
    [
        ([], None),
        ([None, None], None),
        ([ON_TWO], ON_TWO),
        ([KEYED, ON_TWO, KEYED], ON_TWO),
        ([OF_RATIO, PartitionMap.of_ratio(3, is_keyed=True)], OF_RATIO),
    ],
)
def test_topics_that_are_divided_alike(
    maps: list[PartitionMap | None], expected: PartitionMap | None
) -> None:
    assert map_of_all((f"topic-{at}", one) for at, one in enumerate(maps)) == expected


@pytest.mark.parametrize(
    ("maps", "text"),
    [
        (
            {"orders": ON_TWO, "store-changelog": None},
            "orders has 5 virtual partitions on 2, store-changelog has no virtual partitions",
        ),
        (
            {"orders": ON_TWO, "more": PartitionMap(6, 2)},
            "orders has 5 virtual partitions on 2, more has 6 virtual partitions on 2",
        ),
        (
            {"orders": OF_RATIO, "one": OF_RATIO, "more": PartitionMap.of_ratio(4)},
            "orders has a ratio of 3, more has a ratio of 4",
        ),
    ],
)
def test_topics_that_are_not_are_named(maps: dict[str, PartitionMap | None], text: str) -> None:
    assert map_of_all(maps.items()) == OtherMap(text)


def test_few_topics_are_named() -> None:
    found = map_of_all((f"topic-{at}", PartitionMap(at + 5, 2)) for at in range(100))

    assert isinstance(found, OtherMap)
    assert found.text.endswith("topic-4 has 9 virtual partitions on 2")


@pytest.mark.parametrize(
    ("partitions", "tasks", "virtual"),
    [
        (ON_TWO, [0], [0, 2, 4]),
        (ON_TWO, [1, 0], [1, 3, 0, 2, 4]),
        (ON_TWO, [2, -1, 1], [1, 3]),
        (OF_RATIO, [0, 2], [0, 1, 2, 6, 7, 8]),
        (OF_RATIO, [1000], []),
        (None, [7, 2], [7, 2]),
        (ON_TWO, [], []),
    ],
)
def test_a_task_is_that_of_all_virtual_partitions(
    partitions: PartitionMap | None, tasks: list[int], virtual: list[int]
) -> None:
    assert virtual_tasks(partitions, tasks, len(virtual)) == virtual
    if virtual:
        assert virtual_tasks(partitions, tasks, len(virtual) - 1) is None


@pytest.mark.parametrize(
    ("partitions", "tasks", "physical"),
    [
        (ON_TWO, [0, 2, 4], [0]),
        (ON_TWO, [4], [0]),
        (ON_TWO, [3, 0], [1, 0]),
        (ON_TWO, [5, -1], [5, -1]),
        (OF_RATIO, [11, 3, 3000], [3, 1, 3000]),
        (None, [7, 2, 7], [7, 2]),
    ],
)
def test_a_task_is_there_as_long_as_one_of_its_virtual_ones_is(
    partitions: PartitionMap | None, tasks: list[int], physical: list[int]
) -> None:
    assert physical_tasks(partitions, tasks) == physical
    assert [physical_task(partitions, one) for one in tasks][:1] == physical[:1]
