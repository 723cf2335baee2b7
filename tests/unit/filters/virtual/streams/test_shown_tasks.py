from types import SimpleNamespace

import pytest

from bifrost.filters.virtual.streams.shown_tasks import TASK_KINDS, UnknownTask, show_tasks
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from support.stage.streams_groups import owned, told

MAPS = {"0": PartitionMap(5, 2), "1": None}


def test_an_assignment_may_lack_kinds_of_tasks() -> None:
    answer = told(active_tasks=None)

    assert show_tasks(MAPS, answer, 9) == 9
    assert answer.active_tasks is None


@pytest.mark.parametrize(("room", "left"), [(7, 1), (6, 0), (5, None)])
def test_all_kinds_share_the_room(room: int, left: int | None) -> None:
    answer = told(**owned({"0": [1]}, {"0": [0]}, {"1": [8]}))

    assert show_tasks(MAPS, answer, room) == left
    if left is not None:
        assert [one.partitions for kind in TASK_KINDS for one in getattr(answer, kind)] == [
            [1, 3],
            [0, 2, 4],
            [8],
        ]


def test_a_task_of_no_known_subtopology_is_told() -> None:
    assert show_tasks({}, SimpleNamespace(active_tasks=[], standby_tasks=None, warmup_tasks=[]), 9) == 9
    assert show_tasks(MAPS, told(**owned({}, {"2": [1]})), 9) == UnknownTask("2")
