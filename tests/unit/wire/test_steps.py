"""Loops of the engine call back now and then, and what is large is counted, kept and freed step by step."""

import gc
from collections.abc import Iterator

import pytest

from bifrost.wire.codec import decode, encode, encode_body, release, untrack
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.messages import (
    ApiVersionsResponse,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
)
from bifrost.wire.program import count_items
from bifrost.wire.programs import compile_layout, compile_program
from bifrost.wire.steps import in_steps, set_pause, set_pause_steps
from bifrost.wire.window import keep


@pytest.fixture
def pauses() -> Iterator[list[int]]:
    """Count calls, one for each round of a loop, while the test runs."""
    calls: list[int] = []
    set_pause(lambda: calls.append(1))
    set_pause_steps(0)
    yield calls
    set_pause(None)
    set_pause_steps()


def commit(topics: int, partitions: int) -> OffsetCommitRequest:
    topic, partition = (
        OffsetCommitRequest.OffsetCommitRequestTopic,
        OffsetCommitRequest.OffsetCommitRequestPartition,
    )
    return OffsetCommitRequest(
        group_id="g",
        topics=[
            topic(name=f"t{n}", partitions=[partition(partition_index=i) for i in range(partitions)])
            for n in range(topics)
        ],
    )


LAYOUT = compile_layout("OffsetCommitRequest", 9)


def test_decoding_and_encoding_pause_for_every_item(pauses: list[int]) -> None:
    body = encode_body(LAYOUT, commit(10, 10))
    encoded = len(pauses)
    decode(LAYOUT, body, 0)

    assert encoded >= 110
    assert len(pauses) - encoded >= 110


def test_what_is_written_is_put_together_in_steps(pauses: list[int]) -> None:
    """A part of 128 KiB takes less than a tenth of a millisecond."""
    topics = [MetadataRequest.MetadataRequestTopic(name="t" * 1000) for _ in range(2000)]
    layout = compile_layout("MetadataRequest", 4)

    frame = encode(layout, MetadataRequest(topics=topics), b"header")

    assert len(pauses) >= 4000 + len(frame) // 140_000
    assert frame[:10] == (len(frame) - 4).to_bytes(4, "big") + b"header"
    assert decode(layout, frame, 10).topics == topics


def test_large_tagged_fields_are_written_as_small_ones_are() -> None:
    layout = compile_layout("ApiVersionsResponse", 4)
    feature = ApiVersionsResponse.FinalizedFeatureKey
    response = ApiVersionsResponse(
        finalized_features=[feature(name=f"{number:0900}") for number in range(500)],
        supported_features=[ApiVersionsResponse.SupportedFeatureKey(name="x" * 9000) for _ in range(100)],
    )

    assert decode(layout, encode_body(layout, response), 0) == response


def test_python_loops_pause_between_items(pauses: list[int]) -> None:
    assert list(in_steps([1, 2, 3])) == [1, 2, 3]
    assert len(pauses) == 3


def test_items_of_much_work_stand_for_several_rounds(pauses: list[int]) -> None:
    set_pause_steps(8)

    assert list(in_steps(range(9), 4)) == list(range(9))
    assert len(pauses) == 3


def test_nothing_is_called_when_nothing_may_pause(pauses: list[int]) -> None:
    set_pause(None)

    list(in_steps(range(100)))

    assert not pauses


def test_items_of_all_lists_are_counted() -> None:
    body = encode_body(LAYOUT, commit(10, 10))
    program = compile_program("OffsetCommitRequest", 9, {})

    assert count_items(program, body, 0, 1000) == 110
    assert 50 < count_items(program, body, 0, 50) <= 110
    with pytest.raises(MalformedFrame):
        count_items(program, body[:-10], 0, 1000)


def test_an_array_of_numbers_counts_as_well() -> None:
    body = encode_body(compile_layout("OffsetFetchRequest", 1), build_offset_fetch(40))

    assert count_items(compile_program("OffsetFetchRequest", 1, {}), body, 0, 1000) == 41


def build_offset_fetch(partitions: int) -> OffsetFetchRequest:
    topic = OffsetFetchRequest.OffsetFetchRequestTopic
    return OffsetFetchRequest(
        group_id="g", topics=[topic(name="t", partition_indexes=list(range(partitions)))]
    )


def test_a_message_that_is_released_is_empty_but_for_what_is_kept(pauses: list[int]) -> None:
    request = commit(100, 3)
    kept, kept_list = request.topics[0], request.topics[1].partitions

    release(LAYOUT, request)

    assert request.topics == []
    assert len(kept.partitions) == len(kept_list) == 3
    assert len(pauses) >= 100


def test_lists_in_the_structs_of_a_message_are_released_in_steps(pauses: list[int]) -> None:
    request = commit(1, 1600)

    release(LAYOUT, request)

    assert request.topics == []
    assert len(pauses) >= 1700


def test_messages_are_not_the_garbage_collectors() -> None:
    decoded = decode(LAYOUT, encode_body(LAYOUT, commit(2, 2)), 0)

    for one in (decoded, decoded.topics, decoded.topics[0], commit(1, 1), MetadataRequest()):
        assert not gc.is_tracked(one)


@pytest.mark.parametrize("thing", [1, "text", b"bytes", [1]])
def test_what_is_no_container_can_be_untracked_as_well(thing: object) -> None:
    untrack(thing)

    assert not gc.is_tracked(thing)


def test_a_frame_is_copied_only_if_its_memory_is_used_again() -> None:
    memory = bytearray(b"abc")
    view = memoryview(memory)
    own = bytes(memory)

    copied = keep(view)
    memory[0] = ord("x")

    assert copied == b"abc"
    assert keep(own) is own
