from bifrost.filters.virtual.streams.known_members import (
    ASKED_FOR_MS,
    MAX_REMEMBERED,
    KnownMember,
    KnownMembers,
    MemberKey,
)
from bifrost.tenancy.virtual_partitions.partition_map import PartitionMap
from bifrost.tenancy.virtual_partitions.task_maps import TaskMaps

MAPS: TaskMaps = {"0": PartitionMap(5, 2), "1": None}
M: MemberKey = ("", "app", "m")


def member(epoch: int, maps: TaskMaps = MAPS) -> KnownMember:
    return KnownMember(epoch, maps, is_told=True)


def test_a_member_is_known_by_the_epoch_that_it_was_told_last() -> None:
    members = KnownMembers()
    assert members.find(M, 4) is None

    members.put(M, member(4))
    assert members.find(M, 4) == member(4)
    assert members.find(M, 3) is None
    assert members.find(M, 5) is None
    assert members.find(("eu", "app", "m"), 4) is None

    members.put(M, member(5, {}))
    assert members.find(M, 4) is None
    assert members.find(M, 5) == member(5, {})

    members.forget(M)
    members.forget(M)
    assert members.find(M, 5) is None


def test_members_and_subtopologies_are_counted() -> None:
    members, each = KnownMembers(), 9
    maps: TaskMaps = dict.fromkeys(map(str, range(each)))
    count = MAX_REMEMBERED // (each + 1)
    for number in range(count):
        members.put(("", "app", str(number)), member(4, maps))
    # What is put again is not counted twice, and is the newest then.
    members.put(("", "app", "0"), member(5, maps))
    members.forget(("", "app", "9"))
    members.put(("", "app", "other"), member(4, maps))
    assert members.find(("", "app", "1"), 4) is not None

    members.put(("", "app", "one more"), member(4, {}))

    assert members.find(("", "app", "1"), 4) is None
    assert members.find(("", "app", "0"), 5) is not None
    assert members.find(("", "app", "2"), 4) is not None


def test_a_member_is_remembered_however_large_its_topology_is() -> None:
    members = KnownMembers()
    members.put(M, member(4, dict.fromkeys(map(str, range(MAX_REMEMBERED)))))

    assert members.find(M, 4) is not None
    members.put(("", "app", "n"), member(4))
    assert members.find(M, 4) is None


def test_a_group_is_not_asked_about_all_the_time() -> None:
    members = KnownMembers()

    assert members.may_ask("", "app", 5)
    assert not members.may_ask("", "app", 4 + ASKED_FOR_MS)
    assert members.may_ask("", "app", 5 + ASKED_FOR_MS)
    assert members.may_ask("eu", "app", 5)
