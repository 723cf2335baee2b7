"""Share sessions at a single address: epochs, which broker has which partition, and what all clients hold together."""

import pytest

from bifrost.routes.shares.share_session import (
    MAX_EPOCH,
    NO_NODE,
    PARTITION_BYTES,
    SESSION_BYTES,
    TOLD_BYTES,
    BrokerSession,
    Key,
    ShareSession,
    next_epoch,
)
from bifrost.wire.error_codes import ErrorCode

TOPIC = bytes(15) + b"t"


UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def key(index: int) -> Key:
    return TOPIC, index


def keys(*indexes: int) -> list[Key]:
    return [key(one) for one in indexes]


def odd_and_even(one: Key) -> int:
    return 1 if one[1] % 2 else 2


def exists(_: Key) -> ErrorCode:
    return ErrorCode.NONE


def placed(*indexes: int) -> ShareSession:
    """A session whose odd partitions are led by broker 1, and the others by broker 2."""
    session = ShareSession()
    session.begin(keys(*indexes))
    session.place(odd_and_even, exists)
    return session


def opened(*indexes: int) -> ShareSession:
    """Likewise, and each broker was polled once."""
    session = placed(*indexes)
    for broker in session.brokers.values():
        broker.take_epoch()
        broker.take_changes()
    return session


@pytest.mark.parametrize(("epoch", "following"), [(0, 1), (1, 2), (MAX_EPOCH, 1)])
def test_epochs_count_and_begin_again_with_one(epoch: int, following: int) -> None:
    assert next_epoch(epoch) == following


def test_a_request_that_is_not_the_next_one_is_refused() -> None:
    session = ShareSession()
    session.begin([])

    session.go_on()

    assert session.refusal(1) == ErrorCode.NONE
    assert session.refusal(0) == session.refusal(2) == ErrorCode.INVALID_SHARE_SESSION_EPOCH


def test_a_broker_is_told_what_has_changed() -> None:
    broker = BrokerSession(1)
    assert not broker.is_open

    broker.want(keys(1, 3))
    assert (broker.take_epoch(), broker.take_changes()) == (0, (keys(1, 3), []))
    assert broker.is_open
    assert (broker.take_epoch(), broker.take_changes()) == (1, ([], []))
    broker.want(keys(3, 5))

    assert (broker.take_epoch(), broker.take_changes()) == (2, (keys(5), keys(1)))
    broker.want(keys(5, 3))
    assert broker.take_changes() == ([], [])


def test_each_leader_has_its_partitions() -> None:
    session = placed(1, 2, 3)

    assert {node: list(one.wanted) for node, one in session.brokers.items()} == {1: keys(1, 3), 2: keys(2)}
    assert session.is_placed


def test_a_partition_moves_to_its_new_leader() -> None:
    session = opened(1, 2, 3)

    session.place(lambda _: 3, exists)

    assert {node: one.take_changes() for node, one in session.brokers.items()} == {
        1: ([], keys(1, 3)),
        2: ([], keys(2)),
        3: (keys(1, 2, 3), []),
    }


def test_named_partitions_come_and_forgotten_ones_go() -> None:
    session = opened(1, 2)

    session.change(keys(1, 4, 6), keys(2, 6, 8))

    assert list(session.partitions) == keys(1, 4)
    assert not session.is_placed
    session.place(odd_and_even, exists)
    assert session.brokers[2].take_changes() == (keys(4), keys(2))
    session.change(keys(1), [])
    assert session.is_placed, "what is there already changes nothing"


def test_a_member_that_begins_anew_has_other_partitions_and_the_same_sessions_at_brokers() -> None:
    session = opened(1, 2)
    session.go_on()
    session.note_acquired(key(1), 1)

    session.begin(keys(1, 3))
    session.place(odd_and_even, exists)

    assert session.refusal(0) == ErrorCode.NONE
    assert session.brokers[1].take_epoch() == 1
    assert session.brokers[1].take_changes() == (keys(3), [])
    assert session.brokers[2].take_changes() == ([], keys(2))
    assert session.broker_of(key(1)) is session.brokers[1]


def test_acknowledgements_go_to_the_broker_that_gave_the_records() -> None:
    session = opened(1, 2)
    session.note_acquired(key(1), 1)

    session.place(lambda _: 2, exists)

    assert session.broker_of(key(1)) is session.brokers[1]
    assert session.broker_of(key(2)) is session.brokers[2]
    session.note_acquired(key(1), 2)
    assert session.broker_of(key(1)) is session.brokers[2]


def test_acknowledgements_of_what_was_never_given_go_to_any_broker() -> None:
    session = opened(1, 2)

    assert session.broker_of(key(77)) in session.brokers.values()
    session.note_acquired(key(77), 2)
    assert key(77) not in session
    assert placed(1).broker_of(key(1)) is None, "no broker has a session yet"


def test_a_lost_session_is_begun_anew_with_the_same_partitions() -> None:
    session = opened(1, 2)
    session.note_acquired(key(1), 1)
    lost = session.brokers[1]

    other = session.lose(lost)

    assert other is session.brokers[1]
    assert session.broker_of(key(1)) is None, "what was acquired in it is no longer locked"
    assert (other.take_epoch(), other.take_changes()) == (0, (keys(1), []))
    assert session.broker_of(key(1)) is other
    assert session.lose(lost) is None


def test_a_partition_has_no_broker_at_first() -> None:
    session = ShareSession()
    session.begin(keys(1))

    assert session.broker_of(key(1)) is None
    session.place(lambda _: NO_NODE, exists)
    assert list(session.brokers) == [NO_NODE]


def test_what_a_session_holds_is_counted() -> None:
    session = placed(1, 2, 3)
    assert session.size == SESSION_BYTES + 3 * PARTITION_BYTES

    for broker in session.brokers.values():
        broker.take_changes()
    assert session.size == SESSION_BYTES + 3 * PARTITION_BYTES

    session.change([], keys(1, 2))
    assert session.size == SESSION_BYTES + PARTITION_BYTES + 2 * TOLD_BYTES
