import pytest

from bifrost.tenancy.virtual_partitions import transaction_numbers
from bifrost.tenancy.virtual_partitions.partition_map import PartitionGroup
from bifrost.tenancy.virtual_partitions.transaction_claims import Wanted
from bifrost.tenancy.virtual_partitions.transaction_numbers import (
    GAP,
    LOST,
    NOTHING_KNOWN,
    REMEMBERED,
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


def settled(
    known: TransactionNumbers, said: Known = NOTHING_KNOWN, sender: object = None, offset: int = 50
) -> Numbers:
    """Return numbers behind a claim that is stored."""
    wanted = known.check(KEY, said, sender)
    assert isinstance(wanted, Wanted)
    mark = known.claims.mark(KEY, wanted.number, lambda: b"mark")
    found = known.settle(KEY, wanted, (offset, mark), sender, is_one_transaction=False)
    assert isinstance(found, Numbers)
    return found


def begun(said: Known = NOTHING_KNOWN, sender: object = None) -> Numbers:
    return settled(TransactionNumbers(), said, sender)


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

    assert made == [1, 4, 6, 7], "the claim has the first one"


def test_sequences_go_on_at_zero() -> None:
    numbers = begun(Known(1, WORD - 3))

    assert [stored(numbers, A, first, 2).sequence for first in (WORD - 2, 0)] == [WORD - 1, 1]


def test_a_gap_is_refused() -> None:
    numbers = begun()
    stored(numbers, A, 0)

    assert (numbers.assign(A, 2, 1), numbers.assign(A, 0, 2)) == (GAP, GAP)
    assert begun(Known(0)).assign(A, 1, 1) == GAP, "an epoch begins with the first batch"


def test_the_last_five_batches_are_recognised() -> None:
    numbers = begun()
    made = [stored(numbers, A, first) for first in range(REMEMBERED + 1)]

    assert [numbers.assign(A, first, 1) for first in range(1, REMEMBERED + 1)] == made[1:]
    assert numbers.assign(A, 0, 1) == GAP
    assert numbers.answered(made[1], GAP, -1, -1) == 0
    assert made[1].offset == 102


def test_what_was_sent_before_a_refusal_was_known_is_no_beginning() -> None:
    numbers = begun()
    one, two = assigned(numbers, A, 4), assigned(numbers, A, 5)
    assert numbers.answered(one, BUSY, -1, -1) == BUSY
    assert numbers.assign(A, 6, 1) == SEND_AGAIN
    assert numbers.answered(two, GAP, -1, -1) == SEND_AGAIN
    assert numbers.assign(A, 6, 1) == GAP
    assert assigned(numbers, A, 4).sequence == 1


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


def test_what_is_given_up_with_an_earlier_try_under_way_aborts() -> None:
    """Else the earlier one could become part of the next transaction of the epoch."""
    numbers = begun(Known(0))
    one = assigned(numbers, A, 0)
    assert numbers.answered(one, AWAY, -1, -1) == AWAY
    assert assigned(numbers, A, 0) is one

    assert numbers.answered(one, int(ErrorCode.MESSAGE_TOO_LARGE), -1, -1) == LOST
    assert numbers.assign(B, 0, 1) == LOST


def test_another_connection_goes_on_in_the_same_transaction() -> None:
    known, one, two = TransactionNumbers(), object(), object()
    numbers = settled(known, Known(0), one)
    first, second = assigned(numbers, A, 0, 2), assigned(numbers, B, 0, 2)
    assert numbers.must_ask(two)
    assert not numbers.must_ask(one), "the client awaits answers, so it ends no transaction"

    assert known.check(KEY, Known(1, 2, 50), two) is numbers
    assert (first.is_sure, second.is_sure) == (False, False)
    assert numbers.answered(assigned(numbers, A, 0, 2), 0, 51, -1) == 0
    assert numbers.assign(B, 0, 2) is second


def test_a_refusal_before_another_connection_is_lost() -> None:
    numbers = begun(Known(0), "one")
    one = assigned(numbers, A, 0)
    assigned(numbers, B, 0)
    numbers.answered(one, BUSY, -1, -1)
    numbers.go_on("two")

    assert numbers.assign(A, 0, 1) == LOST


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (Known(1, 9, 60), LOST),
        (Known(2), int(ErrorCode.INVALID_PRODUCER_EPOCH)),
        (Known(1, 9), Wanted(10, is_joined=True)),
        (Known(0, 9, 60), Wanted(0, is_joined=False)),
        (NOTHING_KNOWN, Wanted(0, is_joined=True)),
        (Known(1, WORD - 1), Wanted(0, is_joined=True)),
    ],
)
def test_what_the_broker_says_decides(said: Known, expected: int | Wanted) -> None:
    known = TransactionNumbers()
    stored(settled(known), A, 0)

    assert known.check(KEY, said, object()) == expected


def test_the_next_transaction_goes_on_behind_its_claim() -> None:
    known = TransactionNumbers()
    numbers = settled(known)
    stored(numbers, A, 0)
    again = settled(known, Known(1, 1), offset=60)

    assert again is numbers
    assert numbers.assign(A, 2, 1) == GAP
    assert (assigned(numbers, A, 1).sequence, numbers.claim_offset) == (3, 60)


def test_numbers_of_others_between_two_transactions_make_new_ones() -> None:
    known = TransactionNumbers()
    stored(settled(known), A, 0)
    again = settled(known, Known(1, 20), offset=60)

    assert assigned(again, A, 7).sequence == 22


def test_a_batch_of_unknown_fate_in_a_transaction_that_has_ended_is_the_last_of_the_epoch() -> None:
    known = TransactionNumbers()
    numbers = settled(known)
    numbers.answered(assigned(numbers, A, 0), AWAY, -1, -1)

    assert known.check(KEY, Known(1, 0), None) == LOST


def test_the_mark_that_is_stored_decides() -> None:
    known = TransactionNumbers()
    wanted = known.check(KEY, NOTHING_KNOWN, None)
    assert isinstance(wanted, Wanted)
    mark = known.claims.mark(KEY, wanted.number, lambda: b"own")
    for other in (b"other", None):
        assert known.settle(KEY, wanted, (50, other), None, is_one_transaction=True) == LOST

    # The answer to the claim was lost, and the transaction is open.
    assert known.check(KEY, Known(1, 0, 50), None) == Wanted(0, is_joined=True)
    numbers = known.settle(KEY, wanted, (50, mark), None, is_one_transaction=True)
    assert isinstance(numbers, Numbers)
    assert known.settle(KEY, wanted, (50, mark), None, is_one_transaction=True) is numbers
    assert known.settle(KEY, wanted, (60, mark), None, is_one_transaction=True) == LOST
    assert not numbers.must_ask(object()), "the epoch has one transaction"


def test_numbers_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_numbers, "MAX_NUMBERED", 3)
    monkeypatch.setattr(transaction_numbers, "MAX_WAITING", 2)
    known = TransactionNumbers()
    keys = [(producer, 0, (b"orders", 0)) for producer in range(3)]
    forgotten = []
    for key in keys:
        wanted = known.check(key, NOTHING_KNOWN, None)
        assert isinstance(wanted, Wanted)
        mark = known.claims.mark(key, wanted.number, lambda: b"mark")
        known.settle(key, wanted, (50, mark), None, is_one_transaction=True)
        forgotten += [known.use(key, group) for group in (A, B)]

    assert (forgotten, len(known)) == ([0, 0, 0, 1, 0, 1], 1)
    assert known.find(keys[0]) is None
    numbers = known.find(keys[2])
    assert numbers is not None
    assert isinstance(numbers.assign(A, 0, 1), Assigned)
    assert isinstance(numbers.assign(A, 1, 1), Assigned)
    assert numbers.assign(A, 2, 1) == SEND_AGAIN
