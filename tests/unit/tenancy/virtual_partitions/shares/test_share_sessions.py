import pytest
from hypothesis import given
from hypothesis import strategies as st

from bifrost.tenancy.virtual_partitions.partition_map import (
    PartitionGroup,
    PartitionMap,
    PhysicalPartition,
    VirtualPartition,
)
from bifrost.tenancy.virtual_partitions.shares import share_sessions
from bifrost.tenancy.virtual_partitions.shares.share_room import (
    PHYSICAL_BYTES,
    SESSION_BYTES,
    TOPIC_BYTES,
    VIRTUAL_BYTES,
    ShareRoom,
)
from bifrost.tenancy.virtual_partitions.shares.share_sessions import (
    MAX_SESSIONS,
    Key,
    Place,
    ShareSession,
    ShareSessions,
)

FIVE_ON_TWO = PartitionMap(5, 2)
ID, OTHER_ID = bytes(15) + b"\1", bytes(15) + b"\2"
ZERO, ONE = (Place(ID, PhysicalPartition(number)) for number in (0, 1))


def session_with(*numbers: int, partitions: PartitionMap = FIVE_ON_TWO) -> ShareSession:
    session = ShareSession()
    for number in numbers:
        session.add(ID, partitions, VirtualPartition(number))
    return session


def remove(session: ShareSession, *numbers: int) -> None:
    for number in numbers:
        session.remove(ID, VirtualPartition(number))


def test_the_broker_gets_a_physical_partition_with_the_last_of_its_virtual_ones() -> None:
    session = session_with(0, 2, 1)
    assert session.changes() == ([], [])
    assert session.named(ZERO) == {PartitionGroup(0), PartitionGroup(1)}

    session.add(ID, FIVE_ON_TWO, VirtualPartition(4))
    assert session.changes() == ([ZERO], [])
    assert session.is_whole(ZERO)
    assert not session.is_whole(ONE)


def test_the_broker_forgets_it_with_the_first_of_these() -> None:
    session = session_with(1, 3)
    assert session.changes() == ([ONE], [])
    session.note_told(session.change_count)
    assert session.changes() == ([], [])

    remove(session, 3)
    assert session.changes() == ([], [ONE])
    remove(session, 1)
    assert session.changes() == ([], [ONE])
    assert session.topics == {}


def test_what_was_not_told_is_said_again() -> None:
    session = session_with(1, 3)
    assert session.changes() == session.changes() == ([ONE], [])
    remove(session, 3)
    assert session.changes() == ([], [])


def test_with_a_ratio_neighbours_share_a_physical_partition() -> None:
    session = session_with(3, 4, 5, partitions=PartitionMap.of_ratio(3))
    assert session.changes() == ([ONE], [])


def test_what_it_does_not_have_is_not_removed() -> None:
    session = session_with(1)
    remove(session, 3, 9, 1, 1)
    session.remove(OTHER_ID, VirtualPartition(0))
    assert session.size == 0
    assert session.named(ONE) == frozenset()


def test_it_goes_on_with_other_partitions_of_a_topic() -> None:
    session = session_with(0, 2, 4, 3)
    session.note_told(session.change_count)

    session.divide_anew(ID, PartitionMap(6, 2))
    assert session.changes() == ([], [])
    assert session.size == 4
    session.divide_anew(ID, PartitionMap(7, 2))
    assert session.changes() == ([], [ZERO])
    session.divide_anew(ID, PartitionMap(3, 2))
    assert session.changes() == ([], [])
    assert (session.size, session.topics) == (2, {ID: PartitionMap(3, 2)})
    session.divide_anew(OTHER_ID, PartitionMap(7, 2))
    assert session.topics.keys() == {ID}


def test_a_member_begins_anew_without_partitions() -> None:
    sessions = ShareSessions()
    first = sessions.begin(("app", "m"))
    assert first is not None
    first.add(ID, FIVE_ON_TWO, VirtualPartition(1))
    assert sessions.find(("app", "m")) is first

    again = sessions.begin(("app", "m"))
    assert again is not None
    assert (first.size, again.size) == (1, 0)
    assert sessions.end(("app", "m")) is again
    assert sessions.find(("app", "m")) is None
    assert sessions.end(("app", "m")).size == 0


def test_a_connection_has_a_bounded_number_of_sessions() -> None:
    sessions = ShareSessions()
    for number in range(MAX_SESSIONS):
        assert sessions.begin(("app", str(number))) is not None

    assert sessions.begin(("app", "more")) is None
    sessions.end(("app", "0"))
    assert sessions.begin(("app", "more")) is not None


def test_what_was_changed_while_the_broker_had_a_request_is_told_with_the_next() -> None:
    session = session_with(1, 3)
    asked = session.change_count
    remove(session, 3)
    session.add(ID, PartitionMap(2, 2), VirtualPartition(3))
    remove(session, 1)

    session.note_told(asked)
    assert session.changes() == ([], [ONE])
    session.note_told(session.change_count)
    session.note_told(asked)
    assert session.changes() == ([], [])


APP: Key = ("app", "m")
EMPTY = SESSION_BYTES + len("appm")


def begun(sessions: ShareSessions, key: Key = APP) -> ShareSession:
    session = sessions.begin(key)
    assert session is not None
    return session


def added(session: ShareSession, *numbers: int, partitions: PartitionMap = FIVE_ON_TWO) -> list[bool]:
    return [session.add(ID, partitions, VirtualPartition(number)) for number in numbers]


def test_sessions_of_a_tenant_share_a_room() -> None:
    room = ShareRoom(2 * (EMPTY + TOPIC_BYTES + PHYSICAL_BYTES) + 4 * VIRTUAL_BYTES)
    one, other = begun(ShareSessions(room)), begun(ShareSessions(room))
    assert added(one, 0, 2, 0) == [True, True, True]
    assert added(other, 0, 2, 4) == [True, True, False]
    assert room.used == room.most
    assert ShareSessions(room).begin(APP) is None


def test_each_part_of_a_session_takes_its_bytes() -> None:
    room = ShareRoom()
    session = begun(ShareSessions(room))
    assert room.used == EMPTY
    added(session, 0, 2, 1)
    assert room.used == EMPTY + TOPIC_BYTES + 2 * PHYSICAL_BYTES + 3 * VIRTUAL_BYTES
    session.add(OTHER_ID, FIVE_ON_TWO, VirtualPartition(0))
    assert room.used == EMPTY + 2 * TOPIC_BYTES + 3 * PHYSICAL_BYTES + 4 * VIRTUAL_BYTES


def test_bytes_are_given_back_when_half_of_a_session_is_gone() -> None:
    room, wide = ShareRoom(), PartitionMap(1000, 10)
    session = begun(ShareSessions(room))
    added(session, *range(1000), partitions=wide)
    session.note_told(session.change_count)
    held = room.used

    remove(session, *range(400))
    assert session.has_room()
    assert room.used == held

    remove(session, *range(400, 990))
    assert session.has_room()
    assert room.used == EMPTY + TOPIC_BYTES + 10 * (PHYSICAL_BYTES + VIRTUAL_BYTES)
    assert session.size == 10
    assert session.topics == {ID: wide}
    assert session.named(ZERO) == {PartitionGroup(99)}
    assert session.changes() == ([], [Place(ID, PhysicalPartition(number)) for number in range(10)])


def test_a_session_has_its_bytes_until_it_is_gone() -> None:
    room = ShareRoom()
    sessions = ShareSessions(room)
    added(begun(sessions), 1, 3)
    # A request is under way that was of the session.
    under_way = begun(sessions)
    added(under_way, 0)

    begun(sessions)
    assert room.used == 2 * EMPTY + TOPIC_BYTES + PHYSICAL_BYTES + VIRTUAL_BYTES
    under_way = sessions.end(APP)
    assert room.used == EMPTY
    del under_way
    assert room.used == 0

    begun(sessions)
    del sessions
    assert room.used == 0, "the connection has ended"


def test_what_the_broker_was_not_told_takes_bytes_as_well() -> None:
    room = ShareRoom(EMPTY + TOPIC_BYTES + 3 * (PHYSICAL_BYTES + VIRTUAL_BYTES))
    session = begun(ShareSessions(room))
    for _ in range(8):
        added(session, 1, 3)
        remove(session, 1, 3)
    assert not session.has_room()

    session.note_told(session.change_count)
    assert room.used == EMPTY


def test_long_names_take_bytes() -> None:
    room = ShareRoom()
    session = begun(ShareSessions(room), ("g" * 1000, "m" * 1000))
    assert session.size == 0
    assert room.used == SESSION_BYTES + 2000

    assert ShareSessions(ShareRoom(SESSION_BYTES + 1999)).begin(("g" * 1000, "m" * 1000)) is None


def test_sessions_of_a_connection_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    most = 2 * (EMPTY + TOPIC_BYTES + PHYSICAL_BYTES) + 3 * VIRTUAL_BYTES
    monkeypatch.setattr(share_sessions, "MAX_BYTES_OF_ONE", most)
    sessions, room = ShareSessions(), ShareRoom()
    added(begun(sessions), 0, 2)

    assert added(begun(sessions, ("app", "n")), 0, 2) == [True, False]
    assert all(added(begun(ShareSessions(room)), 0, 2)), "another connection has its own"


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.booleans())))
@pytest.mark.parametrize("partitions", [PartitionMap(7, 3), PartitionMap.of_ratio(2)])
def test_the_broker_has_what_the_member_has_whole(
    partitions: PartitionMap, steps: list[tuple[bool, int, bool]]
) -> None:
    """After each step the broker is told, or it does not take the request."""
    session, named, told = ShareSession(), set[int](), set[Place]()
    for is_added, number, is_taken in steps:
        if is_added:
            session.add(ID, partitions, VirtualPartition(number))
            named.add(number)
        else:
            session.remove(ID, VirtualPartition(number))
            named.discard(number)
        added, removed = session.changes()
        if is_taken:
            told = (told | set(added)) - set(removed)
            session.note_told(session.change_count)
            whole = {
                Place(ID, physical)
                for physical in {partitions.place_of(VirtualPartition(one))[1] for one in named}
                if set(partitions.all_of(physical)) <= named
            }
            assert told == whole
        assert session.size == len(named)
