"""Topics and partitions that the metadata does not have: no broker is asked about them."""

import pytest

from bifrost.routes.leaders import LeaderTable
from bifrost.wire.api_keys import ApiKey
from bifrost.wire.messages import ListOffsetsRequest

from .split_case import NOT_LEADER, Case, index_of

UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID = 3, 100


@pytest.mark.parametrize(
    ("key", "version"),
    [
        (ApiKey.PRODUCE, 9),
        (ApiKey.PRODUCE, 13),
        (ApiKey.FETCH, 12),
        (ApiKey.FETCH, 16),
        (ApiKey.LIST_OFFSETS, 7),
    ],
)
def test_no_broker_is_asked_about_what_the_metadata_does_not_have(key: ApiKey, version: int) -> None:
    case = Case(key, version, 3)
    has_leader, has_fewer, absent, *unknown = case.leaders
    table = LeaderTable(10_000)
    table.put(has_leader, [2] * 6, 0)
    table.put(has_fewer, [2], 0)
    table.put(absent, [], 0)
    split = case.made()

    assert split.lead(table, 9, 0, is_by_id=case.by_id) == unknown
    assert split.has_absent
    assert split.nodes() == [2]
    asked = {(name, index_of(one)) for name, one in case.listed(case.read(0, b"".join(split.part(2))))}
    assert asked
    assert {name for name, _ in asked} <= {has_leader, has_fewer}
    split.take(2, case.answer(b"".join(split.part(2))), len(case.response_head))
    answered = case.listed(case.read(1, bytes(split.merged(case.response_head))))

    there_is_none = UNKNOWN_TOPIC_ID if case.by_id else UNKNOWN_TOPIC_OR_PARTITION
    for name, one in answered:
        if (name, index_of(one)) in asked:
            expected = 0
        elif name == has_fewer:
            expected = UNKNOWN_TOPIC_OR_PARTITION
        else:
            expected = there_is_none if name == absent else NOT_LEADER
        assert one.error_code == expected
    assert len(answered) == len(case.listed(case.request))
    assert split.stale() == [], "a look-up would bring nothing new"


def test_a_topic_that_the_gateway_may_not_see_goes_to_a_broker() -> None:
    case = Case(ApiKey.LIST_OFFSETS, 5, 1)
    table = LeaderTable(100)
    for name in case.leaders:
        table.put(name, [], 0, is_hidden=True)
    split = case.made()

    assert split.lead(table, 9, 1_000) == []
    assert split.nodes() == [9]
    assert not split.has_absent
    assert split.lead(table, 9, 1_001) == list(case.leaders)


def test_names_that_no_topic_has_are_not_looked_up() -> None:
    names = ["n" * length for length in (255, 256)]
    new = ListOffsetsRequest
    topics = [new.ListOffsetsTopic(name=one, partitions=[new.ListOffsetsPartition()]) for one in names]
    case = Case(ApiKey.LIST_OFFSETS, 5, 1)
    case.request = new(replica_id=-1, topics=topics)
    split = case.made()

    assert split.lead(LeaderTable(100), 9, 0) == [names[0].encode()]
    assert split.nodes() == []
    found = case.listed(case.read(1, bytes(split.merged(case.response_head))))
    assert [one.error_code for _, one in found] == [NOT_LEADER, UNKNOWN_TOPIC_OR_PARTITION]
