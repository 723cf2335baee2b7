"""Copies of structs by their slots, which are taken from where the objects have them."""

import gc
from types import SimpleNamespace

import pytest

from bifrost.wire.messages import FetchRequest, FetchResponse
from bifrost.wire.slots import copy_struct


def test_a_copy_has_the_same_fields_but_for_those_that_change() -> None:
    one = FetchResponse.PartitionData(partition_index=3, high_watermark=2**40, records=b"abc")

    other = copy_struct(one, {"partition_index": 4, "aborted_transactions": []})

    assert (other.partition_index, other.high_watermark, other.records) == (4, 2**40, b"abc")
    assert one == FetchResponse.PartitionData(partition_index=3, high_watermark=2**40, records=b"abc")
    assert other == FetchResponse.PartitionData(
        partition_index=4, high_watermark=2**40, records=b"abc", aborted_transactions=[]
    )
    assert not gc.is_tracked(other)
    assert not gc.is_tracked(other.aborted_transactions)


def test_what_a_copy_shares_lives_as_long_as_either() -> None:
    one = FetchRequest.FetchTopic(topic="orders", partitions=[FetchRequest.FetchPartition(partition=1)])
    other = copy_struct(one, {})

    del one
    gc.collect()
    assert other.partitions == [FetchRequest.FetchPartition(partition=1)]


def test_a_field_that_was_never_set_is_not_set_in_the_copy() -> None:
    one = FetchRequest.FetchPartition(partition=1)
    del one.fetch_offset

    other = copy_struct(one, {})

    assert other.partition == 1
    with pytest.raises(AttributeError):
        _ = other.fetch_offset


def test_only_fields_that_there_are_can_change() -> None:
    with pytest.raises(AttributeError):
        copy_struct(FetchRequest.FetchPartition(), {"colour": 1})


@pytest.mark.parametrize("thing", [SimpleNamespace(), (1, 2), "text"])
def test_only_structs_of_messages_are_copied(thing: object) -> None:
    with pytest.raises(TypeError, match="has more than slots"):
        copy_struct(thing, {})
