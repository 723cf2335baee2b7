import pytest

from bifrost.encryption.batch_order import BatchOrder
from bifrost.encryption.errors import OutOfOrder
from bifrost.records.codec.client_batch import ClientBatch
from support.encryption.sealing import with_header
from support.records.record_columns import ColumnRecord, batch_of, only_batch

THREE = [ColumnRecord(i, 0, b"k", b"v") for i in range(3)]


def batch(sequence: int, *, producer_id: int = 7, epoch: int = 0) -> ClientBatch:
    return only_batch(batch_of(THREE, producer=(producer_id, epoch, sequence)))


def test_batches_in_their_order_pass() -> None:
    order = BatchOrder()
    for one in (batch(0), batch(3), batch(0, producer_id=8), batch(6), batch(3, producer_id=8), batch(90)):
        order.check(one)


@pytest.mark.parametrize(("first", "then"), [(3, 0), (3, 3), (3, 4), (3, 5), (0, 2**31 - 3)])
def test_batches_that_changed_places_are_seen(first: int, then: int) -> None:
    order = BatchOrder()
    order.check(batch(first))

    with pytest.raises(OutOfOrder, match="produced before"):
        order.check(batch(then))


def test_sequences_go_round() -> None:
    order = BatchOrder()
    for sequence in (2**31 - 4, 2**31 - 1, 2, 5):
        order.check(batch(sequence))
    with pytest.raises(OutOfOrder):
        order.check(batch(2**31 - 1))


def test_a_new_epoch_begins_anew_and_an_old_one_is_over() -> None:
    order = BatchOrder()
    order.check(batch(30))
    order.check(batch(0, epoch=1))

    with pytest.raises(OutOfOrder):
        order.check(batch(33))


def test_batches_without_sequences_have_no_order() -> None:
    order = BatchOrder()
    for sequence in (-1, -1, -1):
        order.check(batch(sequence))
    order.check(batch(5))
    order.check(only_batch(with_header(batch_of(THREE, producer=(7, 0, 1)), attributes=0x20)))


def test_producers_that_are_remembered_are_bounded() -> None:
    order = BatchOrder(max_producers=2)
    order.check(batch(5, producer_id=1))
    order.check(batch(5, producer_id=2))
    order.check(batch(8, producer_id=1))
    order.check(batch(5, producer_id=3))

    with pytest.raises(OutOfOrder):
        order.check(batch(0, producer_id=1))
    order.check(batch(0, producer_id=2))


def test_a_batch_that_is_refused_is_refused_again() -> None:
    order = BatchOrder()
    order.check(batch(3))

    for _ in range(2):
        with pytest.raises(OutOfOrder):
            order.check(batch(0))


def test_readers_go_on_from_a_copy() -> None:
    order = BatchOrder()
    order.check(batch(3))
    other = order.copy()
    other.check(batch(0, producer_id=8))

    assert (len(order), len(other)) == (1, 2)
    with pytest.raises(OutOfOrder):
        other.check(batch(0))
