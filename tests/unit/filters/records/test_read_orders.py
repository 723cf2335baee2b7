import pytest

from bifrost.encryption.batch_order import BatchOrder
from bifrost.encryption.errors import OutOfOrder
from bifrost.filters.records import read_orders
from bifrost.filters.records.read_orders import MAX_ENDS, OrderedPartition, ReadOrders
from bifrost.records.codec.client_batch import ClientBatch
from bifrost.records.codec.columns import ColumnRecord
from support.records.record_columns import batch_of, only_batch

PARTITION, OTHER = (OrderedPartition("acme", "cluster", b"orders", one) for one in range(2))


def batch(sequence: int, producer_id: int = 7) -> ClientBatch:
    return only_batch(batch_of([ColumnRecord(0, 0, None, None)], producer=(producer_id, 0, sequence)))


def read(*batches: ClientBatch) -> BatchOrder:
    order = BatchOrder()
    for one in batches:
        order.check(one)
    return order


def test_a_fetch_knows_what_stands_before_it_and_only_there() -> None:
    orders = ReadOrders()
    orders.keep(PARTITION, 10, read(batch(5)))

    with pytest.raises(OutOfOrder):
        orders.at(PARTITION, 10).check(batch(4))
    orders.at(PARTITION, 9).check(batch(4))
    orders.at(OTHER, 10).check(batch(4))


def test_what_one_consumer_reads_is_not_what_stands_before_another() -> None:
    orders = ReadOrders()
    orders.keep(PARTITION, 10, read(batch(5)))
    orders.at(PARTITION, 10).check(batch(6))

    orders.at(PARTITION, 10).check(batch(6))


def test_the_ends_of_a_partition_are_bounded() -> None:
    orders = ReadOrders()
    for end in range(1, MAX_ENDS + 3):
        orders.keep(PARTITION, end, read(batch(5)))
        orders.at(PARTITION, 1)

    assert orders.size == MAX_ENDS
    assert len(orders.at(PARTITION, 1)) == 1, "what is used stays"
    assert len(orders.at(PARTITION, 2)) == 0


def test_an_end_that_is_read_to_again_counts_once() -> None:
    orders = ReadOrders()
    for _ in range(3):
        orders.keep(PARTITION, 10, read(batch(1), batch(1, 8)))

    assert orders.size == 2


def test_partitions_that_are_not_read_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_orders, "MAX_PRODUCERS_IN_ALL", 2)
    orders = ReadOrders()
    assert orders.keep(PARTITION, 10, read(batch(1), batch(1, 8))) == []
    assert orders.keep(OTHER, 10, BatchOrder()) == ["acme"]

    assert orders.size == 1
    assert len(orders.at(PARTITION, 10)) == 0


def test_a_tenant_with_very_many_producers_makes_the_gateway_forget_its_own_partitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_orders, "MAX_PRODUCERS_IN_ALL", 20)
    orders, quiet = ReadOrders(), PARTITION._replace(tenant="quiet")
    orders.keep(quiet, 10, read(batch(5)))

    losers = [
        one
        for number in range(100)
        for one in orders.keep(PARTITION._replace(partition=number), 1, BatchOrder())
    ]

    assert set(losers) == {"acme"}
    assert orders.size == 20
    with pytest.raises(OutOfOrder):
        orders.at(quiet, 10).check(batch(4))


def test_a_tenant_within_its_share_takes_room_from_the_one_that_has_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(read_orders, "MAX_PRODUCERS_IN_ALL", 20)
    orders = ReadOrders()
    for number in range(20):
        orders.keep(PARTITION._replace(partition=number), 1, BatchOrder())

    losers = [
        one
        for number in range(30)
        for one in orders.keep(PARTITION._replace(tenant="late", partition=number), 1, BatchOrder())
    ]

    assert losers[:10] == ["acme"] * 10
    assert set(losers[10:]) == {"late"}, "each has half"
    assert orders.size == 20


def test_what_one_tenant_has_read_is_not_what_stands_before_another() -> None:
    orders = ReadOrders()
    orders.keep(PARTITION, 10, read(batch(5)))

    orders.at(PARTITION._replace(tenant="other"), 10).check(batch(4))
