"""Reading the first items of a message: as much as fits into the budget, of whole elements."""

from typing import Any

import pytest

from bifrost.wire.codec import decode, encode_body
from bifrost.wire.errors import MalformedFrame
from bifrost.wire.first_items import read_first_items
from bifrost.wire.message import Message
from bifrost.wire.messages import (
    AlterClientQuotasRequest,
    CreateTopicsRequest,
    FindCoordinatorRequest,
    ProduceRequest,
)
from bifrost.wire.programs import compile_layout
from support.stage.counted_pauses import counted_pauses

MUCH = 1_000_000


def first_items(
    message: Message, version: int, items: int = MUCH, size: int = MUCH, tail: bytes = b"", **options: Any
) -> Any:
    layout = compile_layout(type(message).__name__, version)
    return read_first_items(layout, encode_body(layout, message) + tail, 0, items, size, **options)


def topics(*names: str, configs: int = 0) -> CreateTopicsRequest:
    topic, config = CreateTopicsRequest.CreatableTopic, CreateTopicsRequest.CreatableTopicConfig
    made = [topic(name=one, configs=[config(name="c") for _ in range(configs)]) for one in names]
    return CreateTopicsRequest(topics=made, timeout_ms=7)


def names(request: CreateTopicsRequest) -> list[str]:
    return [one.name for one in request.topics]


@pytest.mark.parametrize("version", [2, 7])
def test_a_message_within_the_budget_is_read_whole(version: int) -> None:
    request = topics("a", "b", configs=3)

    assert first_items(request, version, 8, 8 * 4) == request


@pytest.mark.parametrize(
    ("items", "found"),
    [(0, []), (2, ["a"]), (3, ["a"]), (5, ["a"]), (6, ["a", "b"]), (8, ["a", "b"]), (9, ["a", "b", "c"])],
)
def test_elements_of_all_lists_count_and_one_that_is_cut_is_left_out(items: int, found: list[str]) -> None:
    request = first_items(topics("a", "b", "c", configs=2), 7, items)

    assert names(request) == found
    assert request.timeout_ms == (7 if items == 9 else CreateTopicsRequest().timeout_ms)


def test_the_only_element_stays_with_what_was_read_of_it() -> None:
    topic, partition = ProduceRequest.TopicProduceData, ProduceRequest.PartitionProduceData
    data = topic(name="a", partition_data=[partition(index=n, records=b"r" * 9) for n in range(9)])

    request = first_items(ProduceRequest(acks=1, topic_data=[data]), 9, 6)

    assert [(one.name, [each.index for each in one.partition_data]) for one in request.topic_data] == [
        ("a", [0, 1, 2, 3, 4])
    ]
    assert request.acks == 1
    assert request.topic_data[0].partition_data[0].records is None


def test_an_entity_is_never_half_read() -> None:
    entry, entity = AlterClientQuotasRequest.EntryData, AlterClientQuotasRequest.EntityData
    both = [entity(entity_type="user", entity_name="u"), entity(entity_type="client-id", entity_name="c")]
    request = AlterClientQuotasRequest(entries=[entry(entity=both), entry(entity=both)])

    assert first_items(request, 1, 5).entries == [entry(entity=both)]


@pytest.mark.parametrize(("size", "count"), [(0, 1), (9, 1), (10, 2), (31, 4)])
def test_bytes_of_strings_count(size: int, count: int) -> None:
    keys = [f"key-{number:05}" for number in range(9)]  # Ten bytes each, with its length.

    assert (
        first_items(FindCoordinatorRequest(coordinator_keys=keys), 4, size=size).coordinator_keys
        == keys[:count]
    )


def test_tagged_fields_are_passed_and_count() -> None:
    layout = compile_layout("FindCoordinatorRequest", 4)
    body = encode_body(layout, FindCoordinatorRequest(coordinator_keys=["a"]))
    tagged = body[:-1] + b"\x03" + b"\x63\x02yz" * 3

    assert read_first_items(layout, tagged, 0, 9, 9) == decode(layout, body, 0)
    with counted_pauses() as pauses:
        many = body[:-1] + b"\xff\xff\xff\x07" + b"\x63\x00" * 100_000
        assert read_first_items(layout, many, 0, 1_000, 9) == decode(layout, body, 0)
    assert 10 < pauses.count < 20


def test_what_is_not_read_need_not_parse_but_what_is_must() -> None:
    layout = compile_layout("FindCoordinatorRequest", 4)
    body = encode_body(layout, FindCoordinatorRequest(coordinator_keys=["a", "b", "\ufffd"]))
    broken = body.replace("\ufffd".encode(), b"\xff\xff\xff")

    assert read_first_items(layout, broken, 0, 2, 9).coordinator_keys == ["a", "b"]
    with pytest.raises(MalformedFrame, match="UTF-8"):
        read_first_items(layout, broken, 0, 3, 9)
    with pytest.raises(MalformedFrame, match="ends within"):
        read_first_items(layout, body[:5], 0, 3, 9)


def test_bytes_behind_the_end_are_refused_unless_they_may_be_there() -> None:
    request = topics("a")

    with pytest.raises(MalformedFrame, match="goes on behind"):
        first_items(request, 5, tail=b"x")
    assert first_items(request, 5, tail=b"x", allow_trailing=True) == request


def test_it_pauses_while_it_reads() -> None:
    request = FindCoordinatorRequest(coordinator_keys=["k"] * 10_000)
    with counted_pauses() as pauses:
        first_items(request, 4)

    assert pauses.count > 150
