import pytest

from bifrost.tenancy.virtual_partitions import transaction_numbers
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.transaction_numbers import (
    GAP,
    LOST,
    NOTHING_KNOWN,
    REMEMBERED,
    REPEATED,
    SEND_AGAIN,
    WORD,
    Assigned,
    Known,
    Numbers,
    TransactionNumbers,
)
from bifrost.wire.error_codes import ErrorCode

KEY = (7, 1, (b"orders", 0))
A, B = PartitionGroup(0), PartitionGroup(1)
BUSY, AWAY = int(ErrorCode.CONCURRENT_TRANSACTIONS), int(ErrorCode.NOT_LEADER_OR_FOLLOWER)


def begun(known: Known = NOTHING_KNOWN, sender: object = None, *, is_v2: bool = False) -> Numbers:
    found = TransactionNumbers().check(KEY, known, sender, is_one_transaction=is_v2)
    assert isinstance(found, Numbers)
    return found


def assigned(numbers: Numbers, group: PartitionGroup, first: int, count: int = 1) -> Assigned:
    made = numbers.assign(group, first, count)
    assert isinstance(made, Assigned)
    return made


def stored(numbers: Numbers, group: PartitionGroup, first: int, count: int = 1) -> Assigned:
    made = assigned(numbers, group, first, count)
    assert numbers.answered(made, 0, 100 + made.number, -1) == 0
    return made


def test_groups_count_together() -> None:
    numbers = begun()
    made = [stored(numbers, *one).sequence for one in ((A, 0, 3), (B, 0, 2), (A, 3, 1), (B, 2, 1))]

    assert made == [0, 3, 5, 6]


def test_sequences_go_on_at_zero() -> None:
    numbers = begun(Known(1, WORD - 2))

    assert [stored(numbers, A, first, 2).sequence for first in (WORD - 2, 0)] == [WORD - 1, 1]


def test_a_gap_is_refused() -> None:
    numbers = begun()
    stored(numbers, A, 0)

    assert (numbers.assign(A, 2, 1), numbers.assign(A, 0, 2)) == (GAP, GAP)
    assert begun(is_v2=True).assign(A, 1, 1) == GAP


def test_the_last_five_batches_are_recognised() -> None:
    numbers = begun()
    made = [stored(numbers, A, first) for first in range(REMEMBERED + 1)]

    assert [numbers.assign(A, first, 1) for first in range(1, REMEMBERED + 1)] == made[1:]
    assert numbers.assign(A, 0, 1) == GAP
    assert numbers.answered(made[1], GAP, -1, -1) == 0
    assert made[1].offset == 101


def test_what_was_sent_before_a_refusal_was_known_is_no_beginning() -> None:
    numbers = begun()
    one, two = assigned(numbers, A, 4), assigned(numbers, A, 5)
    assert numbers.answered(one, BUSY, -1, -1) == BUSY
    assert numbers.assign(A, 6, 1) == SEND_AGAIN
    assert numbers.answered(two, GAP, -1, -1) == SEND_AGAIN
    assert numbers.assign(A, 6, 1) == GAP
    assert assigned(numbers, A, 4).sequence == 0


def test_a_batch_without_an_answer_keeps_its_number() -> None:
    numbers = begun(Known(0))
    one, two = assigned(numbers, A, 0), assigned(numbers, B, 0)
    assert numbers.answered(one, AWAY, -1, -1) == AWAY
    assert numbers.answered(two, GAP, -1, -1) == SEND_AGAIN

    assert assigned(numbers, B, 0) is not two
    assert assigned(numbers, A, 0) is one


def test_batches_behind_a_refused_one_may_be_stored_for_all_that_is_known() -> None:
    numbers = begun(Known(0))
    one, two = assigned(numbers, A, 0), assigned(numbers, B, 0)
    numbers.answered(one, BUSY, -1, -1)
    numbers.answered(two, AWAY, -1, -1)

    assert numbers.assign(A, 0, 1) == LOST


def test_another_connection_goes_on_where_the_broker_agrees() -> None:
    known, one, two = TransactionNumbers(), object(), object()
    numbers = known.check(KEY, Known(0), one, is_one_transaction=False)
    assert isinstance(numbers, Numbers)
    first, second = assigned(numbers, A, 0, 2), assigned(numbers, B, 0, 2)
    assert numbers.must_ask(two, is_one_transaction=True)
    assert not numbers.must_ask(one, is_one_transaction=False)

    assert known.check(KEY, Known(1, 1, has_transaction=True), two, is_one_transaction=False) is numbers
    assert (first.is_stored, second.is_stored, second.is_sure) == (True, False, False)
    assert numbers.answered(assigned(numbers, A, 0, 2), GAP, -1, -1) == REPEATED
    assert numbers.assign(B, 0, 2) is second


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Known(1, 9, has_transaction=True), LOST),
        (Known(2), int(ErrorCode.INVALID_PRODUCER_EPOCH)),
        (Known(1, 9), 10),
        (Known(0, 9, has_transaction=True), 0),
        (NOTHING_KNOWN, 0),
    ],
)
def test_what_the_broker_says_decides(said: Known, expected: int) -> None:
    known = TransactionNumbers()
    numbers = known.check(KEY, Known(0), None, is_one_transaction=False)
    assert isinstance(numbers, Numbers)
    stored(numbers, A, 0)
    found = known.check(KEY, said, object(), is_one_transaction=False)

    assert (found.next if isinstance(found, Numbers) else found) == expected


def test_what_a_broker_has_begun_in_the_middle_is_lost() -> None:
    known = TransactionNumbers()
    numbers = known.check(KEY, NOTHING_KNOWN, None, is_one_transaction=False)
    assert isinstance(numbers, Numbers)
    assigned(numbers, A, 0)
    assigned(numbers, B, 0)
    found = known.check(KEY, Known(1, 1, has_transaction=True), object(), is_one_transaction=False)

    assert isinstance(found, Numbers)
    assert found.assign(A, 0, 1) == LOST, "the broker may have stored the second one alone"


def test_numbers_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_numbers, "MAX_NUMBERED", 3)
    monkeypatch.setattr(transaction_numbers, "MAX_WAITING", 2)
    known = TransactionNumbers()
    keys = [(producer, 0, (b"orders", 0)) for producer in range(3)]
    forgotten = []
    for key in keys:
        known.check(key, NOTHING_KNOWN, None, is_one_transaction=False)
        forgotten += [known.use(key, group) for group in (A, B)]

    assert (forgotten, len(known)) == ([0, 0, 0, 1, 0, 1], 1)
    assert known.find(keys[0]) is None
    numbers = known.find(keys[2])
    assert numbers is not None
    assert isinstance(numbers.assign(A, 0, 1), Assigned)
    assert isinstance(numbers.assign(A, 1, 1), Assigned)
    assert numbers.assign(A, 2, 1) == SEND_AGAIN
