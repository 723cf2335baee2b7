from bifrost.filters.virtual.shares.acknowledgements import Acknowledgements
from bifrost.tenancy.virtual_partitions.partition_map import PhysicalPartition, VirtualPartition
from bifrost.tenancy.virtual_partitions.shares.share_sessions import Place
from bifrost.wire.messages import ShareAcknowledgeRequest

ZERO, ONE = (Place(bytes(16), PhysicalPartition(number)) for number in (0, 1))


def batch(first: int, last: int) -> ShareAcknowledgeRequest.AcknowledgementBatch:
    return ShareAcknowledgeRequest.AcknowledgementBatch(
        first_offset=first, last_offset=last, acknowledge_types=[1]
    )


def test_those_of_a_physical_partition_are_in_the_order_of_offsets() -> None:
    found = Acknowledgements()
    found.add(ZERO, VirtualPartition(2), [batch(4, 5), batch(9, 9)])
    found.add(ONE, VirtualPartition(1), [])
    found.add(ZERO, VirtualPartition(0), [batch(0, 3), batch(6, 8)])
    found.add(ZERO, VirtualPartition(2), [batch(10, 10)])

    assert [(one.first_offset, one.last_offset) for one in found.batches(ZERO)] == [
        (0, 3),
        (4, 5),
        (6, 8),
        (9, 9),
        (10, 10),
    ]
    assert found.numbers(ZERO) == [2, 0]
    assert found.places == [ZERO, ONE]
    assert (found.batches(ONE), found.numbers(ONE)) == ([], [1])


def test_nothing_is_acknowledged_of_others() -> None:
    found = Acknowledgements()
    assert (found.batches(ZERO), found.numbers(ZERO), found.places) == ([], [], [])
